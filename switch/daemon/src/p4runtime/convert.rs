// SPDX-License-Identifier: Apache-2.0
//! Converts errors and values between the forms of P4Runtime and of the switch.

use p4runtime_server::target::{
    CounterValue, EntryId, MeterConfig, Replica, TargetError, TargetErrorKind as Kind,
};

use p4_vm::TableError;
use p4_vm::{Count, MeterRates};

pub(super) type Result<T> = std::result::Result<T, TargetError>;

pub(super) fn not_found(kind: &str, name: &str) -> TargetError {
    TargetError::new(Kind::NotFound, format!("the program has no {kind} {name}"))
}

pub(super) fn table_error(e: TableError, table: &str) -> TargetError {
    let kind = match e {
        TableError::Full => Kind::ResourceExhausted,
        TableError::NoEntry => Kind::NotFound,
        TableError::Exists | TableError::BadKey | TableError::BadAction => Kind::InvalidArgument,
    };
    TargetError::new(kind, format!("table {table}: {e}"))
}

pub(super) fn replicas(list: &[Replica]) -> Vec<traffic_manager::Replica> {
    list.iter()
        .map(|r| traffic_manager::Replica {
            port: r.port,
            rid: r.instance,
        })
        .collect()
}

/// Converts rates to packets or bytes per microsecond, as in BMv2.
pub(super) fn rates(c: MeterConfig) -> MeterRates {
    MeterRates {
        committed_rate: c.committed_rate as f64 / 1e6,
        committed_burst: c.committed_burst as f64,
        peak_rate: c.peak_rate as f64 / 1e6,
        peak_burst: c.peak_burst as f64,
    }
}

pub(super) fn counter_value(c: Count) -> CounterValue {
    CounterValue {
        packets: c.packets,
        bytes: c.bytes,
    }
}

pub(super) fn out_of_range(kind: &str, name: &str) -> TargetError {
    TargetError::new(
        Kind::InvalidArgument,
        format!("{kind} {name} has no such cell in the running program"),
    )
}

/// Converts an entry id; the server's mark for compiled entries becomes a variant.
pub(super) fn entry_id(id: EntryId) -> p4_vm::EntryId {
    match id.compiled_index() {
        Some(index) => p4_vm::EntryId::Compiled(index),
        None => p4_vm::EntryId::Added(id.0),
    }
}
