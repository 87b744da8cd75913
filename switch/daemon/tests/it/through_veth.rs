// SPDX-License-Identifier: Apache-2.0
//! Frames through real interfaces. Needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use crate::veth;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tidemark_switch::data_plane;
use tidemark_switch::io::afpacket::{Arrived, Interface};
use tidemark_switch::io::netns;
use traffic_manager::PortConfig;
use traffic_manager::super_frame::Refusal;
use veth::{Host, add_veth, in_namespace, namespace_path};

fn open_ports() -> (BTreeMap<u32, Interface>, [Host; 3]) {
    let names = [
        (1, "p1", "h1"),
        (2, "p2", "h2"),
        (common::REPORT_PORT, "p9", "h9"),
    ];
    let mut ports = BTreeMap::new();
    for (n, p, h) in names {
        add_veth(p, h);
        // Interfaces of other namespaces are opened in this way.
        let mut i = netns::within(&namespace_path(), || Interface::open(p)).unwrap();
        // A raw host would see super-frames.
        i.merge = false;
        ports.insert(n, i);
    }
    (ports, ["h1", "h2", "h9"].map(Host::open))
}

#[test]
fn forwards_at_the_rate_and_reports_each_packet() {
    in_namespace(|| {
        let (ports, [h1, h2, h9]) = open_ports();
        let mut s = common::tidemark();
        s.configure(
            2,
            PortConfig {
                rate_bps: 100_000_000,
                delay_ns: 5_000_000,
                depth_packets: 1000,
                ..PortConfig::default()
            },
        );
        let (handle, thread) =
            data_plane::start(s, ports, None, data_plane::DEFAULT_COALESCE_NS).unwrap();
        const N: u32 = 200;
        let start = Instant::now();
        for i in 0..N {
            h1.send(&common::tcp(1, 2, i, 1514));
        }
        for i in 0..N {
            let f = h2.receive().expect("frame lost");
            assert_eq!(
                f,
                common::tcp(1, 2, i, 1514),
                "frame {i} in order and unchanged"
            );
        }
        // Never faster than the wire.
        assert!(start.elapsed() >= Duration::from_nanos(5_000_000 + u64::from(N) * 123_040));
        for i in 0..N {
            let r = h9.receive().expect("report lost");
            assert_eq!(r.len(), 134);
            let sequence = u32::from_be_bytes(r[42..46].try_into().unwrap()) & 0x3f_ffff;
            assert_eq!(sequence, i);
        }
        handle.stop();
        thread.join().unwrap();
    });
}

fn wait_for_frame(port: &Interface) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while port.peek().is_none() {
        assert!(Instant::now() < deadline, "nothing received");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn super_frames_that_cannot_be_cut_are_counted_and_not_passed_on() {
    in_namespace(|| {
        add_veth("p1", "h1");
        let mut port = Interface::open("p1").unwrap();
        let host = Host::open("h1");
        host.send_unsegmented(&common::tcp(1, 2, 1, 4434), 2000);
        wait_for_frame(&port);
        let mut handed = 0;
        port.take(|_| handed += 1);
        assert_eq!(
            (handed, *port.stats.refused(Refusal::SegmentSize)),
            (0, 1),
            "segments above the MTU"
        );
        // The port continues with the next frame.
        let whole = common::tcp(1, 2, 1, 1514);
        host.send(&whole);
        wait_for_frame(&port);
        port.take(|a| assert_eq!(one(a), whole));
        assert_eq!((port.stats.rx_packets, port.stats.rx_super_frames), (1, 0));
    });
}

fn one(arrived: Arrived<'_>) -> Vec<u8> {
    match arrived {
        Arrived::Frame(f) => f.to_vec(),
        Arrived::SuperFrame(c) => panic!("a super-frame: {c:?}"),
    }
}

#[test]
fn checksums_left_to_the_device_are_completed() {
    in_namespace(|| {
        add_veth("p1", "h1");
        let mut port = Interface::open("p1").unwrap();
        let host = Host::open("h1");
        let mut f = common::tcp(1, 2, 7, 200);
        // As a stack leaves it: the pseudo header's sum, not inverted.
        let mut pseudo = f[26..34].to_vec();
        pseudo.extend([0, 6, 0, 166]);
        f[50..52].copy_from_slice(&(!common::internet_checksum(&pseudo)).to_be_bytes());
        host.send_unsegmented(&f, 0);
        wait_for_frame(&port);
        port.take(|got| {
            let got = one(got);
            pseudo.extend(&got[34..]);
            assert_eq!(common::internet_checksum(&pseudo), 0);
            assert_eq!(got.len(), f.len());
        });
    });
}

#[test]
fn says_what_is_wrong_with_an_interface() {
    in_namespace(|| {
        let e = format!("{:#}", Interface::open("nosuch").err().unwrap());
        assert!(e.contains("nosuch: not found"), "{e}");
        let e = format!("{:#}", Interface::open("lo").err().unwrap());
        assert!(e.contains("is down"), "{e}");
        let e = netns::within("tidemark-no-such-ns", || Ok(())).unwrap_err();
        assert!(format!("{e:#}").contains("not found"), "{e:#}");
    });
}
