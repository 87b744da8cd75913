// SPDX-License-Identifier: Apache-2.0
//! Types of calls and their answers.

use crate::shared::Shared;
use std::sync::Arc;

/// Value that a key is matched against: `ceil(bits / 8)` bytes, big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Value of all bits.
    Exact(Vec<u8>),
    /// Value and prefix length in bits.
    Lpm(Vec<u8>, u32),
    /// Value and mask.
    Ternary(Vec<u8>, Vec<u8>),
    /// A range; both bounds are included.
    Range(Vec<u8>, Vec<u8>),
    /// Whether a header is valid.
    Valid(bool),
}

/// The action of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionEntry {
    /// An action with its data, each in the shortest form.
    Call(String, Vec<Vec<u8>>),
    /// Handle of a member.
    Member(u32),
    /// Handle of a group.
    Group(u32),
}

/// Idle timeout of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryAge {
    /// Timeout in ms.
    pub timeout_ms: i64,
    /// Time since the last hit, in ms.
    pub idle_ms: u64,
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Identifies the entry within its table.
    pub handle: u32,
    /// Values in the order of the keys.
    pub key: Vec<Match>,
    /// Priority; the smallest wins. `None` if the table's entries have none.
    pub priority: Option<i32>,
    /// Its action.
    pub action: ActionEntry,
    /// Age of an entry with an idle timeout.
    pub age: Option<EntryAge>,
}

/// A member of an action profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Identifies the member within its profile.
    pub handle: u32,
    /// Its action.
    pub action: ActionEntry,
}

/// A group of an action selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Identifies the group within its profile.
    pub handle: u32,
    /// Handles of its members.
    pub members: Vec<u32>,
}

/// One rate of a meter. It is stored in whole units per second, as in P4Runtime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Packets or bytes per µs.
    pub units_per_us: f64,
    /// Burst size in packets or bytes.
    pub burst: u32,
}

/// Destinations of a mirroring session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// Port that receives a copy.
    pub port: Option<u32>,
    /// Multicast group; each of its replicas receives a copy.
    pub group: Option<u32>,
}

/// Names in a table, and the widths that a caller needs to write their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Full name of the table.
    pub name: String,
    /// Name, kind and width of each key.
    pub keys: Vec<(String, Match, u32)>,
    /// Names of its actions, each with the widths of its parameters.
    pub actions: Vec<(String, Vec<u32>)>,
    /// Whether its entries have priorities.
    pub with_priority: bool,
    /// Whether its actions are members of an action profile.
    pub indirect: bool,
}

/// The device of a [`Server`](crate::Server). Clones serve the same device.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) shared: Arc<Shared>,
}
