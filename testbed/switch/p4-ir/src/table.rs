// SPDX-License-Identifier: Apache-2.0
//! Tables, their entries, and action profiles.

use crate::calculation::Calculation;
use crate::field::FieldRef;

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
