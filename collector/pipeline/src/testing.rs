// SPDX-License-Identifier: Apache-2.0
//! Reports and samples made up for tests.

use crate::rows::Sink;
use crate::{Config, NodeConfig, Pipeline, PortConfig};
use int_report::{FlowKey, Inner, InnerKind, Report};
use std::net::{IpAddr, Ipv4Addr};
use tcp_probe::{Event, Sample};

pub(crate) const NODE: u32 = 10;
pub(crate) const PORT: u32 = 1;
pub(crate) const MSS: u32 = 1000;
pub(crate) const MS: u64 = 1_000_000;

/// A packet as the tests think of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub src: u8,
    pub flags: u8,
    pub seq: u32,
    pub payload: u32,
    pub ingress_ns: u64,
    /// `None` = dropped.
    pub egress_ns: Option<u64>,
    pub occupancy: u32,
    pub node: u32,
}

impl Default for Packet {
    fn default() -> Self {
        Self {
            src: 1,
            flags: 0x10,
            seq: 0,
            payload: MSS,
            ingress_ns: 0,
            egress_ns: Some(0),
            occupancy: 0,
            node: NODE,
        }
    }
}

pub(crate) fn key(src: u8) -> FlowKey {
    FlowKey {
        src: IpAddr::V4(Ipv4Addr::new(10, 0, 0, src)),
        dst: IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)),
        src_port: 40_000,
        dst_port: 5001,
        protocol: 6,
    }
}

pub(crate) fn headers(p: &Packet) -> [u8; 40] {
    let mut b = [0u8; 40];
    b[0] = 0x45;
    b[2..4].copy_from_slice(&((40 + p.payload) as u16).to_be_bytes());
    b[6] = 0x40;
    b[8] = 63;
    b[9] = 6;
    b[12..16].copy_from_slice(&[10, 0, 0, p.src]);
    b[16..20].copy_from_slice(&[10, 0, 1, 1]);
    b[20..22].copy_from_slice(&40_000u16.to_be_bytes());
    b[22..24].copy_from_slice(&5001u16.to_be_bytes());
    b[24..28].copy_from_slice(&p.seq.to_be_bytes());
    b[32] = 0x50;
    b[33] = p.flags;
    b
}

/// Numbers and pushes reports.
pub(crate) struct Feeder {
    pub sequence: u32,
}

impl Feeder {
    pub(crate) fn push<S: Sink>(&mut self, pipeline: &mut Pipeline<S>, p: Packet, rx_ns: u64) {
        let bytes = headers(&p);
        let report = Report {
            version: 2,
            node_id: p.node,
            hw_id: 0,
            sequence: self.sequence & 0x3f_ffff,
            sequence_bits: 22,
            dropped: p.egress_ns.is_none(),
            tracked: true,
            ingress_port: Some(2),
            egress_port: Some(PORT),
            queue_id: Some(0),
            queue_occupancy: Some(p.occupancy),
            ingress_ts: Some(p.ingress_ns),
            egress_ts: p.egress_ns,
            drop_reason: p.egress_ns.is_none().then_some(71),
            limit: Some(50_000),
            inner: Inner::new(&bytes, InnerKind::Ipv4),
            first_in_datagram: true,
            ..Report::default()
        };
        self.sequence = self.sequence.wrapping_add(1);
        pipeline.push_report(IpAddr::V4(Ipv4Addr::LOCALHOST), &report, rx_ns);
    }
}

pub(crate) fn sample(src: u8, time_ns: u64, snd_nxt: u32, snd_una: u32, cwnd: u32) -> Event {
    Event::Probe(Sample {
        time_ns,
        flow: key(src),
        data_len: 0,
        snd_nxt,
        snd_una,
        snd_cwnd: cwnd,
        ssthresh: 0x7fff_ffff,
        snd_wnd: 1 << 20,
        srtt_us: 20_000,
        rcv_wnd: 1 << 16,
        sock_cookie: u64::from(src),
    })
}

pub(crate) fn config() -> Config {
    let mut node = NodeConfig::default();
    node.ports.insert(
        PORT,
        PortConfig {
            name: String::new(),
            capacity_bps: 100_000_000,
            wire_overhead_bytes: 38,
            queue_overhead_bytes: 14,
        },
    );
    Config {
        nodes: [(NODE, node.clone()), (11, node)].into(),
        local_host: Some("a".into()),
        ..Config::default()
    }
}
