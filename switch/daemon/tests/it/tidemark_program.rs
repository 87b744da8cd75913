// SPDX-License-Identifier: Apache-2.0
//! Tidemark's own program on the switch, in virtual time.

use crate::common;

use common::{Captured, REPORT_PORT, internet_checksum, limit, mac, tcp, tidemark};
use traffic_manager::{PortConfig, Switch};

const FRAME: usize = 1514;
/// Time of 1538 bytes at 100 Mb/s.
const SERVICE_NS: u64 = 123_040;

fn slow_port(s: &mut Switch, port: u32) {
    s.configure(
        port,
        PortConfig {
            rate_bps: 100_000_000,
            delay_ns: 5_000_000,
            depth_packets: 1000,
            ..PortConfig::default()
        },
    );
}

fn be(b: &[u8]) -> u64 {
    b.iter().fold(0, |a, x| (a << 8) | u64::from(*x))
}

#[test]
fn forwards_unchanged() {
    let mut s = tidemark();
    let mut out = Captured::default();
    let f = tcp(1, 2, 100, 777);
    s.receive(1, &f, 1_000_000);
    s.run_until(2_000_000, &mut out);
    let sent = out.on(2);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].2, f);
    assert_eq!(out.on(REPORT_PORT).len(), 1);
    assert_eq!(out.0.len(), 2);
}

#[test]
fn floods_unknown_but_not_back() {
    let mut s = tidemark();
    let mut out = Captured::default();
    let mut f = tcp(1, 2, 100, 100);
    f[..6].copy_from_slice(&[0xff; 6]);
    s.receive(1, &f, 0);
    s.run_until(1_000, &mut out);
    let ports: Vec<u32> = out.0.iter().map(|x| x.0).collect();
    assert_eq!(ports, [2, 3]);
}

#[test]
fn report_says_what_happened() {
    let mut s = tidemark();
    slow_port(&mut s, 2);
    limit(&mut s, 2, 100_000);
    let mut out = Captured::default();
    // Three back to back: the first is in service, the second waits alone.
    for i in 0..3u64 {
        let t = 1_000_000 + i * 1_000;
        s.run_until(t, &mut out);
        s.receive(1, &tcp(1, 2, 100 + i as u32, FRAME), t);
    }
    s.run_until(100_000_000, &mut out);
    let reports = out.on(REPORT_PORT);
    assert_eq!(reports.len(), 3);
    for (i, (_, _, r)) in reports.iter().enumerate() {
        assert_eq!(r.len(), 14 + 20 + 8 + 92);
        assert_eq!(internet_checksum(&r[14..34]), 0, "IPv4 header checksum");
        let mut udp = r[26..34].to_vec();
        udp.extend([0, 17]);
        udp.extend(&r[38..40]);
        udp.extend(&r[34..]);
        assert_eq!(internet_checksum(&udp), 0, "UDP checksum");
        assert_ne!(be(&r[40..42]), 0);
        assert_eq!(be(&r[36..38]), 32766);
        assert_eq!(be(&r[34..36]) & !3, 49152);
        let p = &r[42..];
        assert_eq!(p[0] >> 4, 2, "version");
        assert_eq!(be(&p[0..4]) & 0x3f_ffff, i as u64, "sequence");
        assert_eq!(be(&p[4..8]), 10, "node");
        assert_eq!(p[8], 0x14, "RepType INT, InType IPv4");
        assert_eq!(be(&p[12..14]), 0x5c00);
        assert_eq!(be(&p[14..16]), 0x544d);
        assert_eq!(be(&p[16..18]), 0xc000);
        let md = &p[20..];
        assert_eq!((be(&md[0..2]), be(&md[2..4])), (1, 2), "ports");
        let waiting = [0, 0, FRAME as u64][i];
        assert_eq!(be(&md[5..8]), waiting, "occupancy on arrival");
        let arrival = 1_000_000 + i as u64 * 1_000;
        assert_eq!(be(&md[8..16]), arrival);
        // Service begins when the previous frame is done; µs resolution.
        let start = 1_000_000 + i as u64 * SERVICE_NS;
        assert_eq!(be(&md[16..24]), start / 1000 * 1000);
        assert_eq!(be(&md[24..28]), 100_000, "limit");
        let inner = &md[32..];
        assert_eq!(inner[0], 0x45);
        assert_eq!(be(&inner[24..28]), 100 + i as u64, "TCP sequence");
        assert_eq!(inner.len(), 40);
    }
}

