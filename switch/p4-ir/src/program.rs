// SPDX-License-Identifier: Apache-2.0
//! A program. All cross-references are indices.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::aqm::AqmFields;
use crate::calculation::{Calculation, Checksum};
use crate::expr::{TypedExpr, Widths};
use crate::header::{FieldList, Header, Stack, StandardMetadata};
use crate::parse_graph::{ParseState, ParserErrors, ValueSet};
use crate::primitive::Primitive;
use crate::table::{ActionCall, LearnList, Profile, Table};

/// Marks the end in place of the next node of a pipeline or the next parse state.
pub const END: u32 = u32::MAX;

/// A program as p4c compiled it.
#[derive(Debug, Default)]
pub struct Program {
    /// Source file that p4c compiled, if the JSON names it.
    pub source: String,
    /// Words of a packet's header vector.
    pub words: usize,
    /// All metadata fields.
    pub metadata_words: Range<usize>,
    /// Headers and metadata.
    pub headers: Vec<Header>,
    /// Header stacks.
    pub stacks: Vec<Stack>,
    /// Standard metadata.
    pub std: StandardMetadata,
    /// Fields through which it learns of queue management, if it has them.
    pub aqm: Option<AqmFields>,
    /// Numbers of the parser's errors.
    pub errors: ParserErrors,
    /// First state of the parser.
    pub parse_start: u32,
    /// States of the parser.
    pub parse_states: Vec<ParseState>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// Actions.
    pub actions: Vec<Action>,
    /// Tables of both pipelines.
    pub tables: Vec<Table>,
    /// Nodes of both control flow graphs.
    pub nodes: Vec<Node>,
    /// First node of the ingress pipeline, or [`END`].
    pub ingress_start: u32,
    /// First node of the egress pipeline, or [`END`].
    pub egress_start: u32,
    /// Headers in the order in which the deparser emits them.
    pub deparser_order: Vec<u32>,
    /// Primitives that run before the headers are emitted.
    pub deparser_primitives: Vec<Primitive>,
    /// Hashes and checksums.
    pub calculations: Vec<Calculation>,
    /// Fields that hold checksums.
    pub checksums: Vec<Checksum>,
    /// Register arrays.
    pub registers: Vec<RegisterArray>,
    /// Counter arrays, direct ones included.
    pub counters: Vec<CounterArray>,
    /// Meter arrays, direct ones included.
    pub meters: Vec<MeterArray>,
    /// Field lists by id; 0 is the empty list.
    pub field_lists: FxHashMap<u32, FieldList>,
    /// Action profiles.
    pub profiles: Vec<Profile>,
    /// Digests by id, from 1 on.
    pub learn_lists: FxHashMap<u32, LearnList>,
}

impl Program {
    /// Finds a table by name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.name == name)
    }
}

impl Widths for Program {
    fn stack_field(&self, stack: u32, field: u32) -> (u32, bool) {
        self.stacks
            .get(stack as usize)
            .and_then(|s| s.headers.first())
            .and_then(|h| self.headers.get(*h as usize))
            .map_or((0, false), |h| match h.fields.get(field as usize) {
                Some(f) => (f.width, f.signed),
                // The field after the last is the validity bit.
                None => (1, false),
            })
    }
}

/// An action.
#[derive(Debug, Default)]
pub struct Action {
    /// Name in the P4Info.
    pub name: String,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Number of words of the action's data.
    pub arg_words: usize,
    /// Primitives, executed in order.
    pub primitives: Vec<Primitive>,
}

/// A parameter of an action.
#[derive(Debug, Clone)]
pub struct Param {
    /// Name in the P4Info.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// First word in the action's data.
    pub offset: u32,
}

/// A node of a control flow graph.
#[derive(Debug)]
pub enum Node {
    /// Applies this table.
    Table(u32),
    /// A table without keys and with a constant default action: p4c's form of plain
    /// statements.
    Always {
        /// The default action.
        call: ActionCall,
        /// Next node, or [`END`].
        next: u32,
    },
    /// `if`.
    If {
        /// The condition.
        condition: TypedExpr,
        /// Next node if the condition holds, or [`END`].
        yes: u32,
        /// Next node otherwise, or [`END`].
        no: u32,
    },
}

/// A register array.
#[derive(Debug)]
pub struct RegisterArray {
    /// Name in the P4Info.
    pub name: String,
    /// Number of cells.
    pub size: usize,
    /// Width of a cell in bits.
    pub width: u32,
}

/// An array of counters of packets and bytes.
#[derive(Debug)]
pub struct CounterArray {
    /// Name in the P4Info.
    pub name: String,
    /// Number of cells, 0 for a direct counter.
    pub size: usize,
    /// Table whose entries are counted, for a direct counter.
    pub table: Option<u32>,
}

/// A meter array.
#[derive(Debug)]
pub struct MeterArray {
    /// Name in the P4Info.
    pub name: String,
    /// Number of cells, 0 for a direct meter.
    pub size: usize,
    /// Table of a direct meter.
    pub table: Option<u32>,
    /// Whether it counts bytes instead of packets.
    pub bytes: bool,
}
