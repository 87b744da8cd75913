// SPDX-License-Identifier: Apache-2.0
//! Super-frames through real interfaces, compared with the kernel's own segmentation.
//! Needs root.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use crate::packets;
use crate::veth;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use packets::{Random, super_frame};
use tidemark_switch::data_plane;
use tidemark_switch::io::afpacket::{Arrived, Interface};
use traffic_manager::PortConfig;
use traffic_manager::super_frame::{Cutter, Gso, VnetHeader};
use veth::{Host, add_veth, in_namespace, offloads_off};

fn cut(frame: Vec<u8>, vnet: &VnetHeader) -> Vec<Vec<u8>> {
    let mut cutter = Cutter::new(frame, vnet, 1518).map_err(|e| e.0).unwrap();
    all(&mut cutter)
}

fn all(cutter: &mut Cutter) -> Vec<Vec<u8>> {
    let mut segments = Vec::new();
    let mut out = Vec::new();
    while cutter.next_into(&mut out) {
        segments.push(out.clone());
    }
    segments
}

/// Number of super-frames; set `TIDEMARK_SUPER_FRAMES=100000` for a hundred thousand.
fn count() -> u64 {
    std::env::var("TIDEMARK_SUPER_FRAMES").map_or(3_000, |n| n.parse().expect("a number"))
}

#[test]
fn segments_are_those_of_the_kernel() {
    in_namespace(|| {
        add_veth("p1", "h1");
        // The kernel cuts super-frames that this device cannot take whole.
        offloads_off("h1");
        let (from, to) = (Host::open("h1"), Host::open("p1"));
        from.use_vnet();
        let mut r = Random(1);
        for n in 0..count() {
            let (frame, vnet) = super_frame(&mut r, n as u16);
            from.send_as(&frame, &vnet);
            for (i, ours) in cut(frame, &vnet).iter().enumerate() {
                let kernels = to.receive().expect("a segment of the kernel");
                assert!(
                    kernels == *ours,
                    "super-frame {n}, segment {i}, {vnet:?}\nkernel {:02x?}\nours   {:02x?}",
                    &kernels[..90.min(kernels.len())],
                    &ours[..90.min(ours.len())]
                );
            }
        }
    });
}

/// Takes the port's next frame, cut into segments.
fn next(port: &mut Interface) -> Vec<Vec<u8>> {
    let deadline = Instant::now() + Duration::from_secs(5);
    while port.peek().is_none() {
        assert!(Instant::now() < deadline, "nothing received");
        std::thread::yield_now();
    }
    let mut segments = Vec::new();
    port.take(|arrived| match arrived {
        Arrived::Frame(f) => segments.push(f.to_vec()),
        Arrived::SuperFrame(mut c) => segments = all(&mut c),
    });
    segments
}

#[test]
fn super_frames_pass_the_ring_whole() {
    in_namespace(|| {
        add_veth("p1", "h1");
        let mut port = Interface::open("p1").unwrap();
        let host = Host::open("h1");
        host.use_vnet();
        let mut r = Random(2);
        let mut segments = 0;
        // Short and long super-frames, and single frames between them, in order.
        for n in 0..300 {
            let (frame, vnet) = super_frame(&mut r, n);
            host.send_as(&frame, &vnet);
            let single = common::tcp(1, 2, u32::from(n), 200);
            host.send_as(&single, &VnetHeader::NONE);
            let got = next(&mut port);
            segments += got.len() as u64;
            assert!(got == cut(frame, &vnet), "super-frame {n}");
            assert!(next(&mut port) == [single], "single frame {n}");
        }
        let s = &port.stats;
        assert_eq!((s.rx_super_frames, s.rx_packets), (300, segments + 300));
        assert_eq!((s.rx_dropped, s.rx_oversize), (0, 0));
    });
}

#[test]
fn each_segment_is_reported_and_leaves_merged_or_alone() {
    for merge in [true, false] {
        in_namespace(move || {
            let mut ports = BTreeMap::new();
            for (n, p, h) in [
                (1, "p1", "h1"),
                (2, "p2", "h2"),
                (common::REPORT_PORT, "p9", "h9"),
            ] {
                add_veth(p, h);
                let mut i = Interface::open(p).unwrap();
                i.merge = merge;
                ports.insert(n, i);
            }
            let [h1, h2, h9] = ["h1", "h2", "h9"].map(Host::open);
            for host in [&h1, &h2, &h9] {
                host.use_vnet();
            }
            let mut s = common::tidemark();
            // A long delay and no rate: all segments leave at one instant.
            s.configure(
                2,
                PortConfig {
                    delay_ns: 20_000_000,
                    ..PortConfig::default()
                },
            );
            let (handle, thread) =
                data_plane::start(s, ports, None, data_plane::DEFAULT_COALESCE_NS).unwrap();
            let (frame, vnet) = common::bulk(40, 1460);
            h1.send_as(&frame, &vnet);
            let want = cut(frame, &vnet);
            for (host, name) in [(&h2, "segments"), (&h9, "reports")] {
                let (mut got, mut messages) = (Vec::new(), 0);
                while got.len() < 40 {
                    let (vnet, frame) = host.receive_as().expect(name);
                    messages += 1;
                    match vnet.gso {
                        Gso::None => got.push(frame),
                        _ => got.extend(cut(frame, &vnet)),
                    }
                }
                assert_eq!(got.len(), 40, "{name}");
                if name == "segments" {
                    assert!(got == want, "each as it was cut");
                } else {
                    assert!(got.iter().all(|r| r.len() == 134), "{name}");
                }
                if merge {
                    assert!(messages <= 4, "{name} in {messages} frames");
                } else {
                    assert_eq!(messages, 40, "{name}");
                }
            }
            handle.stop();
            thread.join().unwrap();
        });
    }
}

#[test]
fn an_interface_without_segmentation_gets_segments() {
    in_namespace(|| {
        add_veth("p1", "h1");
        offloads_off("p1");
        let mut port = Interface::open("p1").unwrap();
        let host = Host::open("h1");
        let (frame, vnet) = common::bulk(40, 1460);
        for round in 1..=2 {
            for segment in cut(frame.clone(), &vnet) {
                port.send(segment);
            }
            port.flush();
            for want in cut(frame.clone(), &vnet) {
                assert!(host.receive().expect("a segment") == want);
            }
            assert_eq!(
                (port.stats.tx_packets, port.stats.tx_errors),
                (40 * round, 0)
            );
        }
        assert_eq!(port.stats.tx_super_frames, 0);
    });
}
