// SPDX-License-Identifier: Apache-2.0
//! Reports of nodes that share a key with the collector.

use super::*;
use crate::rows::VecSink;
use crate::testing::{self, MS, NODE};
use crate::{RefusalReason, UnknownNodes};
use int_report::encode::{encode, postcard};
use int_report::keys::ReportKeys;
use int_report::tag::Run;

const OTHER: u32 = 11;

fn keys(fill: u8) -> ReportKeys {
    ReportKeys::new(&[&[fill; 32]]).unwrap()
}

/// The pipeline of a collector that has the key of [`NODE`], and no key of [`OTHER`].
fn pipeline() -> Pipeline<VecSink> {
    let mut config = testing::config();
    config.unknown_nodes = UnknownNodes::Refuse;
    config.keys.insert(NODE, keys(1));
    Pipeline::new(config, VecSink::default()).unwrap()
}

/// One report made at `time_ns`.
fn datagram(node: u32, sequence: u32, time_ns: u64, keys: Option<&ReportKeys>) -> Vec<u8> {
    let mut payload = plain(node, sequence, time_ns);
    if let Some(keys) = keys {
        keys.append_tag(&mut payload, None).unwrap();
    }
    payload
}

/// One report of an exporter that states its run; `sequence` is also the datagram's number.
fn of_run(boot: u64, sequence: u32, time_ns: u64) -> Vec<u8> {
    let mut payload = plain(NODE, sequence, time_ns);
    let datagram = sequence.into();
    keys(1)
        .append_tag(&mut payload, Some(Run { boot, datagram }))
        .unwrap();
    payload
}

fn plain(node: u32, sequence: u32, time_ns: u64) -> Vec<u8> {
    let inner = testing::headers(&testing::Packet {
        seq: sequence.wrapping_mul(1000),
        ..testing::Packet::default()
    });
    let report = Report {
        ingress_ts: Some(time_ns),
        egress_ts: Some(time_ns),
        ..postcard(node, sequence, (2, 1), &inner)
    };
    encode(&[report]).unwrap()
}

fn push(p: &mut Pipeline<VecSink>, from: u8, payload: &[u8], rx_ns: u64) {
    let exporter = IpAddr::from([192, 0, 2, from]);
    let datagram = Datagram {
        exporter,
        rx_ns,
        payload,
    };
    p.push_datagrams([datagram], |_, e| panic!("{e}"));
}

fn rows(p: &mut Pipeline<VecSink>) -> u64 {
    p.finish();
    p.stats().postcard_rows
}

#[test]
fn only_reports_with_the_tag_of_the_key_are_taken() {
    let mut p = pipeline();
    let good = keys(1);
    for n in 0..50u32 {
        let t = (1000 + u64::from(n)) * MS;
        push(&mut p, 1, &datagram(NODE, n, t, Some(&good)), t);
        // With the right address and node, and a future number and time.
        push(&mut p, 1, &datagram(NODE, n + 40, t + 50 * MS, None), t);
        let wrong = datagram(NODE, n + 60, t + 60 * MS, Some(&keys(2)));
        push(&mut p, 1, &wrong, t);
    }
    // The tag of another report.
    let mut swapped = datagram(NODE, 51, 1051 * MS, Some(&good));
    let other = datagram(NODE, 52, 1052 * MS, Some(&good));
    let at = swapped.len() - 16;
    swapped[at..].copy_from_slice(&other[at..]);
    push(&mut p, 1, &swapped, 1051 * MS);
    let s = p.stats();
    assert_eq!(s.reports_refused_no_tag, 50);
    assert_eq!(s.reports_refused_wrong_tag, 51);
    assert_eq!(
        (s.reports_lost, s.reports_duplicate, s.stream_restarts),
        (0, 0, 0)
    );
    let reasons: Vec<_> = p
        .refused_sources()
        .iter()
        .map(|r| (r.reason, r.reports))
        .collect();
    assert_eq!(
        reasons,
        [(RefusalReason::NoTag, 50), (RefusalReason::WrongTag, 51)]
    );
    assert_eq!(rows(&mut p), 50);
}

