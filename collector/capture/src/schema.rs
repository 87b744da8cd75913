// SPDX-License-Identifier: Apache-2.0
//! The three tables. `docs/reference/capture-format.md` describes every column.

use crate::event::FlatEvent;
use crate::table::{Column, Stored, columns};
use std::sync::Arc;
use tidemark_pipeline::{Join, PostcardRow, ProbeRow};

impl Stored for PostcardRow {
    const TABLE: &'static str = "postcards";

    fn order(&self) -> u64 {
        self.order
    }

    fn columns() -> Vec<Column<Self>> {
        columns! { PostcardRow;
            "order" U64 Delta |r| Some(r.order), |w, v| w.order = v.unwrap_or(0);
            "rx_ns" U64 Delta |r| Some(r.rx_ns), |w, v| w.rx_ns = v.unwrap_or(0);
            "node_id" U32 Delta |r| Some(r.node_id), |w, v| w.node_id = v.unwrap_or(0);
            "hw_id" U8 Delta |r| Some(r.hw_id), |w, v| w.hw_id = v.unwrap_or(0);
            "report_sequence" U32 Delta |r| Some(r.sequence), |w, v| w.sequence = v.unwrap_or(0);
            "flow_id" U64 Dictionary |r| Some(r.flow_id), |w, v| w.flow_id = v.unwrap_or(0);
            "ingress_port" U32 Delta |r| Some(r.ingress_port), |w, v| w.ingress_port = v.unwrap_or(0);
            "egress_port" U32 Delta |r| Some(r.port), |w, v| w.port = v.unwrap_or(0);
            "queue" U8 Delta |r| Some(r.queue), |w, v| w.queue = v.unwrap_or(0);
            "ingress_ns" U64 Delta |r| Some(r.ingress_ns), |w, v| w.ingress_ns = v.unwrap_or(0);
            "egress_ns" U64 Delta ?null |r| (!r.dropped).then_some(r.egress_ns), |w, v| w.egress_ns = v.unwrap_or(0);
            "occupancy_bytes" U64 Delta |r| Some(r.occupancy_bytes), |w, v| w.occupancy_bytes = v.unwrap_or(0);
            "limit_bytes" U64 Delta |r| Some(r.limit_bytes), |w, v| w.limit_bytes = v.unwrap_or(0);
            "ip_bytes" U32 Dictionary |r| Some(r.ip_bytes), |w, v| w.ip_bytes = v.unwrap_or(0);
            "wire_overhead_bytes" U32 Delta |r| Some(r.wire_overhead_bytes), |w, v| w.wire_overhead_bytes = v.unwrap_or(0);
            "payload_bytes" U32 Dictionary |r| Some(r.payload_bytes), |w, v| w.payload_bytes = v.unwrap_or(0);
            "tcp_seq" U32 Delta |r| Some(r.tcp_seq), |w, v| w.tcp_seq = v.unwrap_or(0);
            "tcp_ack" U32 Dictionary |r| Some(r.tcp_ack), |w, v| w.tcp_ack = v.unwrap_or(0);
            "tcp_flags" U8 Dictionary |r| Some(r.tcp_flags), |w, v| w.tcp_flags = v.unwrap_or(0);
            "ecn" U8 Delta |r| Some(r.ecn), |w, v| w.ecn = v.unwrap_or(0);
            "ce_marked" Bool Plain |r| Some(r.ce_marked), |w, v| w.ce_marked = v.unwrap_or(false);
            "dropped" Bool Plain |r| Some(r.dropped), |w, v| w.dropped = v.unwrap_or(false);
            "drop_reason" U8 Delta |r| Some(r.drop_reason), |w, v| w.drop_reason = v.unwrap_or(0);
            "sampling_shift" U8 Delta |r| Some(r.sampling_shift), |w, v| w.sampling_shift = v.unwrap_or(0);
            "retransmitted" Bool Plain |r| Some(r.retransmitted), |w, v| w.retransmitted = v.unwrap_or(false);
            "lost_before" I32 Delta |r| Some(r.lost_before), |w, v| w.lost_before = v.unwrap_or(0);
            "join" U8 Delta |r| Some(r.join.code()), |w, v| w.join = Join::from_code(v.unwrap_or(0));
            "cwnd_segments" U32 Dictionary ?null |r| r.join.matched().then_some(r.cwnd), |w, v| w.cwnd = v.unwrap_or(0);
            "ssthresh_segments" U32 Dictionary ?null |r| r.join.matched().then_some(r.ssthresh), |w, v| w.ssthresh = v.unwrap_or(0);
            "srtt_us" U32 Dictionary ?null |r| r.join.matched().then_some(r.srtt_us), |w, v| w.srtt_us = v.unwrap_or(0);
        }
    }
}

/// A sample with the name of its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedProbe {
    pub row: ProbeRow,
    pub host: Arc<str>,
}

impl Stored for NamedProbe {
    const TABLE: &'static str = "tcp_probe";

    fn order(&self) -> u64 {
        self.row.order
    }