#[test]
fn rate_and_delay_are_exact() {
    let mut s = tidemark();
    slow_port(&mut s, 2);
    let mut out = Captured::default();
    for i in 0..500u32 {
        s.receive(1, &tcp(1, 2, i, FRAME), 0);
    }
    // However late the thread is, the times are the logical ones.
    s.run_until(1_000_000_000, &mut out);
    let sent = out.on(2);
    assert_eq!(sent.len(), 500);
    for (i, f) in sent.iter().enumerate() {
        assert_eq!(f.1, (i as u64 + 1) * SERVICE_NS + 5_000_000);
    }
}

#[test]
fn limit_boundary() {
    let mut s = tidemark();
    slow_port(&mut s, 2);
    // The first goes into service; then two wait; the occupancy is then 3028.
    limit(&mut s, 2, 2 * FRAME as u32);
    let mut out = Captured::default();
    for i in 0..5u32 {
        let t = u64::from(i) * 1_000;
        s.run_until(t, &mut out);
        s.receive(1, &tcp(1, 2, i, FRAME), t);
    }
    s.run_until(1_000_000_000, &mut out);
    assert_eq!(out.on(2).len(), 3, "one in service, two waiting");
    let drops: Vec<_> = out
        .on(REPORT_PORT)
        .into_iter()
        .filter(|r| be(&r.2[42 + 12..42 + 14]) == 0x5801)
        .collect();
    assert_eq!(drops.len(), 2);
    for (i, (_, t, r)) in drops.iter().enumerate() {
        assert_eq!(r.len(), 14 + 20 + 8 + 88);
        let p = &r[42..];
        assert_eq!((p[0] & 15) << 2 | p[1] >> 6, 1, "hw_id of drops");
        assert_eq!(be(&p[0..4]) & 0x3f_ffff, i as u64);
        assert_eq!(p[11] & 0x80, 0x80, "D");
        let md = &p[20..];
        assert_eq!(be(&md[5..8]), 2 * FRAME as u64, "occupancy met");
        assert_eq!(md[17], 71, "tail drop");
        assert_eq!(*t, (3 + i as u64) * 1_000, "reported at once");
    }
    // One byte more admits one packet more.
    let mut s = tidemark();
    slow_port(&mut s, 2);
    limit(&mut s, 2, 2 * FRAME as u32 + 1);
    let mut out = Captured::default();
    for i in 0..5u32 {
        let t = u64::from(i) * 1_000;
        s.run_until(t, &mut out);
        s.receive(1, &tcp(1, 2, i, FRAME), t);
    }
    s.run_until(1_000_000_000, &mut out);
    assert_eq!(out.on(2).len(), 4);
}

#[test]
fn own_queue_drops_are_counted() {
    let mut s = tidemark();
    s.configure(
        2,
        PortConfig {
            rate_bps: 100_000_000,
            delay_ns: 0,
            depth_packets: 4,
            ..PortConfig::default()
        },
    );
    let mut out = Captured::default();
    for i in 0..10u32 {
        s.receive(1, &tcp(1, 2, i, FRAME), 0);
    }
    s.run_until(1_000_000_000, &mut out);
    assert_eq!(out.on(2).len(), 4);
    let p = s.port_mut(2);
    assert_eq!(p.tail_dropped_packets, 6);
    assert_eq!(p.tail_dropped_bytes, 6 * FRAME as u64);
    // The register recovers: the next packet finds an empty queue.
    s.receive(1, &tcp(1, 2, 11, FRAME), 2_000_000_000);
    s.receive(1, &tcp(1, 2, 12, FRAME), 2_000_000_000);
    s.run_until(3_000_000_000, &mut out);
    let last = out.on(REPORT_PORT);
    let md = &last[last.len() - 2].2[42 + 20..];
    assert_eq!(be(&md[5..8]), 0);
}

#[test]
fn rate_change_applies_to_the_next_frame() {
    let mut s = tidemark();
    slow_port(&mut s, 2);
    let mut out = Captured::default();
    for i in 0..3u32 {
        s.receive(1, &tcp(1, 2, i, FRAME), 0);
    }
    s.run_until(1_000, &mut out);
    s.configure(
        2,
        PortConfig {
            rate_bps: 10_000_000,
            delay_ns: 5_000_000,
            depth_packets: 1000,
            ..PortConfig::default()
        },
    );
    s.run_until(1_000_000_000, &mut out);
    let t: Vec<u64> = out.on(2).iter().map(|f| f.1).collect();
    let wants = [1, 11, 21].map(|n| n * SERVICE_NS + 5_000_000);
    assert_eq!(t, wants);
}

