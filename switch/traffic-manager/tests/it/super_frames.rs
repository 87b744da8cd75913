// SPDX-License-Identifier: Apache-2.0
//! Super-frames on the input line.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Out, echo};
use traffic_manager::super_frame::{Cutter, Gso, VnetHeader};
use traffic_manager::{PortConfig, Switch};

const SEGMENT_BYTES: usize = 1000;
const HEADER_BYTES: usize = 42;
/// Bytes on the wire, with preamble, FCS and gap.
const WIRE_BYTES: u64 = (SEGMENT_BYTES + HEADER_BYTES) as u64 + 24;

/// A super-frame of `segments` UDP datagrams.
fn super_frame(segments: usize) -> Cutter {
    let payload = segments * SEGMENT_BYTES;
    let mut f = vec![2; 12];
    f.extend([8, 0, 0x45, 0]);
    f.extend((28 + payload as u16).to_be_bytes());
    f.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    f.extend([0x12, 0x34, 0, 80]);
    f.extend((8 + payload as u16).to_be_bytes());
    f.extend([0, 0]);
    f.extend((0..payload).map(|i| (i / SEGMENT_BYTES) as u8));
    let vnet = VnetHeader {
        needs_checksum: true,
        gso: Gso::Udp,
        segment_bytes: SEGMENT_BYTES as u16,
        checksum_start: 34,
        checksum_offset: 6,
        ..VnetHeader::NONE
    };
    Cutter::new(f, &vnet, 1514).unwrap()
}

fn segments(n: usize) -> Vec<Vec<u8>> {
    let mut c = super_frame(n);
    let mut out = Vec::new();
    let mut frame = Vec::new();
    while c.next_into(&mut frame) {
        out.push(frame.clone());
    }
    out
}

/// A switch; its slowest port does not affect the rate of the lines.
fn switch(in_rate_bps: Option<u64>) -> Switch {
    let mut s = echo();
    let rate = |rate_bps| PortConfig {
        rate_bps,
        depth_packets: 0,
        in_rate_bps,
        ..PortConfig::default()
    };
    s.configure(1, rate(100_000_000));
    s.configure(2, rate(1_000_000));
    s
}

#[test]
fn segments_come_at_ten_times_the_fastest_port() {
    let mut s = switch(None);
    let mut out = Out::default();
    s.receive_super_frame(2, super_frame(4), 1_000);
    let gap = WIRE_BYTES * 8;
    for n in 0..4 {
        s.run_until(1_000 + n * gap, &mut out);
        assert_eq!(s.stats().received, n + 1);
        s.run_until(999 + (n + 1) * gap, &mut out);
        assert_eq!(s.stats().received, n + 1, "not before its time");
    }
    s.run_until(10_000_000, &mut out);
    assert!(out.frames() == segments(4));
}

#[test]
fn one_by_one_or_as_a_super_frame_is_the_same() {
    for in_rate_bps in [Some(0), Some(200_000_000)] {
        let runs = [false, true].map(|whole| {
            let mut s = switch(in_rate_bps);
            let mut out = Out::default();
            for at in [5_000, 20_000] {
                if whole {
                    s.receive_super_frame(2, super_frame(5), at);
                } else {
                    segments(5).iter().for_each(|f| s.receive(2, f, at));
                }
                s.run_until(at + 10_000, &mut out);
            }
            s.run_until(100_000_000, &mut out);
            out.0
        });
        assert_eq!(runs[0].len(), 10);
        assert!(runs[0] == runs[1], "{in_rate_bps:?}");
    }
}

#[test]
fn nothing_overtakes_what_waits_on_its_line() {
    let mut s = switch(None);
    let mut out = Out::default();
    s.receive_super_frame(2, super_frame(3), 0);
    s.run_until(10, &mut out);
    s.receive(2, &[9; 60], 10);
    // A different line is unaffected.
    s.receive(1, &[8; 60], 10);
    s.run_until(1_000_000, &mut out);
    // The last byte of a segment is its number.
    let last: Vec<u8> = out
        .0
        .iter()
        .filter_map(|(_, f, _)| f.last().copied())
        .collect();
    assert_eq!(last, [0, 8, 1, 2, 9]);
}

#[test]
fn what_waits_is_bounded() {
    // The usual rate is only an assumption: beyond some bytes the first frames enter early.
    let mut s = switch(None);
    for _ in 0..10 {
        s.receive_super_frame(2, super_frame(60), 0);
    }
    let port = s.ports().find(|p| p.0 == 2).unwrap().1;
    assert!(port.line_waiting_bytes() <= 256 << 10);
    assert_eq!(port.line_early_packets(), s.stats().received);
    assert_eq!(port.line_dropped_packets(), 0);
    let mut out = Out::default();
    s.run_until(1_000_000_000, &mut out);
    assert_eq!((s.stats().received, out.frames().len()), (600, 600));

    // A stated rate holds: beyond some bytes, frames are dropped.
    let mut s = switch(Some(1_000_000));
    for _ in 0..300 {
        s.receive_super_frame(2, super_frame(60), 0);
    }
    let port = s.ports().find(|p| p.0 == 2).unwrap().1;
    assert_eq!(port.line_early_packets(), 0);
    let dropped = port.line_dropped_packets();
    assert!(dropped > 0 && dropped.is_multiple_of(60));
    s.run_until(1_000_000_000_000, &mut out);
    assert_eq!(s.stats().received + dropped, 300 * 60);
}
