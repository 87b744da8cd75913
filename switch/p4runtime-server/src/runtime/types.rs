// SPDX-License-Identifier: Apache-2.0
//! Types of calls and their answers.

use crate::shared::Shared;
use std::sync::Arc;

/// A value that a key is compared with: in `ceil(bits / 8)` bytes, big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// All bits.
    Exact(Vec<u8>),
    /// So many bits from the top.
    Lpm(Vec<u8>, u32),
    /// Value and mask.
    Ternary(Vec<u8>, Vec<u8>),
    /// Both ends included.
    Range(Vec<u8>, Vec<u8>),
    /// Whether a header is valid.
    Valid(bool),
}

/// The action of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionEntry {
    /// An action, each of its data in the shortest form.
    Call(String, Vec<Vec<u8>>),
    /// Handle of a member.
    Member(u32),
    /// Handle of a group.
    Group(u32),
}

/// Idle timeout of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryAge {
    /// In ms.
    pub timeout_ms: i64,
    /// Time since the last hit, in ms.
    pub idle_ms: u64,
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Names it within its table.
    pub handle: u32,
    /// In the order of the keys.
    pub key: Vec<Match>,
    /// The smallest wins; `None` where entries have none.
    pub priority: Option<i32>,
    /// Its action.
    pub action: ActionEntry,
    /// Of an entry with an idle timeout.
    pub age: Option<EntryAge>,
}

/// A member of an action profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Names it within its profile.
    pub handle: u32,
    /// Its action.
    pub action: ActionEntry,
}

/// A group of an action selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Names it within its profile.
    pub handle: u32,
    /// Handles of its members.
    pub members: Vec<u32>,
}

/// One rate of a meter. Kept in whole units a second, as P4Runtime has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Packets or bytes per µs.
    pub units_per_us: f64,
    /// Packets or bytes.
    pub burst: u32,
}

/// Destinations of a mirroring session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// One copy.
    pub port: Option<u32>,
    /// A copy for each of its replicas.
    pub group: Option<u32>,
}

/// Names of the program, with what a caller has to know to write their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Its full name.
    pub name: String,
    /// Name, kind and width of each key.
    pub keys: Vec<(String, Match, u32)>,
    /// Names of its actions, each with the widths of its parameters.
    pub actions: Vec<(String, Vec<u32>)>,
    /// Its entries have priorities.
    pub with_priority: bool,
    /// Its actions are members of an action profile.
    pub indirect: bool,
}

/// The device of a [`Server`](crate::Server). Clones serve the same device.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) shared: Arc<Shared>,
}
