// SPDX-License-Identifier: Apache-2.0
//! Tables, their entries, and action profiles.

use crate::calculation::Calculation;
use crate::field::FieldRef;

/// How a key is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// All bits are equal.
    Exact,
    /// The longest prefix wins.
    Lpm,
    /// Value and mask; also used for `optional` keys.
    Ternary,
    /// A range; both bounds are included.
    Range,
}

/// One key of a table.
#[derive(Debug, Clone)]
pub struct TableKey {
    /// Name in the P4Info.
    pub name: String,
    /// How the key is matched.
    pub kind: MatchKind,
    /// Field that is matched.
    pub field: FieldRef,
    /// Words of a static mask.
    pub mask: Option<Vec<u64>>,
    /// First word in the packed key.
    pub word: usize,
    /// Left shift within that word, for fields of at most 64 bits.
    pub shift: u32,
}

/// A match-action table.
#[derive(Debug)]
pub struct Table {
    /// Name in the P4Info.
    pub name: String,
    /// Keys in the order of the P4 source.
    pub keys: Vec<TableKey>,
    /// Number of words of the packed key.
    pub key_words: usize,
    /// Most general match kind among the keys.
    pub kind: MatchKind,
    /// Most entries that can be added.
    pub max_size: usize,
    /// Whether hits of its entries are counted.
    pub with_counters: bool,
    /// Whether its entries record the time of their last hit (`support_timeout`).
    pub support_timeout: bool,
    /// Its direct meter, and the field that receives the colour.
    pub direct_meter: Option<(u32, FieldRef)>,
    /// Numbers of its actions.
    pub action_ids: Vec<u32>,
    /// Selection of the next node.
    pub next: NextNode,
    /// Action that runs on a miss.
    pub default: Option<ActionCall>,
    /// Whether the default action cannot be changed.
    pub default_is_const: bool,
    /// Entries compiled into the program.
    pub const_entries: Vec<ConstEntry>,
    /// Its action profile.
    pub profile: Option<u32>,
    /// The table's numbers of its profile's actions, in the profile's order.
    pub profile_actions: Vec<u32>,
}

/// Selection of the node after a table; [`END`](crate::END) for none.
#[derive(Debug)]
pub enum NextNode {
    /// `if (table.apply().hit)`.
    HitMiss {
        /// After a hit.
        hit: u32,
        /// After a miss.
        miss: u32,
    },
    /// `switch (table.apply().action_run)`.
    ByAction {
        /// Pairs of action and node.
        nodes: Vec<(u32, u32)>,
        /// Node for all other actions, or if no action ran.
        base: u32,
    },
}

/// An action with its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionCall {
    /// Number of the action.
    pub action: u32,
    /// Words of its data.
    pub args: Vec<u64>,
}

/// Value that an entry matches a key against; in words, most significant first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MatchValue {
    /// Value of all bits.
    Exact(Vec<u64>),
    /// A prefix.
    #[allow(missing_docs)]
    Lpm { value: Vec<u64>, prefix_bits: u32 },
    /// Value under a mask.
    #[allow(missing_docs)]
    Ternary { value: Vec<u64>, mask: Vec<u64> },
    /// A range; both bounds are included.
    #[allow(missing_docs)]
    Range { low: Vec<u64>, high: Vec<u64> },
}

/// An entry compiled into the program.
#[derive(Debug)]
pub struct ConstEntry {
    /// Match values, one per key.
    pub matches: Vec<MatchValue>,
    /// Priority; smaller wins.
    pub priority: i32,
    /// Action that the entry runs.
    pub call: ActionCall,
}

/// An action profile, with or without selector.
#[derive(Debug)]
pub struct Profile {
    /// Name in the P4Info.
    pub name: String,
    /// Hash that selects a group's member.
    pub selector: Option<Calculation>,
    /// Actions of its tables, without duplicates.
    pub actions: Vec<ProfileAction>,
}

/// An action that members may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileAction {
    /// Name of the action.
    pub name: String,
    /// Widths of its parameters in bits.
    pub widths: Vec<u32>,
}

/// Fields that one `digest()` sends to the controller.
#[derive(Debug)]
pub struct LearnList {
    /// Name of the digest.
    pub name: std::sync::Arc<str>,
    /// Fields in the order in which they are sent.
    pub fields: Vec<FieldRef>,
}
