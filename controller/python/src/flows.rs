// SPDX-License-Identifier: Apache-2.0
//! Flows of a capture, with addresses and ports.

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt8Array,
    UInt16Array, UInt32Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tidemark_analysis::Estimated;
use tidemark_capture::{CaptureError, CellType, FlatEvent, Rows};

use crate::arrow::field;

/// Flows by number, each with its newest description.
pub(crate) type Flows = BTreeMap<u64, FlatEvent>;

/// Kind of the events that describe flows.
const KIND: &str = "flow";

/// Reads the flows of a capture.
pub(crate) fn read(dir: &Path) -> Result<Flows, CaptureError> {
    let mut flows = Flows::new();
    let mut rows = Rows::<FlatEvent>::open(dir)?;
    while rows.peek()?.is_some() {
        let Some(row) = rows.take() else { break };
        if let (KIND, Some(id)) = (row.kind.as_str(), row.flow_id) {
            flows.insert(id, row);
        }
    }
    Ok(flows)
}

/// Returns the columns of its flow that every packet gets.
pub(crate) fn joined() -> [Field; 5] {
    [
        field("src", CellType::Text, true),
        field("dst", CellType::Text, true),
        field("src_port", CellType::U16, true),
        field("dst_port", CellType::U16, true),
        field("protocol", CellType::U8, true),
    ]
}

/// Returns one of these columns for packets of `flows`; `None` for any other name.
pub(crate) fn column(name: &str, flows: &[Option<&FlatEvent>]) -> Option<ArrayRef> {
    let of = |f: fn(&FlatEvent) -> Option<u16>| -> ArrayRef {
        Arc::new(flows.iter().map(|e| e.and_then(f)).collect::<UInt16Array>())
    };
    let text = |f: for<'a> fn(&'a FlatEvent) -> Option<&'a str>| -> ArrayRef {
        Arc::new(flows.iter().map(|e| e.and_then(f)).collect::<StringArray>())
    };
    Some(match name {
        "src" => text(|e| e.src.as_deref()),
        "dst" => text(|e| e.dst.as_deref()),
        "src_port" => of(|e| e.src_port),
        "dst_port" => of(|e| e.dst_port),
        "protocol" => {
            let protocols = flows.iter().map(|e| e.and_then(|e| e.protocol));
            Arc::new(protocols.collect::<UInt8Array>())
        }
        _ => return None,
    })
}

/// Creates a table from its fields and columns.
fn table(columns: Vec<(Field, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// Returns the first columns of a table: number, addresses and ports.
fn keys(ids: &[u64], flows: &Flows) -> Vec<(Field, ArrayRef)> {
    let numbers = ids.iter().map(|&id| i64::try_from(id).ok());
    let numbers: ArrayRef = Arc::new(numbers.collect::<Int64Array>());
    let rows: Vec<_> = ids.iter().map(|id| flows.get(id)).collect();
    let mut columns = vec![(field("flow_id", CellType::I64, true), numbers)];
    for field in joined() {
        if let Some(array) = column(field.name(), &rows) {
            columns.push((field, array));
        }
    }
    columns
}

/// Returns a table of every flow of the capture. Zeros that stand for "not known" are null.
pub(crate) fn all(flows: &Flows) -> Result<RecordBatch, ArrowError> {
    let ids: Vec<u64> = flows.keys().copied().collect();
    let known = |v: Option<u64>| v.filter(|&v| v > 0).and_then(|v| i64::try_from(v).ok());
    let ns = |f: fn(&FlatEvent) -> Option<u64>| -> ArrayRef {
        Arc::new(flows.values().map(|e| known(f(e))).collect::<Int64Array>())
    };
    let mut columns = keys(&ids, flows);
    let nodes = flows.values().map(|e| e.node_id).collect::<UInt32Array>();
    let probed = flows.values().map(|e| e.probed).collect::<BooleanArray>();
    let segments = flows.values().map(|e| e.mss_bytes.filter(|&b| b > 0));
    columns.extend([
        (
            field("node_id", CellType::U32, true),
            Arc::new(nodes) as ArrayRef,
        ),
        (
            field("first_seen_ns", CellType::I64, true),
            ns(|e| e.time_ns),
        ),
        (field("probed", CellType::Bool, true), Arc::new(probed)),
        (
            field("handshake_rtt_ns", CellType::I64, true),
            ns(|e| e.handshake_rtt_ns),
        ),
        (
            field("mss_bytes", CellType::U32, true),
            Arc::new(segments.collect::<UInt32Array>()),
        ),
    ]);
    table(columns)
}

/// Returns the word that JSON has for a value.
fn word(value: &impl serde::Serialize) -> Option<String> {
    let value = serde_json::to_value(value).ok()?;
    value.as_str().map(str::to_owned)
}

/// Returns a table of the flows of some links over their spans, with the estimates of each.
pub(crate) fn estimated(links: &[Estimated], flows: &Flows) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<_> = links
        .iter()
        .flat_map(|l| l.estimate.flows.iter().map(move |f| (l, f)))
        .collect();
    let ids: Vec<u64> = rows.iter().map(|(_, f)| f.flow).collect();
    let mut columns = keys(&ids, flows);
    macro_rules! add {
        ($($name:literal $type:ident $array:ident |$l:ident, $f:ident| $value:expr;)*) => {$({
            let values = rows.iter().map(|($l, $f)| $value);
            let array: ArrayRef = Arc::new(values.collect::<$array>());
            columns.push((field($name, CellType::$type, true), array));
        })*};
    }
    let count = |n: u64| i64::try_from(n).ok();
    add! {
        "phase" Text StringArray |l, _f| l.phase.clone();
        "node_id" U32 UInt32Array |l, _f| Some(l.id.node_id);
        "egress_port" U32 UInt32Array |l, _f| l.id.known_port();
        "queue" U32 UInt32Array |l, _f| Some(l.id.queue);
        "class" Text StringArray |_l, f| word(&f.class);
        "confidence" F64 Float64Array |_l, f| Some(f.confidence);
        "p_lbp" F64 Float64Array |_l, f| Some(f.p_lbp);
        "why" Text StringArray |_l, f| Some(f.why.clone());
        "evidence" Text StringArray |_l, f| word(&f.evidence);
        "rate_bps" F64 Float64Array |_l, f| Some(f.rate_bps);
        "packets" I64 Int64Array |_l, f| count(f.packets);
        "drops" I64 Int64Array |_l, f| f.drops.and_then(count);
        "active_fraction" F64 Float64Array |_l, f| Some(f.active_fraction);
        "cwnd_segments" U32 UInt32Array |_l, f| f.cwnd;
        "srtt_ms" F64 Float64Array |_l, f| f.srtt_ms;
        "base_rtt_ms" F64 Float64Array |_l, f| f.base_rtt_ms;
        "congestion_control" Text StringArray |_l, f| word(&f.congestion_control);
        "beta" F64 Float64Array |_l, f| f.beta;
        "reductions_local" U32 UInt32Array |_l, f| Some(f.reductions_local);
        "reductions_remote" U32 UInt32Array |_l, f| Some(f.reductions_remote);
    }
    table(columns)
}