#[test]
fn every_report_of_a_datagram_stands_and_falls_with_its_tag() {
    let inner = testing::headers(&testing::Packet::default());
    let report = |first| Report {
        first_in_datagram: first,
        ingress_ts: Some(1000 * MS),
        egress_ts: Some(1000 * MS),
        ..postcard(NODE, 1, (2, 1), &inner)
    };
    let plain = encode(&[report(true), report(false), report(false)]).unwrap();
    let mut tagged = plain.clone();
    keys(1).append_tag(&mut tagged, None).unwrap();
    let mut p = pipeline();
    push(&mut p, 1, &plain, 1000 * MS);
    assert_eq!(p.stats().reports_refused_no_tag, 3);
    push(&mut p, 1, &tagged, 1000 * MS);
    assert_eq!(p.stats().reports_refused_no_tag, 3);
    // Decoded elsewhere: nothing shows who sent it.
    p.push_report(IpAddr::from([192, 0, 2, 1]), &report(false), 1000 * MS);
    assert_eq!(p.stats().reports_refused_no_tag, 4);
    assert_eq!(rows(&mut p), 3);
}

#[test]
fn a_recording_is_refused_from_wherever_it_comes() {
    let mut p = pipeline();
    let good = keys(1);
    let sent: Vec<(u64, Vec<u8>)> = (0..3000u32)
        .map(|n| {
            let t = (1000 + u64::from(n)) * MS;
            (t, datagram(NODE, n, t, Some(&good)))
        })
        .collect();
    for (t, payload) in &sent {
        push(&mut p, 1, payload, *t);
    }
    let newest = sent.last().unwrap().0;
    for (_, payload) in &sent {
        push(&mut p, 9, payload, newest);
    }
    let s = p.stats();
    // Reports of the last second are refused by their numbers, earlier ones by their time, and from
    // two seconds on because no node's reports may have that time.
    assert_eq!(
        [
            s.reports_duplicate,
            s.reports_refused_replayed,
            s.reports_implausible_time
        ],
        [1001, 1000, 999]
    );
    assert_eq!((s.reports_lost, s.stream_restarts), (0, 0));
    assert_eq!(rows(&mut p), 3000);
}

#[test]
fn without_a_key_a_tag_is_told_and_costs_nothing() {
    let mut p = pipeline();
    for n in 0..10u32 {
        let t = (1000 + u64::from(n)) * MS;
        let tagged = datagram(OTHER, n, t, (n % 2 == 0).then(|| keys(7)).as_ref());
        push(&mut p, 1, &tagged, t);
    }
    let s = p.stats();
    assert_eq!(
        (s.reports, s.reports_tag_unchecked, s.reports_lost),
        (10, 5, 0)
    );
    assert_eq!(rows(&mut p), 10);
}

#[test]
fn a_key_that_was_not_read_is_no_open_door() {
    let mut config = testing::config();
    config.nodes.get_mut(&NODE).unwrap().key_file = Some("key".into());
    let e = Pipeline::new(config.clone(), VecSink::default()).unwrap_err();
    assert_eq!(e.key, "nodes.10.key_file");
    // The stored configuration names the file, and contains nothing of the key.
    config.keys.insert(NODE, keys(1));
    let text = serde_json::to_string(&config).unwrap();
    assert!(
        text.contains("\"key_file\":\"key\"") && !text.contains("keys"),
        "{text}"
    );
    let e = config.read_keys().unwrap_err();
    assert!(
        e.to_string()
            .starts_with("nodes.10.key_file: key: cannot be read"),
        "{e}"
    );
}

