// SPDX-License-Identifier: Apache-2.0
//! What the server needs of a switch.
//!
//! The server does all checking against P4Info and keeps what was written (so
//! reads of entries, groups and sessions never reach the target); the target
//! executes. What arrives here is consistent: names exist in the P4Info, values
//! have the right width, entries are unique. A target still answers with an
//! error when its own program disagrees with the P4Info.
//!
//! Calls for one device are made one at a time, in the order of the RPCs; reads
//! of counters and registers may run beside them. Every call may come from any
//! thread of a tokio runtime and must not block it for long.

use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use tokio::sync::broadcast;

/// A switch that runs a BMv2 program.
#[async_trait]
pub trait Target: Send + Sync + 'static {
    /// Checks that `load` of this program would succeed; changes nothing.
    /// `program` is the BMv2 JSON as p4c wrote it.
    async fn verify(&self, program: &[u8]) -> Result<(), TargetError>;

    /// Replaces the running program. Afterwards tables hold only the entries
    /// compiled into the program, default actions are the program's, counters
    /// and registers are zero, and there is no group and no clone session.
    /// On error the previous program keeps running, untouched.
    async fn load(&self, program: &[u8]) -> Result<(), TargetError>;

    /// Adds an entry. `id` is unused so far and stays valid until
    /// [`remove_entry`](Self::remove_entry) or [`load`](Self::load).
    async fn insert_entry(
        &self,
        table: &str,
        id: EntryId,
        entry: &TableEntry,
    ) -> Result<(), TargetError>;

    /// Replaces the action of an entry; its counter stays as it is.
    async fn modify_entry(
        &self,
        table: &str,
        id: EntryId,
        action: &ActionCall,
    ) -> Result<(), TargetError>;

    async fn remove_entry(&self, table: &str, id: EntryId) -> Result<(), TargetError>;

    /// Sets the action taken on a miss; `None` means the program's own.
    async fn set_default_action(
        &self,
        table: &str,
        action: Option<&ActionCall>,
    ) -> Result<(), TargetError>;

    /// Hits of one entry of a table with a direct counter.
    async fn read_direct_counter(
        &self,
        table: &str,
        id: EntryId,
    ) -> Result<CounterValue, TargetError>;

    async fn write_direct_counter(
        &self,
        table: &str,
        id: EntryId,
        value: CounterValue,
    ) -> Result<(), TargetError>;

    /// Cells of an indexed counter. `cells` lies within the P4Info's size.
    async fn read_counter(
        &self,
        counter: &str,
        cells: Range<usize>,
    ) -> Result<Vec<CounterValue>, TargetError>;

    async fn write_counter(
        &self,
        counter: &str,
        cells: Range<usize>,
        value: CounterValue,
    ) -> Result<(), TargetError>;

    /// Cells of a register, each big-endian in `ceil(bits / 8)` bytes.
    async fn read_register(
        &self,
        register: &str,
        cells: Range<usize>,
    ) -> Result<Vec<Vec<u8>>, TargetError>;

    /// Sets all `cells` to `value`, big-endian in `ceil(bits / 8)` bytes.
    async fn write_register(
        &self,
        register: &str,
        cells: Range<usize>,
        value: &[u8],
    ) -> Result<(), TargetError>;

    /// Creates or replaces a multicast group; `None` removes it.
    async fn set_multicast_group(
        &self,
        id: u32,
        replicas: Option<&[Replica]>,
    ) -> Result<(), TargetError>;

    /// Creates or replaces a clone session; `None` removes it.
    async fn set_clone_session(
        &self,
        id: u32,
        session: Option<&CloneSession>,
    ) -> Result<(), TargetError>;

    /// Runs a frame through the pipeline as if received on the CPU port. The
    /// frame begins with the program's packet-out header, if it has one.
    async fn packet_out(&self, frame: Bytes) -> Result<(), TargetError>;

    /// Frames the program sent to the CPU port from now on, beginning with its
    /// packet-in header, if it has one. A receiver that lags loses the oldest.
    fn packet_in(&self) -> broadcast::Receiver<Bytes>;
}

/// Names an entry within its table.
///
/// Entries compiled into the program are `compiled(0)`, `compiled(1)`, ... in
/// the order of the table's `entries` in the JSON; the server numbers the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u64);

impl EntryId {
    const COMPILED: u64 = 1 << 63;

    pub const fn compiled(index: u32) -> Self {
        Self(Self::COMPILED | index as u64)
    }

    pub const fn is_compiled(self) -> bool {
        self.0 & Self::COMPILED != 0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// One per key of the table, in the order of the keys.
    pub matches: Vec<KeyMatch>,
    /// **Larger wins** (P4Runtime; the `priority` in BMv2's JSON is the other
    /// way round). Among equals the older entry wins. Zero in tables of only
    /// exact and LPM keys.
    pub priority: i32,
    pub action: ActionCall,
}

/// One key of an entry. Values and masks are big-endian in exactly
/// `ceil(bits / 8)` bytes, unused top bits zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMatch {
    /// Key name of the P4Info, e.g. `hdr.ethernet.dst_addr`.
    pub name: String,
    pub bits: u32,
    pub value: MatchValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MatchValue {
    Exact(Vec<u8>),
    /// Prefix length in bits from the top of the field; 0 matches everything.
    /// Bits below the prefix are zero.
    Lpm {
        value: Vec<u8>,
        prefix_bits: u32,
    },
    /// Bits outside the mask are zero in the value; a zero mask matches
    /// everything. `optional` keys arrive as this, with all or no bits set.
    Ternary {
        value: Vec<u8>,
        mask: Vec<u8>,
    },
    /// Both ends included.
    Range {
        low: Vec<u8>,
        high: Vec<u8>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// Name of the P4Info, e.g. `Ingress.drop_tail`. Not unique in the JSON:
    /// it is the one among the table's actions that is meant.
    pub name: String,
    /// In the order of the action's parameters, each big-endian in
    /// `ceil(bits / 8)` bytes.
    pub params: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValue {
    pub packets: u64,
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Replica {
    pub port: u32,
    /// Becomes `egress_rid`.
    pub instance: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    pub replicas: Vec<Replica>,
    /// Clones are cut to this many bytes of the original frame; `None` leaves
    /// them whole.
    pub packet_length_bytes: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetErrorKind {
    /// The program cannot be run: malformed or with an unsupported construct.
    InvalidProgram,
    /// No such table, action, counter, entry, port ... in the running program.
    NotFound,
    InvalidArgument,
    /// No room for another entry.
    ResourceExhausted,
    Unsupported,
    Internal,
}

/// Why the switch refused. The message says what and what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TargetError {
    pub kind: TargetErrorKind,
    pub message: String,
}

impl TargetError {
    pub fn new(kind: TargetErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
