// SPDX-License-Identifier: Apache-2.0
//! Traffic of many TCP flows through one port: its reports and the samples of
//! its senders.

use int_report::FlowKey;
use int_report::encode::{encode, postcard};
use std::net::IpAddr;
use tcp_probe::{Event, Sample};
use tidemark_pipeline::{Config, NodeConfig, PortConfig};

pub(crate) const NODE: u32 = 10;
/// One report of a switch with an inner packet of 40 bytes.
pub(crate) const REPORT_BYTES: usize = 92;
pub(crate) const MSS: u32 = 1448;
/// Time between packets: 1538 bytes at 10 Gb/s.
const SPACING_NS: u64 = 1230;
const RTT_NS: u64 = 10_000_000;
const START_NS: u64 = 1_000_000_000_000;

/// Packet `n` of the traffic.
#[derive(Clone, Copy)]
pub(crate) struct Packet {
    pub n: u64,
    pub flow: u32,
    /// Number of the packet within its flow.
    pub segment: u64,
    pub ingress_ns: u64,
    pub delay_ns: u64,
}

pub(crate) fn packet(n: u64, flows: u32) -> Packet {
    packet_at(n, flows, SPACING_NS)
}

pub(crate) fn packet_at(n: u64, flows: u32, spacing_ns: u64) -> Packet {
    let flows64 = u64::from(flows);
    let round = n / flows64;
    // Each round takes the flows in a shuffled order; 7919 is prime.
    let flow = ((n % flows64) * 7919 + 17) % flows64;
    // A sawtooth that falls slowly enough to keep the order of departures.
    let phase = n % 200_000;
    let level = phase.min(200_000 - phase);
    Packet {
        n,
        flow: flow as u32,
        segment: round,
        ingress_ns: START_NS + n * spacing_ns,
        delay_ns: 12_000 + level / 2,
    }
}

impl Packet {
    pub(crate) fn egress_ns(&self) -> u64 {
        self.ingress_ns + self.delay_ns
    }

    fn seq(&self) -> u32 {
        ((self.segment * u64::from(MSS)) as u32).wrapping_add(1)
    }
}

/// Returns the bytes that all reports share. The inner packet has 1500 bytes of IP, of which 20 are
/// its header and 32 the TCP header (with timestamps), so that segment follows segment: overlapping
/// ones would count as retransmissions and be joined by time.
pub(crate) fn template() -> Vec<u8> {
    let inner = [
        0x45, 0, 5, 0xdc, 0, 0, 0x40, 0, 0x3f, 6, 0, 0, 10, 0, 0, 1, 10, 1, 0, 2, 0x9c, 0x40, 0x13,
        0x89, 0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x10, 0x20, 0, 0, 0, 0, 0,
    ];
    let bytes = encode(&[postcard(NODE, 0, (2, 1), &inner)]).unwrap();
    assert_eq!(bytes.len(), REPORT_BYTES);
    bytes
}

/// Turns the template into the report of a packet.
pub(crate) fn patch(report: &mut [u8], p: &Packet) {
    let sequence = 2u32 << 28 | (p.n as u32 & 0x3f_ffff);
    report[..4].copy_from_slice(&sequence.to_be_bytes());
    let occupancy = (p.delay_ns * 10 / 8) as u32;
    report[24..28].copy_from_slice(&(occupancy & 0xff_ffff).to_be_bytes());
    report[28..36].copy_from_slice(&p.ingress_ns.to_be_bytes());
    report[36..44].copy_from_slice(&p.egress_ns().to_be_bytes());
    report[64..68].copy_from_slice(&source(p.flow).to_be_bytes());
    report[76..80].copy_from_slice(&p.seq().to_be_bytes());
}

/// Assigns a report to another part of the node, which has its own sequence numbers.
pub(crate) fn set_part(report: &mut [u8], part: u32) {
    let word = u32::from_be_bytes([report[0], report[1], report[2], report[3]]) | part << 22;
    report[..4].copy_from_slice(&word.to_be_bytes());
}

fn source(flow: u32) -> u32 {
    0x0a00_0001 + flow
}

pub(crate) fn key(flow: u32) -> FlowKey {
    FlowKey {
        src: IpAddr::from(source(flow).to_be_bytes()),
        dst: IpAddr::from([10, 1, 0, 2]),
        src_port: 40_000,
        dst_port: 5_001,
        protocol: 6,
    }
}

/// Returns the sample on the ACK of packet `p`, if the receiver acknowledges that packet: it
/// acknowledges every second packet of a flow.
pub(crate) fn sample(p: &Packet, flows: u32) -> Option<Event> {
    sample_at(p, flows, SPACING_NS, RTT_NS)
}

pub(crate) fn sample_at(p: &Packet, flows: u32, spacing_ns: u64, rtt_ns: u64) -> Option<Event> {
    if p.segment.is_multiple_of(2) {
        return None;
    }
    let time_ns = p.egress_ns() + rtt_ns;
    let sent = (time_ns - p.ingress_ns) / (spacing_ns * u64::from(flows));
    let una = (p.seq()).wrapping_add(MSS);
    Some(Event::Probe(Sample {
        time_ns,
        flow: key(p.flow),
        data_len: 0,
        snd_nxt: una.wrapping_add((sent * u64::from(MSS)) as u32),
        snd_una: una,
        snd_cwnd: 10 + (p.segment % 50) as u32,
        ssthresh: 0x7fff_ffff,
        snd_wnd: 1 << 20,
        srtt_us: 20_000 + (p.delay_ns / 1000) as u32,
        rcv_wnd: 65_535,
        sock_cookie: u64::from(p.flow),
    }))
}

/// The traffic in memory, in order of reception.
pub(crate) struct Recorded {
    pub reports: Vec<u8>,
    /// Reception time of each report.
    pub rx_ns: Vec<u64>,
    /// Samples in time order.
    pub samples: Vec<Event>,
}

pub(crate) fn recorded(flows: u32, reports: u64) -> Recorded {
    let mut bytes = template().repeat(reports as usize);
    let mut rx_ns = Vec::new();
    let mut samples = Vec::new();
    for (n, report) in (0..).zip(bytes.chunks_mut(REPORT_BYTES)) {
        let p = packet(n, flows);
        patch(report, &p);
        rx_ns.push(p.egress_ns() + 30_000);
        samples.extend(sample(&p, flows));
    }
    samples.sort_by_key(Event::time_ns);
    Recorded {
        reports: bytes,
        rx_ns,
        samples,
    }
}

pub(crate) fn config() -> Config {
    config_for(Config::default().max_flows)
}

/// Like `config`, but with room for `max_flows` flows.
pub(crate) fn config_for(max_flows: usize) -> Config {
    let mut node = NodeConfig::default();
    node.ports.insert(
        1,
        PortConfig {
            name: String::new(),
            capacity_bps: 10_000_000_000,
            wire_overhead_bytes: 38,
            queue_overhead_bytes: 14,
        },
    );
    Config {
        nodes: [(NODE, node)].into(),
        local_host: Some("local".into()),
        max_flows,
        ..Config::default()
    }
}
