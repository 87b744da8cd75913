// SPDX-License-Identifier: Apache-2.0
//! A compiled program. All cross references are indices.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::emission::Emission;
use super::expr::{Compiled, FieldRef, Widths};
use super::op::{Flow, Op};

pub use super::calculation::{Algorithm, CalcInput, Calculation, Checksum, Piece};
pub use super::parse_graph::{
    Case, KeyPiece, KeySource, ParseOp, ParseState, ParserErrors, Transition, ValueSet,
};

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
    /// The nodes from each of these on, as they are executed.
    pub ingress: Flow,
    pub egress: Flow,
    pub emission: Emission,
    pub deparse_prims: Vec<Insn>,
    pub deparse_code: Box<[Op]>,
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

#[derive(Debug, Clone)]
pub struct Header {
    pub name: String,
    pub type_name: String,
    pub metadata: bool,
    /// Slot of the word that is 1 when the header is valid.
    pub valid: u32,
    pub fields: Vec<HeaderField>,
    /// Slots of all fields, contiguous.
    pub words: Range<usize>,
    /// Without the variable-length field.
    pub fixed_bits: u32,
    /// Index of the variable-length field.
    pub variable: Option<usize>,
    /// Bytes of the packet in each of `words`, when the header has fixed length
    /// and can be divided into words of whole bytes: then parsing and deparsing
    /// move words, not fields. Otherwise empty, and each field is alone.
    pub word_bytes: Vec<u8>,
    pub stack: Option<(u32, u32)>,
}

/// Fields that a copy of a packet takes over.
#[derive(Debug, Default)]
pub struct FieldList {
    /// Words that are copied whole.
    pub words: Vec<Range<u32>>,
    /// Fields that share their word with others.
    pub parts: Vec<FieldRef>,
}

#[derive(Debug, Clone)]
pub struct HeaderField {
    pub name: String,
    pub field: FieldRef,
    /// From the start of the header; meaningless behind a variable field.
    pub bit_offset: u32,
}

#[derive(Debug, Clone)]
pub struct Stack {
    pub name: String,
    pub headers: Vec<u32>,
    /// Slot with the number of elements in use.
    pub next: u32,
}

/// Slots of standard metadata; `None` where the program lacks the field.
#[derive(Debug, Default, Clone)]
pub struct StandardMetadata {
    pub ingress_port: Option<FieldRef>,
    pub egress_spec: Option<FieldRef>,
    pub egress_port: Option<FieldRef>,
    pub instance_type: Option<FieldRef>,
    pub packet_length: Option<FieldRef>,
    pub enq_timestamp: Option<FieldRef>,
    pub enq_qdepth: Option<FieldRef>,
    pub deq_timedelta: Option<FieldRef>,
    pub deq_qdepth: Option<FieldRef>,
    pub ingress_global_timestamp: Option<FieldRef>,
    pub egress_global_timestamp: Option<FieldRef>,
    pub mcast_grp: Option<FieldRef>,
    pub egress_rid: Option<FieldRef>,
    pub checksum_error: Option<FieldRef>,
    pub parser_error: Option<FieldRef>,
    pub priority: Option<FieldRef>,
    pub qid: Option<FieldRef>,
}

#[derive(Debug, Default)]
pub struct Action {
    pub name: String,
    pub params: Vec<Param>,
    /// Words of the action's data.
    pub arg_words: usize,
    pub insns: Vec<Insn>,
    /// What is executed for them.
    pub code: Box<[Op]>,
}

#[derive(Debug, Clone)]
pub struct Param {
    pub name: String,
    pub width: u32,
    pub offset: u32,
}

