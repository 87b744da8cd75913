// SPDX-License-Identifier: Apache-2.0
//! A program. All cross references are indices.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::calculation::{Calculation, Checksum};
use crate::expr::{TypedExpr, Widths};
use crate::header::{FieldList, Header, Stack, StandardMetadata};
use crate::parse_graph::{ParseState, ParserErrors, ValueSet};
use crate::primitive::Primitive;
use crate::table::{ActionCall, LearnList, Profile, Table};

/// "Ends here" as the next node of a pipeline or the next parse state.
pub const END: u32 = u32::MAX;

#[derive(Debug, Default)]
pub struct Program {
    /// What p4c compiled, if it says so.
    pub source: String,
    /// Words of a packet's header vector.
    pub words: usize,
    /// All metadata fields.
    pub metadata_words: Range<usize>,
    pub headers: Vec<Header>,
    pub stacks: Vec<Stack>,
    pub std: StandardMetadata,
    pub errors: ParserErrors,
    pub parse_start: u32,
    pub parse_states: Vec<ParseState>,
    pub value_sets: Vec<ValueSet>,
    pub actions: Vec<Action>,
    pub tables: Vec<Table>,
    pub nodes: Vec<Node>,
    pub ingress_start: u32,
    pub egress_start: u32,
    /// Headers in the order in which the deparser emits them.
    pub deparser_order: Vec<u32>,
    pub deparser_primitives: Vec<Primitive>,
    pub calculations: Vec<Calculation>,
    pub checksums: Vec<Checksum>,
    pub registers: Vec<RegisterArray>,
    pub counters: Vec<CounterArray>,
    pub meters: Vec<MeterArray>,
    /// By id; entry 0 is the empty list.
    pub field_lists: FxHashMap<u32, FieldList>,
    pub profiles: Vec<Profile>,
    /// By id, from 1 on.
    pub learn_lists: FxHashMap<u32, LearnList>,
}

impl Widths for Program {
    fn stack_field(&self, stack: u32, field: u32) -> (u32, bool) {
        self.stacks
            .get(stack as usize)
            .and_then(|s| s.headers.first())
            .and_then(|h| self.headers.get(*h as usize))
            .and_then(|h| h.fields.get(field as usize))
            .map_or((0, false), |f| (f.field.width, f.field.signed))
    }
}

#[derive(Debug, Default)]
pub struct Action {
    pub name: String,
    pub params: Vec<Param>,
    /// Words of the action's data.
    pub arg_words: usize,
    pub primitives: Vec<Primitive>,
}

#[derive(Debug, Clone)]
pub struct Param {
    pub name: String,
    pub width: u32,
    pub offset: u32,
}

#[derive(Debug)]
pub enum Node {
    Table(u32),
    /// A table without keys whose default action is constant: what p4c makes of
    /// plain statements.
    Always {
        call: ActionCall,
        next: u32,
    },
    If {
        condition: TypedExpr,
        yes: u32,
        no: u32,
    },
}

#[derive(Debug)]
pub struct RegisterArray {
    pub name: String,
    pub size: usize,
    pub width: u32,
}

#[derive(Debug)]
pub struct CounterArray {
    pub name: String,
    pub size: usize,
    /// Table whose entries count, for a direct counter.
    pub table: Option<u32>,
}

#[derive(Debug)]
pub struct MeterArray {
    pub name: String,
    pub size: usize,
    pub table: Option<u32>,
    pub bytes: bool,
    pub rates: usize,
}
