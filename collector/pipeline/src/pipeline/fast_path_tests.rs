// SPDX-License-Identifier: Apache-2.0
//! Compares the fast path, datagrams pushed together (staged, prefetched, read at fixed places),
//! with its plain form, the same reports pushed one by one.

use super::*;
use crate::VecSink;
use crate::testing::{MS, NODE, config, key, sample};
use int_report::encode::{encode, postcard};
use int_report::{Inner, InnerKind, Report};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

const EXPORTER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const MSS: u32 = 1448;

/// Fates of a packet and its report.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Forwarded,
    Dropped,
    /// Sent again, this many segments back.
    Again(u32),
    /// The next segment comes first.
    Early,
    /// Its report is lost.
    Unreported,
    /// Its report comes twice.
    Twice,
    /// It shares the datagram with another report.
    Coalesced,
    /// IPv6, with an Ethernet header, or cut.
    Other(u8),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Forwarded),
        1 => Just(Fate::Dropped),
        1 => (1u32..6).prop_map(Fate::Again),
        1 => Just(Fate::Early),
        1 => Just(Fate::Unreported),
        1 => Just(Fate::Twice),
        1 => Just(Fate::Coalesced),
        1 => (0u8..3).prop_map(Fate::Other),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Step {
    flow: u8,
    fate: Fate,
    delay_ns: u64,
    /// Whether the waiting datagrams are pushed before this one.
    flush: bool,
    /// If set, a sample of the flow comes with this many segments in flight.
    acked: Option<u32>,
}

fn step() -> impl Strategy<Value = Step> {
    (
        0u8..5,
        fate(),
        0u64..5 * MS,
        prop::bool::weighted(0.1),
        prop::option::weighted(0.4, 0u32..8),
    )
        .prop_map(|(flow, fate, delay_ns, flush, acked)| Step {
            flow,
            fate,
            delay_ns,
            flush,
            acked,
        })
}

fn ipv4(flow: u8, seq: u32) -> Vec<u8> {
    let mut b = vec![0x45, 0, 5, 0xdc, 0, 0, 0x40, 0, 63, 6, 0, 0];
    b.extend([10, 0, 0, flow, 10, 0, 1, 1, 0x9c, 0x40, 0x13, 0x89]);
    b.extend(seq.to_be_bytes());
    b.extend([0, 0, 0, 1, 0x80, 0x10, 0x20, 0, 0, 0, 0, 0]);
    b
}

fn other(which: u8, flow: u8, seq: u32) -> (Vec<u8>, InnerKind) {
    let packet = ipv4(flow, seq);
    match which {
        0 => {
            let mut b = vec![0x60, 0, 0, 0, 5, 0xc8, 6, 63];
            b.extend([0xfd; 15]);
            b.push(flow);
            b.extend([0xfc; 16]);
            b.extend(packet.get(20..).unwrap_or_default());
            (b, InnerKind::Ipv6)
        }
        1 => {
            let mut b = vec![0; 12];
            b.extend([8, 0]);
            b.extend(packet);
            (b, InnerKind::Ethernet)
        }
        _ => (packet[..30].to_vec(), InnerKind::Ipv4),
    }
}

/// Sequence numbers of the flows, and number and time of the last report.
struct Traffic {
    next: [u32; 5],
    number: u32,
    time_ns: u64,
}

impl Traffic {
    /// The datagrams of a step, with the times of their reception.
    fn datagrams(&mut self, s: Step) -> Vec<(u64, Vec<u8>)> {
        self.time_ns += 100_000;
        let next = &mut self.next[usize::from(s.flow)];
        let seq = match s.fate {
            Fate::Again(back) => next.wrapping_sub(back * MSS),
            Fate::Early => next.wrapping_add(MSS),
            _ => *next,
        };
        if !matches!(s.fate, Fate::Again(_) | Fate::Early) {
            *next = next.wrapping_add(MSS);
        }
        let (packet, kind) = match s.fate {
            Fate::Other(which) => other(which, s.flow, seq),
            _ => (ipv4(s.flow, seq), InnerKind::Ipv4),
        };
        self.number += 1;
        let dropped = matches!(s.fate, Fate::Dropped);
        let egress_ns = self.time_ns + s.delay_ns;
        let report = Report {
            dropped,
            ingress_ts: Some(self.time_ns),
            egress_ts: (!dropped).then_some(egress_ns),
            drop_reason: dropped.then_some(71),
            inner: Inner::new(&packet, kind),
            ..postcard(NODE, self.number, (2, 1), &packet)
        };
        let second = Report {
            first_in_datagram: false,
            ..report
        };
        let count = if matches!(s.fate, Fate::Coalesced) {
            2
        } else {
            1
        };
        let bytes = encode(&[report, second][..count]).unwrap();
        let rx_ns = if dropped { self.time_ns } else { egress_ns } + 30_000;
        let times = match s.fate {
            Fate::Unreported => 0,
            Fate::Twice => 2,
            _ => 1,
        };
        vec![(rx_ns, bytes); times]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn together_or_one_by_one(steps in prop::collection::vec(step(), 1..400)) {
        let new = || Pipeline::new(config(), VecSink::default()).unwrap();
        let (mut together, mut single) = (new(), new());
        let mut traffic = Traffic {
            next: [1, u32::MAX - 20_000, 1 << 31, 7, 9],
            number: 0x3f_ff00,
            time_ns: 1000 * MS,
        };
        let mut waiting: Vec<(u64, Vec<u8>)> = Vec::new();
        for s in steps {
            if s.flush {
                push(&mut together, &mut single, &mut waiting);
            }
            waiting.extend(traffic.datagrams(s));
            if let Some(segments) = s.acked {
                push(&mut together, &mut single, &mut waiting);
                let nxt = traffic.next[usize::from(s.flow)];
                let event = sample(s.flow, traffic.time_ns, nxt, nxt.wrapping_sub(segments * MSS), 10 + segments);
                together.push_event("a", event);
                single.push_event("a", event);
            }
        }
        push(&mut together, &mut single, &mut waiting);
        together.finish();
        single.finish();
        prop_assert_eq!(together.stats(), single.stats());
        let (a, b) = (together.into_sink(), single.into_sink());
        prop_assert_eq!(a.postcards, b.postcards);
        prop_assert_eq!(a.probes, b.probes);
        prop_assert_eq!(a.events, b.events);
        prop_assert_eq!(a.updates, b.updates);
    }
}

fn push(
    together: &mut Pipeline<VecSink>,
    single: &mut Pipeline<VecSink>,
    waiting: &mut Vec<(u64, Vec<u8>)>,
) {
    together.push_datagrams(
        waiting.iter().map(|(rx_ns, payload)| Datagram {
            exporter: EXPORTER,
            rx_ns: *rx_ns,
            payload,
        }),
        |_, e| panic!("{e}"),
    );
    for (rx_ns, payload) in waiting.drain(..) {
        int_report::decode(&payload, |r| single.push_report(EXPORTER, r, rx_ns)).unwrap();
    }
}

#[test]
fn keys_of_both_ways_are_the_same() {
    let packet = ipv4(3, 1);
    let bytes = encode(&[postcard(NODE, 1, (2, 1), &packet)]).unwrap();
    let fast = int_report::fast_path(&bytes).unwrap();
    assert_eq!(
        crate::flow::PackedKey::of_fast_path(&fast),
        crate::flow::PackedKey::of(&key(3))
    );
}