/// The recording is in step with the new run's clock and numbers: only the run tells them apart.
#[test]
fn a_recording_of_an_earlier_run_is_refused_while_the_exporter_speaks() {
    let mut p = pipeline();
    let run = |boot| (0..3000u32).map(move |n| of_run(boot, n, u64::from(n + 1) * MS));
    let recording: Vec<Vec<u8>> = run(100).collect();
    for (n, payload) in (1..).zip(&recording) {
        push(&mut p, 1, payload, (1000 + n) * MS);
    }
    // The exporter starts again, its clock at 0.
    for (n, payload) in (1..).zip(run(200)) {
        let rx_ns = (4100 + n) * MS;
        push(&mut p, 1, &payload, rx_ns);
        // Half of it comes from elsewhere, ahead of the exporter's own reports.
        let from = if n % 2 == 0 { 1 } else { 9 };
        let ahead = recording.get((n + 50) as usize % 3000).unwrap();
        push(&mut p, from, ahead, rx_ns);
    }
    let s = p.stats();
    assert_eq!(
        [
            s.reports_refused_replayed,
            s.reports_duplicate,
            s.reports_implausible_time
        ],
        [3000, 0, 0]
    );
    assert_eq!((s.reports_lost, s.reports_late), (0, 0));
    let first = p.refused_sources()[0];
    assert_eq!(first.reason, RefusalReason::Replayed);
    assert_eq!(rows(&mut p), 6000);
}

/// A collector that starts knows the run from its previous start.
#[test]
fn a_recording_is_refused_by_a_collector_that_starts_again() {
    let sent: Vec<Vec<u8>> = (0..5000u32)
        .map(|n| of_run(100, n, (1000 + u64::from(n)) * MS))
        .collect();
    let mut before = pipeline();
    for (n, payload) in (1000..).zip(&sent[..3000]) {
        push(&mut before, 1, payload, n * MS);
    }
    let newest = Run {
        boot: 100,
        datagram: 2999,
    };
    assert_eq!(before.runs(), [(NODE, newest)].into());

    let mut config = before.config.clone();
    config.runs = before.runs();
    let mut p = Pipeline::new(config, VecSink::default()).unwrap();
    // The recording is first, and goes on as fast as the exporter.
    for (n, payload) in (4500..).zip(&sent[..100]) {
        push(&mut p, 9, payload, n * MS);
    }
    for n in 0..1500 {
        let rx_ns = (4600 + n as u64) * MS;
        push(&mut p, 9, &sent[100 + n], rx_ns);
        push(&mut p, 1, &sent[3500 + n], rx_ns);
    }
    let s = p.stats();
    assert_eq!(
        (s.reports_refused_replayed, s.reports_implausible_time),
        (1600, 0)
    );
    assert_eq!((s.reports_lost, s.stream_restarts), (0, 0));
    assert_eq!(rows(&mut p), 1500);
}

#[test]
fn who_says_its_run_says_it_for_good() {
    let mut p = pipeline();
    // From before the exporter was updated.
    let old: Vec<Vec<u8>> = (0..100u32)
        .map(|n| datagram(NODE, n, (1000 + u64::from(n)) * MS, Some(&keys(1))))
        .collect();
    for (n, payload) in (1000..).zip(&old) {
        push(&mut p, 1, payload, n * MS);
    }
    for n in 0..100u64 {
        push(
            &mut p,
            1,
            &of_run(100, n as u32, (n + 1) * MS),
            (1200 + n) * MS,
        );
        push(&mut p, 1, &old[n as usize], (1200 + n) * MS);
    }
    assert_eq!(p.stats().reports_refused_replayed, 100);
    assert_eq!(rows(&mut p), 200);
}

/// A clock that is set back within a run is no replay.
#[test]
fn numbers_of_a_run_say_what_is_new_and_not_its_clock() {
    let mut p = pipeline();
    for n in 0..4000u64 {
        let back = if n < 2000 { 0 } else { 1900 * MS };
        let payload = of_run(100, n as u32, (5000 + n) * MS - back);
        push(&mut p, 1, &payload, (5000 + n) * MS);
    }
    assert_eq!(p.stats().reports_refused_replayed, 0);
    assert_eq!(rows(&mut p), 4000);
}