#[test]
fn shorter_delay_does_not_reorder() {
    let mut s = tidemark();
    slow_port(&mut s, 2);
    let mut out = Captured::default();
    for i in 0..2u32 {
        s.receive(1, &tcp(1, 2, i, FRAME), 0);
    }
    s.run_until(1_000, &mut out);
    s.configure(2, PortConfig::default());
    s.run_until(1_000_000_000, &mut out);
    let sent = out.on(2);
    assert_eq!(sent[0].1, SERVICE_NS + 5_000_000);
    assert_eq!(sent[1].1, sent[0].1);
    assert_eq!(be(&sent[1].2[38..42]), 1);
}

#[test]
fn hostile_frames_do_not_hurt() {
    let mut s = tidemark();
    let mut out = Captured::default();
    let whole = tcp(1, 2, 1, 90);
    for n in 0..whole.len() {
        s.receive(1, &whole[..n], 0);
        let mut f = whole.clone();
        f[n] ^= 0xff;
        s.receive(1, &f, 0);
    }
    s.run_until(1, &mut out);
    assert!(out.on(2).len() > 50);
    assert_eq!(mac(1)[5], 1);
}

#[test]
fn reports_have_the_tag_of_the_key_and_what_hosts_send_has_none() {
    use int_report::keys::ReportKeys;
    let keys = ReportKeys::new(&[b"0123456789abcdef"]).unwrap();
    let (mut plain, mut s) = (tidemark(), tidemark());
    let counters = tidemark_switch::tagging::tag_reports(&mut s, keys.clone(), 7);
    limit(&mut plain, 2, 1);
    limit(&mut s, 2, 1);
    // A report forged by a host, to another host and with the same ports.
    let mut forged = tcp(1, 3, 0, 42 + 92);
    forged[23] = 17;
    forged[36..38].copy_from_slice(&32766u16.to_be_bytes());
    forged[38..40].copy_from_slice(&100u16.to_be_bytes());
    let run = |s: &mut Switch| {
        slow_port(s, 2);
        let mut out = Captured::default();
        for i in 0..5u64 {
            let t = 1_000_000 + i * 1_000;
            s.run_until(t, &mut out);
            match i {
                4 => s.receive(1, &forged, t),
                _ => s.receive(1, &tcp(1, 2, 100 * i as u32, FRAME), t),
            }
        }
        s.run_until(100_000_000, &mut out);
        out
    };
    let (before, after) = (run(&mut plain), run(&mut s));
    assert_eq!(before.on(2), after.on(2));
    assert_eq!(before.on(3), after.on(3));
    assert_eq!(after.on(3)[0].2, forged);
    let (reports, tagged) = (before.on(REPORT_PORT), after.on(REPORT_PORT));
    assert!(reports.len() >= 3 && reports.len() == tagged.len());
    let lengths: std::collections::BTreeSet<usize> = reports.iter().map(|r| r.2.len()).collect();
    assert_eq!(
        lengths.len(),
        2,
        "of forwarded packets and of drops: {lengths:?}"
    );
    for (n, ((_, _, report), (_, _, f))) in (0..).zip(reports.iter().zip(&tagged)) {
        assert_eq!(f.len(), report.len() + 44);
        let parts = int_report::tag::split(&f[42..]).unwrap();
        let run = parts.run.unwrap();
        assert_eq!((run.boot, run.datagram), (7, n));
        assert_eq!(parts.body, &report[42..]);
        assert!(keys.verify(&parts));
        assert_eq!(be(&f[16..18]) as usize, f.len() - 14);
        assert_eq!(be(&f[38..40]) as usize, f.len() - 34);
        assert_eq!(internet_checksum(&f[14..34]), 0);
        let mut pseudo = f[26..34].to_vec();
        pseudo.extend([0, 17]);
        pseudo.extend(&f[38..40]);
        pseudo.extend(&f[34..]);
        assert_ne!(be(&f[40..42]), 0);
        assert_eq!(internet_checksum(&pseudo), 0);
    }
    assert_eq!(
        (counters.tagged(), counters.untagged()),
        (tagged.len() as u64, 0)
    );
}