/// Bits of a word that are replaced: `(word & keep) | value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constant {
    pub slot: u32,
    pub keep: u64,
    pub value: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Insn {
    SetConst(Constant),
    /// Both at most 64 bits wide.
    Copy {
        dst: FieldRef,
        src: FieldRef,
    },
    /// An argument and a field of at most 64 bits.
    SetArg {
        dst: FieldRef,
        offset: u32,
    },
    /// Computed in wrapping 64 bits.
    Set64 {
        dst: FieldRef,
        value: Compiled,
    },
    Set {
        dst: FieldRef,
        value: Compiled,
    },
    /// Field of the stack element that `index` selects; nothing outside.
    SetAt {
        stack: u32,
        field: u32,
        index: Compiled,
        value: Compiled,
    },
    CopyWide {
        dst: FieldRef,
        src: FieldRef,
    },
    CopyVariable {
        dst: FieldRef,
        src: FieldRef,
    },
    CopyHeader {
        dst: u32,
        src: u32,
    },
    CopyStack {
        dst: u32,
        src: u32,
    },
    AddHeader(u32),
    RemoveHeader(u32),
    Push {
        stack: u32,
        count: u32,
    },
    Pop {
        stack: u32,
        count: u32,
    },
    Jump(u32),
    JumpIfZero {
        condition: Compiled,
        target: u32,
    },
    Exit,
    MarkToDrop,
    CloneIngress {
        session: Compiled,
        list: Compiled,
    },
    CloneEgress {
        session: Compiled,
        list: Compiled,
    },
    Resubmit {
        list: Compiled,
    },
    Recirculate {
        list: Compiled,
    },
    Truncate {
        bytes: Compiled,
    },
    Digest {
        list: Compiled,
    },
    Hash {
        dst: FieldRef,
        base: Compiled,
        calculation: u32,
        max: Compiled,
    },
    Random {
        dst: FieldRef,
        low: Compiled,
        high: Compiled,
    },
    Count {
        counter: u32,
        index: Compiled,
    },
    Meter {
        meter: u32,
        index: Compiled,
        dst: FieldRef,
    },
    RegisterRead {
        dst: FieldRef,
        register: u32,
        index: Compiled,
    },
    RegisterWrite {
        register: u32,
        index: Compiled,
        value: Compiled,
    },
    Assert {
        condition: Compiled,
        what: String,
    },
    Log {
        format: String,
        args: Vec<Compiled>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
}

#[derive(Debug, Clone)]
pub struct TableKey {
    pub name: String,
    pub kind: MatchKind,
    pub field: FieldRef,
    /// Words of a static mask.
    pub mask: Option<Vec<u64>>,
    /// First word in the packed key.
    pub word: usize,
    /// Left shift in that word, for fields of at most 64 bits.
    pub shift: u32,
}

#[derive(Debug)]
pub struct Table {
    pub name: String,
    pub keys: Vec<TableKey>,
    pub key_words: usize,
    /// The strongest kind among the keys.
    pub kind: MatchKind,
    pub max_size: usize,
    pub with_counters: bool,
    /// Counter array that P4Info attaches to this table.
    pub direct_meter: Option<(u32, FieldRef)>,
    pub action_ids: Vec<u32>,
    pub next: NextNode,
    pub default: Option<ActionCall>,
    pub default_is_const: bool,
    pub const_entries: Vec<ConstEntry>,
    pub profile: Option<u32>,
    /// The table's own actions for those of its profile, in their order.
    pub profile_actions: Vec<u32>,
}

#[derive(Debug)]
pub enum NextNode {
    HitMiss {
        hit: u32,
        miss: u32,
    },
    /// Pairs of action id and node; `base` when no default action ran.
    ByAction {
        nodes: Vec<(u32, u32)>,
        base: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionCall {
    pub action: u32,
    pub args: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MatchValue {
    Exact(Vec<u64>),
    Lpm { value: Vec<u64>, prefix_bits: u32 },
    Ternary { value: Vec<u64>, mask: Vec<u64> },
    Range { low: Vec<u64>, high: Vec<u64> },
}

#[derive(Debug)]
pub struct ConstEntry {
    pub matches: Vec<MatchValue>,
    /// Smaller wins.
    pub priority: i32,
    pub call: ActionCall,
}

#[derive(Debug)]
pub struct Profile {
    pub name: String,
    pub max_size: usize,
    pub selector: Option<Calculation>,
    /// Actions of its tables, each once.
    pub actions: Vec<ProfileAction>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileAction {
    pub name: String,
    /// Widths of its parameters in bits.
    pub widths: Vec<u32>,
}

/// What one `digest()` sends to the controller.
#[derive(Debug)]
pub struct LearnList {
    pub name: std::sync::Arc<str>,
    pub fields: Vec<FieldRef>,
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
        condition: Compiled,
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
