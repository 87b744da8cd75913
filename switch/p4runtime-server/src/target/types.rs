// SPDX-License-Identifier: Apache-2.0
//! Types of the calls between server and target.

use bytes::Bytes;
use std::sync::Arc;

/// Names an entry within its table.
///
/// Entries compiled into the program are `compiled(0)`, `compiled(1)`, ... in
/// the order of the table's `entries` in the JSON; the server numbers the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u64);

impl EntryId {
    const COMPILED: u64 = 1 << 63;

    /// Number `index` of the compiled entries.
    pub const fn compiled(index: u32) -> Self {
        Self(Self::COMPILED | index as u64)
    }

    /// The entry is part of the program.
    pub const fn is_compiled(self) -> bool {
        self.0 & Self::COMPILED != 0
    }

    /// Position of a compiled entry; `None` for the others.
    pub const fn compiled_index(self) -> Option<u32> {
        if self.is_compiled() {
            Some(self.0 as u32)
        } else {
            None
        }
    }
}

/// An entry that the target adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// One per key of the table, in the order of the keys.
    pub matches: Vec<KeyMatch>,
    /// **Larger wins** (P4Runtime; the `priority` in BMv2's JSON is the other
    /// way round). Among equals the older entry wins. Zero in tables of only
    /// exact and LPM keys.
    pub priority: i32,
    /// The action it runs.
    pub action: EntryAction,
}

/// Action of an entry: one of its own, or the one that its table's action profile holds under an
/// id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    /// An action of its own.
    Call(ActionCall),
    /// A member of the action profile.
    Member(u64),
    /// A group of the action selector.
    Group(u64),
}

impl From<ActionCall> for EntryAction {
    fn from(call: ActionCall) -> Self {
        Self::Call(call)
    }
}

/// One key of an entry. Values and masks are big-endian in exactly
/// `ceil(bits / 8)` bytes, unused top bits zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMatch {
    /// Width of the field.
    pub bits: u32,
    /// Value to compare the field with.
    pub value: MatchValue,
}

/// How an entry compares a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MatchValue {
    /// All bits.
    Exact(Vec<u8>),
    /// Prefix length in bits from the top of the field; 0 matches everything.
    /// Bits below the prefix are zero.
    #[allow(missing_docs)]
    Lpm { value: Vec<u8>, prefix_bits: u32 },
    /// Bits outside the mask are zero in the value; a zero mask matches
    /// everything. `optional` keys arrive as this, with all or no bits set.
    #[allow(missing_docs)]
    Ternary { value: Vec<u8>, mask: Vec<u8> },
    /// Both ends included.
    #[allow(missing_docs)]
    Range { low: Vec<u8>, high: Vec<u8> },
}

/// An action with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// Name of the P4Info, e.g. `Ingress.drop_tail`. Not unique in the JSON:
    /// it is the one among the table's actions that is meant.
    pub name: String,
    /// In the order of the action's parameters, each big-endian in
    /// `ceil(bits / 8)` bytes.
    pub params: Vec<Vec<u8>>,
}

/// A cell of a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValue {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightedMember {
    /// Id of the member.
    pub member: u64,
    /// Above 0.
    pub weight: u32,
}

/// Two-rate three-colour marker (RFC 2698). Units are packets or bytes, as the
/// program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterConfig {
    /// Units per second.
    pub committed_rate: u64,
    /// Units.
    pub committed_burst: u64,
    /// Units per second.
    pub peak_rate: u64,
    /// Units.
    pub peak_burst: u64,
}

/// Data that the program sent to the controller with `digest()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestSample {
    /// Name of the digest.
    pub digest: Arc<str>,
    /// Fields one after the other, each big-endian in `ceil(bits / 8)` bytes.
    pub data: Bytes,
}

/// One copy of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Replica {
    /// Egress port.
    pub port: u32,
    /// Becomes `egress_rid`.
    pub instance: u16,
}

/// Destinations of clones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// One clone each.
    pub replicas: Vec<Replica>,
    /// Clones are cut to this many bytes of the original frame; `None` leaves
    /// them whole.
    pub packet_length_bytes: Option<u32>,
}

/// Kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetErrorKind {
    /// The program cannot be run: malformed or with an unsupported construct.
    InvalidProgram,
    /// No such table, action, counter, entry, port ... in the running program.
    NotFound,
    /// A value that the program does not allow.
    InvalidArgument,
    /// No room for another entry.
    ResourceExhausted,
    /// The target cannot do this.
    Unsupported,
    /// The target failed.
    Internal,
}

/// Why the switch refused. The message says what and what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TargetError {
    /// Becomes the status code.
    pub kind: TargetErrorKind,
    /// The fault, its place, and the remedy.
    pub message: String,
}

impl TargetError {
    /// A refusal.
    pub fn new(kind: TargetErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
