// SPDX-License-Identifier: Apache-2.0
use super::*;
use int_report::InnerError;
use std::net::{IpAddr, Ipv4Addr};

const NO_INNER: InnerError = InnerError::NoPacket;

fn accept(
    accounting: &mut Accounting,
    stats: &mut Stats,
    node_id: u32,
    sequence: u32,
    first_in_datagram: bool,
) -> Option<Accepted> {
    let config = Config::default();
    accept_by(
        &config,
        accounting,
        stats,
        node_id,
        sequence,
        first_in_datagram,
    )
}

fn accept_by(
    config: &Config,
    accounting: &mut Accounting,
    stats: &mut Stats,
    node_id: u32,
    sequence: u32,
    first_in_datagram: bool,
) -> Option<Accepted> {
    let report = Report {
        node_id,
        sequence,
        sequence_bits: 22,
        ingress_ts: Some(1_000 + u64::from(sequence)),
        egress_ts: Some(2_000 + u64::from(sequence)),
        first_in_datagram,
        ..Report::default()
    };
    let received = Received {
        exporter: &IpAddr::V4(Ipv4Addr::LOCALHOST),
        rx_ns: 5,
        tagged: None,
        report: &report,
        inner: Err(&NO_INNER),
        hint: None,
    };
    accounting.accept(config, &received, stats)
}

#[test]
fn a_gap_is_told_once_and_taken_back_when_it_closes() {
    let (mut a, mut stats) = (Accounting::new(&Config::default()), Stats::default());
    accept(&mut a, &mut stats, 7, 1, true).unwrap();
    accept(&mut a, &mut stats, 7, 5, true).unwrap();
    assert_eq!(a.node_mut(0).unwrap().take_lost(), 3);
    assert_eq!(a.node_mut(0).unwrap().take_lost(), 0);
    accept(&mut a, &mut stats, 7, 3, true).unwrap();
    assert_eq!(a.node_mut(0).unwrap().take_lost(), -1);
    a.add_to(&mut stats);
    assert_eq!((stats.reports_lost, stats.reports_late), (2, 1));
}

#[test]
fn all_reports_of_a_doubled_datagram_are_doubles() {
    let (mut a, mut stats) = (Accounting::new(&Config::default()), Stats::default());
    for _ in 0..2 {
        accept(&mut a, &mut stats, 7, 1, true);
        accept(&mut a, &mut stats, 7, 1, false);
    }
    assert_eq!(stats.reports_duplicate, 2);
    assert!(accept(&mut a, &mut stats, 7, 2, true).is_some());
}

#[test]
fn nodes_are_bounded() {
    let (mut a, mut stats) = (Accounting::new(&Config::default()), Stats::default());
    for id in 0..MAX_UNKNOWN_NODES as u32 + 3 {
        accept(&mut a, &mut stats, id, 1, true);
    }
    assert_eq!((a.nodes.len(), stats.nodes_refused), (MAX_UNKNOWN_NODES, 3));
    assert!(accept(&mut a, &mut stats, 0, 2, true).is_some());
    // A configured node is accepted, however many unknown nodes there are.
    let config = Config {
        nodes: [(5_000, crate::NodeConfig::default())].into(),
        ..Config::default()
    };
    assert!(accept_by(&config, &mut a, &mut stats, 5_000, 1, true).is_some());
}

#[test]
fn unknown_nodes_and_exporters_leave_no_trace() {
    let named = |exporters: &str| -> crate::NodeConfig {
        serde_json::from_str(&format!("{{\"exporters\": {exporters}}}")).unwrap()
    };
    let config = Config {
        nodes: [
            (1, named("[\"127.0.0.0/8\"]")),
            (2, named("[\"192.0.2.1\"]")),
        ]
        .into(),
        unknown_nodes: UnknownNodes::Refuse,
        ..Config::default()
    };
    let (mut a, mut stats) = (Accounting::new(&Config::default()), Stats::default());
    assert!(accept_by(&config, &mut a, &mut stats, 1, 1, true).is_some());
    for node_id in [2, 3, 4] {
        for sequence in 1..=5 {
            let taken = accept_by(&config, &mut a, &mut stats, node_id, sequence, true);
            assert_eq!(taken, None);
        }
    }
    a.add_to(&mut stats);
    assert_eq!(stats.reports_refused_exporter, 5);
    assert_eq!(
        (stats.nodes_refused, stats.reports_unconfigured_node),
        (10, 10)
    );
    assert_eq!(a.streams.total().received, 1);
    let refused: Vec<_> = a
        .refusals
        .0
        .iter()
        .map(|s| (s.node_id, s.reason, s.reports))
        .collect();
    assert_eq!(
        refused,
        [
            (2, RefusalReason::UnknownExporter, 5),
            (3, RefusalReason::UnknownNode, 5),
            (4, RefusalReason::UnknownNode, 5),
        ]
    );
}

/// A recording of 25 reports/s begins a new collector's time axis, while the node itself sends 500
/// reports/s.
#[test]
fn a_recording_while_the_node_speaks_is_an_alarm() {
    const MS: u64 = 1_000_000;
    let (mut a, mut stats) = (Accounting::new(&Config::default()), Stats::default());
    let config = Config::default();
    let mut push = |a: &mut Accounting, at_ms: u64, ahead_ms: u64, exporter: u8, sequence: u32| {
        let time = Some((at_ms + ahead_ms) * MS);
        let report = Report {
            node_id: 7,
            sequence,
            sequence_bits: 22,
            ingress_ts: time,
            egress_ts: time,
            first_in_datagram: true,
            ..Report::default()
        };
        let received = Received {
            exporter: &IpAddr::V4(Ipv4Addr::new(192, 0, 2, exporter)),
            rx_ns: at_ms * MS,
            tagged: None,
            report: &report,
            inner: Err(&NO_INNER),
            hint: None,
        };
        a.accept(&config, &received, &mut stats).is_some()
    };
    let (mut recorded, mut honest) = (0, 0);
    for at_ms in (0..5000).step_by(2) {
        if at_ms % 40 == 0 {
            recorded += u32::from(push(&mut a, at_ms, 1000, 66, at_ms as u32));
        }
        if at_ms > 0 {
            honest += u32::from(push(&mut a, at_ms, 500_000, 1, 50_000 + at_ms as u32));
        }
        let alarm = a.nodes_of_two_clocks(at_ms * MS);
        assert!(at_ms > 900 || alarm.is_empty(), "after {at_ms} ms");
        assert!(at_ms < 1500 || alarm == [7], "after {at_ms} ms");
    }
    assert_eq!((recorded, honest), (125, 0), "the first has the axis");
    let source = a
        .refusals
        .0
        .iter()
        .find(|s| s.reason == RefusalReason::TwoClocks);
    assert_eq!(
        source.unwrap().exporter,
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))
    );

    // The recording ends: a second later the node is accepted, and the alarm ends.
    for at_ms in (5000..70_000).step_by(2) {
        honest += u32::from(push(&mut a, at_ms, 500_000, 1, 50_000 + at_ms as u32));
    }
    assert!(honest > 31_000, "{honest}");
    assert!(a.nodes_of_two_clocks(70_000 * MS).is_empty());
}
