// SPDX-License-Identifier: Apache-2.0
//! Types of the calls between the server and its target.

use bytes::Bytes;
use std::sync::Arc;

/// Identifies an entry within its table.
///
/// Entries compiled into the program are `compiled(0)`, `compiled(1)`, ... in the order of
/// the table's `entries` in the JSON; the server numbers all further entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u64);

impl EntryId {
    const COMPILED: u64 = 1 << 63;

    /// Returns the id of the compiled entry at `index`.
    pub const fn compiled(index: u32) -> Self {
        Self(Self::COMPILED | index as u64)
    }

    /// Returns whether the entry is part of the program.
    pub const fn is_compiled(self) -> bool {
        self.0 & Self::COMPILED != 0
    }

    /// Returns the position of a compiled entry; `None` for any other.
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
    /// Key values, one per key of the table and in their order.
    pub matches: Vec<KeyMatch>,
    /// **Larger wins** (as in P4Runtime; the `priority` in BMv2's JSON is the other way round).
    /// Of equal priorities the oldest entry wins. Zero in tables with just exact and LPM keys.
    pub priority: i32,
    /// Action that the entry runs.
    pub action: EntryAction,
}

/// Action of an entry: its own, or the one that its table's action profile holds under an
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

/// One key of an entry. Values and masks are big-endian, in exactly `ceil(bits / 8)` bytes
/// with zeros in unused top bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMatch {
    /// Width of the field.
    pub bits: u32,
    /// Value that the field is matched against.
    pub value: MatchValue,
}

/// How an entry matches a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MatchValue {
    /// Value of all bits.
    Exact(Vec<u8>),
    /// Value and prefix length in bits from the top of the field; length 0 matches
    /// everything. Bits below the prefix are zero.
    #[allow(missing_docs)]
    Lpm { value: Vec<u8>, prefix_bits: u32 },
    /// Value and mask. Value bits outside the mask are zero; a zero mask matches everything.
    /// `optional` keys arrive in this form, with all or no mask bits set.
    #[allow(missing_docs)]
    Ternary { value: Vec<u8>, mask: Vec<u8> },
    /// A range; both bounds are included.
    #[allow(missing_docs)]
    Range { low: Vec<u8>, high: Vec<u8> },
}

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// Name in the P4Info, e.g. `Ingress.drop_tail`. In the JSON it is not unique: it means
    /// the action of this name among the table's actions.
    pub name: String,
    /// Arguments in the order of the action's parameters, each in `ceil(bits / 8)` big-endian
    /// bytes.
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
    /// Weight, above 0.
    pub weight: u32,
}

/// Two-rate three-colour marker (RFC 2698). Units are packets or bytes, as the program
/// says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterConfig {
    /// Committed rate, in units per second.
    pub committed_rate: u64,
    /// Committed burst, in units.
    pub committed_burst: u64,
    /// Peak rate, in units per second.
    pub peak_rate: u64,
    /// Peak burst, in units.
    pub peak_burst: u64,
}

/// Data that the program sent to the controller with `digest()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestSample {
    /// Name of the digest.
    pub digest: Arc<str>,
    /// Fields one after the other, each in `ceil(bits / 8)` big-endian bytes.
    pub data: Bytes,
}

/// One copy of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Replica {
    /// Egress port.
    pub port: u32,
    /// Value of `egress_rid` in the copy.
    pub instance: u16,
}

/// Destinations of the clones of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// Destinations; each gets one clone.
    pub replicas: Vec<Replica>,
    /// Most bytes of the original frame that a clone keeps; `None` keeps the whole frame.
    pub packet_length_bytes: Option<u32>,
}

/// Kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetErrorKind {
    /// The program cannot be run: it is malformed or has an unsupported construct.
    InvalidProgram,
    /// The running program has no such table, action, counter, entry, port ...
    NotFound,
    /// A value that the program does not allow.
    InvalidArgument,
    /// There is no room for another entry.
    ResourceExhausted,
    /// The target cannot do this.
    Unsupported,
    /// The target failed.
    Internal,
}

/// Reason why the switch refused. The message says what is wrong and what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TargetError {
    /// Kind of refusal, which determines the status code.
    pub kind: TargetErrorKind,
    /// The fault, its place, and the remedy.
    pub message: String,
}

impl TargetError {
    /// Makes a refusal.
    pub fn new(kind: TargetErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
