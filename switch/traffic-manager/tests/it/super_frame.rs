// SPDX-License-Identifier: Apache-2.0
//! Cut super-frames can be merged, and then cut into the same segments again.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use traffic_manager::super_frame::{Cutter, Gso, Headers, Run, VnetHeader};

/// A TCP or UDP packet with arbitrary headers, to be cut.
#[derive(Debug, Clone)]
struct Packet {
    tags: usize,
    v6: bool,
    udp: bool,
    options: usize,
    flags: u8,
    identification: u16,
    sequence: u32,
    payload: Vec<u8>,
    segment_bytes: u16,
}

impl Packet {
    fn frame(&self) -> (Vec<u8>, VnetHeader) {
        let mut f = vec![2; 12];
        for _ in 0..self.tags {
            f.extend([0x81, 0, 0, 9]);
        }
        let transport = if self.udp { 8 } else { 20 + 4 * self.options };
        let bytes = transport + self.payload.len();
        let protocol = if self.udp { 17 } else { 6 };
        if self.v6 {
            f.extend([0x86, 0xdd, 0x60, 0, 0, 1]);
            f.extend((bytes as u16).to_be_bytes());
            f.extend([protocol, 64]);
            f.extend([1; 16]);
            f.extend([2; 16]);
        } else {
            f.extend([8, 0, 0x45, 0]);
            f.extend((20 + bytes as u16).to_be_bytes());
            f.extend(self.identification.to_be_bytes());
            f.extend([0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        let at = f.len();
        if self.udp {
            f.extend([0x12, 0x34, 0, 80]);
            f.extend((bytes as u16).to_be_bytes());
            f.extend([0, 0]);
        } else {
            f.extend([0x12, 0x34, 0, 80]);
            f.extend(self.sequence.to_be_bytes());
            f.extend([0, 0, 0, 9, ((5 + self.options) << 4) as u8, self.flags]);
            f.extend([1, 0, 0, 0, 0, 0]);
            f.extend(std::iter::repeat_n(1, 4 * self.options));
        }
        f.extend(&self.payload);
        let vnet = VnetHeader {
            needs_checksum: true,
            gso: match (self.udp, self.v6) {
                (true, _) => Gso::Udp,
                (_, true) => Gso::TcpV6,
                _ => Gso::TcpV4,
            },
            ecn: false,
            header_bytes: (at + transport) as u16,
            segment_bytes: self.segment_bytes,
            checksum_start: at as u16,
            checksum_offset: if self.udp { 6 } else { 16 },
        };
        (f, vnet)
    }
}

fn packets() -> impl Strategy<Value = Packet> {
    (
        (0..3usize, any::<bool>(), any::<bool>(), 0..11usize),
        (any::<u8>(), any::<u16>(), any::<u32>()),
        proptest::collection::vec(any::<u8>(), 1..6000),
        100..1400u16,
    )
        .prop_map(
            |(
                (tags, v6, udp, options),
                (flags, identification, sequence),
                payload,
                segment_bytes,
            )| {
                Packet {
                    tags,
                    v6,
                    udp,
                    options,
                    // No URG: the urgent pointer would be the same in every segment.
                    flags: flags & 0xdf | 0x10,
                    identification,
                    sequence,
                    payload,
                    segment_bytes,
                }
            },
        )
}

fn cut(frame: Vec<u8>, vnet: &VnetHeader) -> Vec<Vec<u8>> {
    let mut cutter = Cutter::new(frame, vnet, 1600).unwrap();
    let mut segments = Vec::new();
    let mut out = Vec::new();
    while cutter.next_into(&mut out) {
        assert!(out.len() <= 1600);
        segments.push(out.clone());
    }
    segments
}

/// Merges segments into super-frames; segments that cannot be merged stay alone.
fn merge(segments: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let mut groups = Vec::new();
    let mut at = 0;
    while let Some(first) = segments.get(at) {
        at += 1;
        let Some(mut run) = Run::start(first) else {
            groups.push(vec![first.clone()]);
            continue;
        };
        let mut payload = first[run.payload_at()..].to_vec();
        while let Some(range) = segments.get(at).and_then(|s| run.push(first, s)) {
            payload.extend(&segments[at][range]);
            at += 1;
        }
        if run.segments() == 1 {
            groups.push(vec![first.clone()]);
            continue;
        }
        let mut frame = Vec::new();
        let vnet = run.header(first, &mut frame);
        frame.extend(payload);
        assert_eq!(
            Headers::of(&frame).unwrap().packet_end(&frame),
            Some(frame.len())
        );
        groups.push(cut(frame, &vnet));
    }
    groups
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn merged_segments_are_cut_to_the_same(p in packets()) {
        let (frame, vnet) = p.frame();
        let segments = cut(frame, &vnet);
        prop_assert_eq!(segments.len(), p.payload.len().div_ceil(usize::from(p.segment_bytes)));
        let groups = merge(&segments);
        prop_assert_eq!(&groups.concat(), &segments);
        // Segments without flags of their own form as few super-frames as possible.
        if p.udp || p.flags & !0xc8 == 0x10 {
            prop_assert_eq!(groups.len(), segments.len().div_ceil(traffic_manager::super_frame::MAX_SEGMENTS));
        }
    }

    #[test]
    fn nothing_that_differs_is_merged(p in packets(), at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let (frame, vnet) = p.frame();
        let mut segments = cut(frame, &vnet);
        prop_assume!(segments.len() > 1);
        let at = at.index(segments[1].len());
        segments[1][at] ^= 1 << bit;
        prop_assert_eq!(merge(&segments).concat(), segments);
    }

    #[test]
    fn no_frame_panics(frame in proptest::collection::vec(any::<u8>(), 0..300), kind in 0..8u8, n in any::<u16>()) {
        let vnet = VnetHeader::read(&[1, kind, 0, 0, n as u8, (n >> 8) as u8, 34, 0, 16, 0]);
        if let Ok(mut c) = Cutter::new(frame.clone(), &vnet, 1514) {
            let mut out = Vec::new();
            while c.next_into(&mut out) {}
        }
        let _ = Run::start(&frame).and_then(|mut r| r.push(&frame, &frame));
        traffic_manager::super_frame::complete(&mut frame.clone());
    }
}