    fn columns() -> Vec<Column<Self>> {
        columns! { NamedProbe;
            "order" U64 Delta |r| Some(r.row.order), |w, v| w.row.order = v.unwrap_or(0);
            "host" Text Dictionary |r| Some(&*r.host), |w, v| w.host = v.unwrap_or_default();
            "host_ns" U64 Delta |r| Some(r.row.host_ns), |w, v| w.row.host_ns = v.unwrap_or(0);
            "node_id" U32 Delta |r| Some(r.row.node_id), |w, v| w.row.node_id = v.unwrap_or(0);
            "egress_port" U32 Delta |r| Some(r.row.port), |w, v| w.row.port = v.unwrap_or(0);
            "time_ns" U64 Delta |r| Some(r.row.time_ns), |w, v| w.row.time_ns = v.unwrap_or(0);
            "flow_id" U64 Dictionary |r| Some(r.row.flow_id), |w, v| w.row.flow_id = v.unwrap_or(0);
            "data_len_bytes" U16 Dictionary |r| Some(r.row.data_len_bytes), |w, v| w.row.data_len_bytes = v.unwrap_or(0);
            "snd_nxt" U32 Delta |r| Some(r.row.snd_nxt), |w, v| w.row.snd_nxt = v.unwrap_or(0);
            "snd_una" U32 Delta |r| Some(r.row.snd_una), |w, v| w.row.snd_una = v.unwrap_or(0);
            "cwnd_segments" U32 Dictionary |r| Some(r.row.cwnd), |w, v| w.row.cwnd = v.unwrap_or(0);
            "ssthresh_segments" U32 Dictionary |r| Some(r.row.ssthresh), |w, v| w.row.ssthresh = v.unwrap_or(0);
            "snd_wnd_bytes" U32 Dictionary |r| Some(r.row.snd_wnd_bytes), |w, v| w.row.snd_wnd_bytes = v.unwrap_or(0);
            "rcv_wnd_bytes" U32 Dictionary |r| Some(r.row.rcv_wnd_bytes), |w, v| w.row.rcv_wnd_bytes = v.unwrap_or(0);
            "srtt_us" U32 Dictionary |r| Some(r.row.srtt_us), |w, v| w.row.srtt_us = v.unwrap_or(0);
            "base_rtt_us" U32 Dictionary |r| Some(r.row.base_rtt_us), |w, v| w.row.base_rtt_us = v.unwrap_or(0);
            "acked_bytes" U32 Dictionary |r| Some(r.row.acked_bytes), |w, v| w.row.acked_bytes = v.unwrap_or(0);
        }
    }
}

fn text(word: Option<Arc<str>>) -> Option<String> {
    word.map(|w| w.to_string())
}

impl Stored for FlatEvent {
    const TABLE: &'static str = "events";

    fn order(&self) -> u64 {
        self.order
    }

    fn columns() -> Vec<Column<Self>> {
        columns! { FlatEvent;
            "order" U64 Delta |r| Some(r.order), |w, v| w.order = v.unwrap_or(0);
            "kind" Text Dictionary |r| Some(r.kind.as_str()), |w, v| w.kind = text(v).unwrap_or_default();
            "node_id" U32 Dictionary ?null |r| r.node_id, |w, v| w.node_id = v;
            "time_ns" U64 Delta ?null |r| r.time_ns, |w, v| w.time_ns = v;
            "flow_id" U64 Dictionary ?null |r| r.flow_id, |w, v| w.flow_id = v;
            "host" Text Dictionary ?null |r| r.host.as_deref(), |w, v| w.host = text(v);
            "host_index" U16 Dictionary ?null |r| r.host_index, |w, v| w.host_index = v;
            "host_ns" U64 Delta ?null |r| r.host_ns, |w, v| w.host_ns = v;
            "congestion_state" U8 Dictionary ?null |r| r.congestion_state, |w, v| w.congestion_state = v;
            "src" Text Dictionary ?null |r| r.src.as_deref(), |w, v| w.src = text(v);
            "dst" Text Dictionary ?null |r| r.dst.as_deref(), |w, v| w.dst = text(v);
            "src_port" U16 Dictionary ?null |r| r.src_port, |w, v| w.src_port = v;
            "dst_port" U16 Dictionary ?null |r| r.dst_port, |w, v| w.dst_port = v;
            "protocol" U8 Dictionary ?null |r| r.protocol, |w, v| w.protocol = v;
            "probed" Bool Plain ?null |r| r.probed, |w, v| w.probed = v;
            "handshake_rtt_ns" U64 Plain ?null |r| r.handshake_rtt_ns, |w, v| w.handshake_rtt_ns = v;
            "mss_bytes" U32 Dictionary ?null |r| r.mss_bytes, |w, v| w.mss_bytes = v;
            "clock_offset_ns" I64 Plain ?null |r| r.clock_offset_ns, |w, v| w.clock_offset_ns = v;
            "clock_drift_ppb" F64 Plain ?null |r| r.clock_drift_ppb, |w, v| w.clock_drift_ppb = v;
            "clock_reference_ns" U64 Plain ?null |r| r.clock_reference_ns, |w, v| w.clock_reference_ns = v;
            "clock_matched_pairs" U64 Plain ?null |r| r.clock_matched_pairs, |w, v| w.clock_matched_pairs = v;
            "unix_ns_at_reference" I64 Plain ?null |r| r.unix_ns_at_reference, |w, v| w.unix_ns_at_reference = v;
        }
    }
}
