// SPDX-License-Identifier: Apache-2.0
//! Interface between the server and a switch.
//!
//! The server does all checking against the P4Info and keeps the written state (so reads of
//! entries, groups and sessions never reach the target); the target executes. Requests
//! arrive here consistent: names exist in the P4Info, values have the right width, entries
//! are unique. A target still returns an error if its own program disagrees with the
//! P4Info.
//!
//! Calls for one device are made one at a time, in the order of the RPCs; only reads of counters
//! and registers may run at the same time. A call may come from any thread of a tokio runtime
//! and must not block it for long.

mod types;

pub use types::{
    ActionCall, CloneSession, CounterValue, DigestSample, EntryAction, EntryId, KeyMatch,
    MatchValue, MeterConfig, Replica, TableEntry, TargetError, TargetErrorKind, WeightedMember,
};

use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use tokio::sync::broadcast;

fn without(what: &str) -> TargetError {
    let message = format!("this switch has no {what}");
    TargetError::new(TargetErrorKind::Unsupported, message)
}

/// A switch that runs a BMv2 program. It need not implement kinds of objects that it does
/// not have: they are refused.
#[async_trait]
pub trait Target: Send + Sync + 'static {
    /// Replaces the running program with `program`, the BMv2 JSON as p4c wrote it, which
    /// [`p4_ir::load`] accepts. Afterwards tables hold only the entries compiled into the
    /// program, default actions are the program's, counters and registers are zero, and
    /// there are no groups or clone sessions. After an error the previous program keeps
    /// running, unchanged.
    async fn load(&self, program: &[u8]) -> Result<(), TargetError>;

    /// Adds an entry. `id` is unused so far and stays valid until
    /// [`remove_entry`](Self::remove_entry) or [`load`](Self::load).
    async fn insert_entry(
        &self,
        table: &str,
        id: EntryId,
        entry: &TableEntry,
    ) -> Result<(), TargetError>;

    /// Replaces the action of an entry; its counter and meter stay as they are.
    async fn modify_entry(
        &self,
        table: &str,
        id: EntryId,
        action: &EntryAction,
    ) -> Result<(), TargetError>;

    /// Removes an entry.
    async fn remove_entry(&self, table: &str, id: EntryId) -> Result<(), TargetError>;

    /// Returns how long ago each entry was last hit (or added, if never hit); `None` if the entry
    /// does not exist. Called only for tables whose entries may have idle timeouts.
    async fn idle_ns(
        &self,
        table: &str,
        _ids: &[EntryId],
    ) -> Result<Vec<Option<u64>>, TargetError> {
        Err(without(&format!("idle timeout of {table}")))
    }

    /// Sets the action taken on a miss; `None` restores the program's own.
    async fn set_default_action(
        &self,
        table: &str,
        action: Option<&ActionCall>,
    ) -> Result<(), TargetError>;

    /// Creates or replaces a member of an action profile; `None` removes it.
    /// A member that a group or an entry refers to is never removed.
    async fn set_member(
        &self,
        profile: &str,
        _member: u64,
        _action: Option<&ActionCall>,
    ) -> Result<(), TargetError> {
        Err(without(&format!("action profile {profile}")))
    }

    /// Creates or replaces a group of an action selector, with its members in the order of
    /// their ids; `None` removes it. All members exist; a group that an entry refers to is
    /// never removed.
    async fn set_group(
        &self,
        profile: &str,
        _group: u64,
        _members: Option<&[WeightedMember]>,
    ) -> Result<(), TargetError> {
        Err(without(&format!("action selector {profile}")))
    }

    /// Reads the hits of one entry of a table with a direct counter.
    async fn read_direct_counter(
        &self,
        table: &str,
        _id: EntryId,
    ) -> Result<CounterValue, TargetError> {
        Err(without(&format!("direct counter of {table}")))
    }

    /// Sets the hits of one entry.
    async fn write_direct_counter(
        &self,
        table: &str,
        _id: EntryId,
        _value: CounterValue,
    ) -> Result<(), TargetError> {
        Err(without(&format!("direct counter of {table}")))
    }

    /// Reads cells of an indexed counter. `cells` is within the P4Info's size.
    async fn read_counter(
        &self,
        counter: &str,
        _cells: Range<usize>,
    ) -> Result<Vec<CounterValue>, TargetError> {
        Err(without(&format!("counter {counter}")))
    }

    /// Sets all `cells` to `value`.
    async fn write_counter(
        &self,
        counter: &str,
        _cells: Range<usize>,
        _value: CounterValue,
    ) -> Result<(), TargetError> {
        Err(without(&format!("counter {counter}")))
    }

    /// Reads cells of a register, each as `ceil(bits / 8)` big-endian bytes.
    async fn read_register(
        &self,
        register: &str,
        _cells: Range<usize>,
    ) -> Result<Vec<Vec<u8>>, TargetError> {
        Err(without(&format!("register {register}")))
    }

    /// Sets all `cells` to `value`, in `ceil(bits / 8)` big-endian bytes.
    async fn write_register(
        &self,
        register: &str,
        _cells: Range<usize>,
        _value: &[u8],
    ) -> Result<(), TargetError> {
        Err(without(&format!("register {register}")))
    }

    /// Configures cells of an indexed meter; `None`: all packets are green.
    async fn set_meter(
        &self,
        meter: &str,
        _cells: Range<usize>,
        _config: Option<MeterConfig>,
    ) -> Result<(), TargetError> {
        Err(without(&format!("meter {meter}")))
    }

    /// Configures the meter of one entry of a table with a direct meter.
    async fn set_direct_meter(
        &self,
        table: &str,
        _id: EntryId,
        _config: Option<MeterConfig>,
    ) -> Result<(), TargetError> {
        Err(without(&format!("direct meter of {table}")))
    }

    /// Replaces the values of a parser value set. Each is the concatenation of its fields, each
    /// field in `ceil(bits / 8)` big-endian bytes.
    async fn set_value_set(&self, value_set: &str, _values: &[Vec<u8>]) -> Result<(), TargetError> {
        Err(without(&format!("value set {value_set}")))
    }

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
    async fn packet_out(&self, _frame: Bytes) -> Result<(), TargetError> {
        Err(without("packet-out"))
    }

    /// Returns frames that the program sends to the CPU port from now on; each begins with the
    /// packet-in header, if the program has one. A receiver that lags loses the oldest.
    fn packet_in(&self) -> broadcast::Receiver<Bytes>;

    /// Returns samples of digests from now on. A receiver that lags loses the oldest.
    fn digests(&self) -> broadcast::Receiver<DigestSample>;
}
