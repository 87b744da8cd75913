// SPDX-License-Identifier: Apache-2.0
//! The three tables, column by column as in `deploy/clickhouse/schema.sql`.

use crate::column::{Column, columns};
use std::sync::Arc;
use tidemark_capture::FlatEvent;
use tidemark_pipeline::{PostcardRow, ProbeRow};

/// Rows of one table.
pub trait Table: Sized + Send + 'static {
    const NAME: &'static str;
    /// Beside capture, batch, stored_on and unix_minus_node_ns.
    const COLUMNS: &'static [Column<Self>];
    fn order(&self) -> u64;
    /// The clock that the row's time is of, if it has one.
    fn node_id(&self) -> Option<u32>;
}

/// A sample with the name of its host.
#[derive(Clone, Debug)]
pub struct Probe {
    pub row: ProbeRow,
    pub host: Arc<str>,
}

impl Table for PostcardRow {
    const NAME: &'static str = "postcards";
    const COLUMNS: &'static [Column<Self>] = columns! { PostcardRow;
        order num u64 |r| r.order;
        rx_ns num u64 |r| r.rx_ns;
        node_id num u32 |r| r.node_id;
        hw_id num u8 |r| r.hw_id;
        report_sequence num u32 |r| r.sequence;
        flow_id num u64 |r| r.flow_id;
        ingress_port num u32 |r| r.ingress_port;
        egress_port num u32 |r| r.port;
        queue num u8 |r| r.queue;
        ingress_ns num u64 |r| r.ingress_ns;
        egress_ns opt u64 |r| (!r.dropped).then_some(r.egress_ns);
        occupancy_bytes num u64 |r| r.occupancy_bytes;
        limit_bytes num u64 |r| r.limit_bytes;
        ip_bytes num u32 |r| r.ip_bytes;
        wire_overhead_bytes num u32 |r| r.wire_overhead_bytes;
        payload_bytes num u32 |r| r.payload_bytes;
        tcp_seq num u32 |r| r.tcp_seq;
        tcp_ack num u32 |r| r.tcp_ack;
        tcp_flags num u8 |r| r.tcp_flags;
        ecn num u8 |r| r.ecn;
        ce_marked num bool |r| r.ce_marked;
        dropped num bool |r| r.dropped;
        drop_reason num u8 |r| r.drop_reason;
        sampling_shift num u8 |r| r.sampling_shift;
        retransmitted num bool |r| r.retransmitted;
        lost_before num i32 |r| r.lost_before;
        join num u8 |r| r.join.code();
        cwnd_segments opt u32 |r| r.join.matched().then_some(r.cwnd);
        ssthresh_segments opt u32 |r| r.join.matched().then_some(r.ssthresh);
        srtt_us opt u32 |r| r.join.matched().then_some(r.srtt_us);
    };

    fn order(&self) -> u64 {
        self.order
    }

    fn node_id(&self) -> Option<u32> {
        Some(self.node_id)
    }
}

impl Table for Probe {
    const NAME: &'static str = "tcp_probe";
    const COLUMNS: &'static [Column<Self>] = columns! { Probe;
        order num u64 |r| r.row.order;
        host text str |r| &r.host;
        host_ns num u64 |r| r.row.host_ns;
        node_id num u32 |r| r.row.node_id;
        egress_port num u32 |r| r.row.port;
        time_ns num u64 |r| r.row.time_ns;
        flow_id num u64 |r| r.row.flow_id;
        data_len_bytes num u16 |r| r.row.data_len_bytes;
        snd_nxt num u32 |r| r.row.snd_nxt;
        snd_una num u32 |r| r.row.snd_una;
        cwnd_segments num u32 |r| r.row.cwnd;
        ssthresh_segments num u32 |r| r.row.ssthresh;
        snd_wnd_bytes num u32 |r| r.row.snd_wnd_bytes;
        rcv_wnd_bytes num u32 |r| r.row.rcv_wnd_bytes;
        srtt_us num u32 |r| r.row.srtt_us;
        base_rtt_us num u32 |r| r.row.base_rtt_us;
        acked_bytes num u32 |r| r.row.acked_bytes;
    };

    fn order(&self) -> u64 {
        self.row.order
    }

    fn node_id(&self) -> Option<u32> {
        Some(self.row.node_id)
    }
}

impl Table for FlatEvent {
    const NAME: &'static str = "events";
    const COLUMNS: &'static [Column<Self>] = columns! { FlatEvent;
        order num u64 |r| r.order;
        kind text str |r| &r.kind;
        node_id opt u32 |r| r.node_id;
        time_ns opt u64 |r| r.time_ns;
        flow_id opt u64 |r| r.flow_id;
        host text str |r| r.host.as_deref().unwrap_or_default();
        host_index opt u16 |r| r.host_index;
        host_ns opt u64 |r| r.host_ns;
        congestion_state opt u8 |r| r.congestion_state;
        src text str |r| r.src.as_deref().unwrap_or_default();
        dst text str |r| r.dst.as_deref().unwrap_or_default();
        src_port opt u16 |r| r.src_port;
        dst_port opt u16 |r| r.dst_port;
        protocol opt u8 |r| r.protocol;
        probed opt bool |r| r.probed;
        handshake_rtt_ns opt u64 |r| r.handshake_rtt_ns;
        mss_bytes opt u32 |r| r.mss_bytes;
        clock_offset_ns opt i64 |r| r.clock_offset_ns;
        clock_drift_ppb opt f64 |r| r.clock_drift_ppb;
        clock_reference_ns opt u64 |r| r.clock_reference_ns;
        clock_matched_pairs opt u64 |r| r.clock_matched_pairs;
        unix_ns_at_reference opt i64 |r| r.unix_ns_at_reference;
    };

    fn order(&self) -> u64 {
        self.order
    }

    fn node_id(&self) -> Option<u32> {
        self.node_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of a table in the shipped schema, in order, with types.
    fn in_schema(table: &str) -> Vec<(String, String)> {
        let create = format!("CREATE TABLE IF NOT EXISTS {table}\n(");
        let statement = crate::schema::statements()
            .into_iter()
            .find(|s| s.starts_with(&create))
            .unwrap();
        statement[create.len()..]
            .lines()
            .filter(|l| l.contains(" CODEC("))
            .map(|l| {
                let l = l.trim();
                let (name, rest) = l.split_once(' ').unwrap();
                let kind = rest.split(" CODEC(").next().unwrap();
                (name.to_owned(), kind.to_owned())
            })
            .collect()
    }

    fn check<T: Table>() {
        let mut sent: Vec<(String, String)> = [
            ("capture", "LowCardinality(String)"),
            ("batch", "UInt64"),
            ("stored_on", "Date"),
            ("unix_minus_node_ns", "Int64"),
        ]
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .to_vec();
        sent.extend(
            T::COLUMNS
                .iter()
                .map(|c| (c.name.to_owned(), c.kind.to_owned())),
        );
        let stored: Vec<_> = in_schema(T::NAME)
            .into_iter()
            .map(|(n, k)| {
                let text = n != "capture" && k == "LowCardinality(String)";
                (n, if text { "String".to_owned() } else { k })
            })
            .collect();
        assert_eq!(sent, stored, "{}", T::NAME);
    }

    #[test]
    fn the_schema_has_these_columns() {
        check::<PostcardRow>();
        check::<Probe>();
        check::<FlatEvent>();
    }
}
