// SPDX-License-Identifier: Apache-2.0
use super::*;
use tidemark_proto::telemetry::{self as proto, LinkInterval, Node, Watermark};

fn update(start_ms: u64, first_ms: u64) -> Update {
    Update {
        link_intervals: vec![LinkInterval {
            node_id: 10,
            port: 5,
            start_ns: start_ms * 1_000_000,
            duration_ns: 1_000_000,
            first_start_ns: first_ms * 1_000_000,
            packets: 1,
            ..LinkInterval::default()
        }],
        ..Update::default()
    }
}

#[test]
fn a_clock_that_restarts_is_noticed() {
    let mut feed = Feed::new("x", 60.0, 1);
    let mut push =
        |start_ms, first_ms| feed.push(&update(start_ms, first_ms), Timestamp::default());
    assert!(push(5000, 5000).is_empty());
    // A small delay does not mean another clock.
    assert!(push(5600, 5000).is_empty());
    assert!(push(4900, 5000).is_empty());
    // Back by less than a report may be late, but the records start again.
    assert_eq!(push(4800, 4800), [10]);
    assert!(push(7000, 4800).is_empty());
    assert_eq!(push(100, 100), [10]);
    let id = LinkId {
        node_id: 10,
        port: 5,
        queue: 0,
    };
    assert_eq!(feed.span(id), Some((100_000_000, 101_000_000)));
    assert_eq!(feed.series[&id].last_ns, 101_000_000);
}

fn at(monotonic_s: i64) -> Timestamp {
    Timestamp {
        monotonic_ns: monotonic_s * 1_000_000_000,
        unix_ms: 0,
    }
}

/// An update with the interval, its watermark and a status.
fn second(s: u64, port: u32, packets: u32) -> Update {
    let mut u = update(s * 1000 - 1, 1);
    u.link_intervals[0].packets = packets;
    u.link_intervals[0].port = port;
    u.watermarks.push(Watermark {
        node_id: 10,
        time_ns: s * 1_000_000_000,
    });
    u.status = Some(CollectorStatus::default());
    u
}

const LINK: LinkId = LinkId {
    node_id: 10,
    port: 5,
    queue: 0,
};

/// Missing reports become known only after the span that is judged, and so may time without
/// records.
#[test]
fn an_outcome_counts_what_no_record_came_of() {
    let mut feed = Feed::new("x", 60.0, 1);
    feed.connected(CollectorInfo {
        interval_ms: 1,
        nodes: vec![Node {
            node_id: 10,
            ports: vec![proto::Port {
                port: 5,
                ..proto::Port::default()
            }],
            ..Node::default()
        }],
        ..CollectorInfo::default()
    });
    for ms in (1000..3000).chain(3500..4000) {
        let mut u = update(ms, 1000);
        u.watermarks.push(Watermark {
            node_id: 10,
            time_ns: (ms + 1) * 1_000_000,
        });
        feed.push(&u, at(ms as i64 / 1000));
    }
    let unrecorded_ms = |from_ms: u64, to_ms: u64| {
        let outcome = feed.outcome(LINK, from_ms * 1_000_000, to_ms * 1_000_000);
        (outcome.unrecorded_s * 1e3).round()
    };
    assert_eq!(
        unrecorded_ms(1500, 2500),
        500.0,
        "the next report told nothing"
    );
    assert_eq!(unrecorded_ms(3300, 4000), 199.0, "it began unheard");
    assert_eq!(unrecorded_ms(3600, 3900), 0.0);
    // A port that is not configured has no records while it is idle.
    feed.info.nodes.clear();
    let from_ns = 3_300_000_000;
    let silent = feed.outcome(LINK, from_ns, from_ns + 700_000_000);
    assert!(silent.unrecorded_s < 0.1, "{}", silent.unrecorded_s);
}

#[test]
fn a_silent_switch_ages_while_the_collector_goes_on() {
    let mut feed = Feed::new("x", 60.0, 1);
    assert_eq!(feed.report_age_s(LINK, at(0)), None);
    feed.push(&second(1, 5, 0), at(1));
    assert_eq!(feed.report_age_s(LINK, at(1)), None, "no packet yet");
    feed.push(&second(2, 5, 7), at(2));
    assert_eq!(feed.report_age_s(LINK, at(2)), Some(0.0));
    // Empty records, watermarks and status go on.
    for s in 3..15 {
        feed.push(&second(s, 5, 0), at(s as i64));
    }
    assert_eq!(feed.age_s(at(14)), Some(0.0));
    assert_eq!(feed.report_age_s(LINK, at(14)), Some(12.0));
    assert_eq!(feed.node_age_s(10, at(14)), Some(12.0));
    assert_eq!(feed.lag_s(10, at(14)), Some(0.0));
    // Another port of the switch has packets: this link is idle.
    feed.push(&second(15, 6, 7), at(15));
    assert_eq!(feed.report_age_s(LINK, at(15)), Some(13.0));
    assert_eq!(feed.node_age_s(10, at(15)), Some(0.0));
}

#[test]
fn a_backlog_is_as_old_as_what_it_tells_of() {
    let mut feed = Feed::new("x", 60.0, 1);
    feed.push(&second(1, 5, 7), at(1));
    // From now on everything arrives in order, 37 s late.
    for s in 2..100 {
        feed.push(&second(s, 5, 7), at(s as i64 + 37));
    }
    let now = at(99 + 37);
    assert_eq!(feed.age_s(now), Some(0.0));
    for age_s in [feed.report_age_s(LINK, now), feed.lag_s(10, now)] {
        let age_s = age_s.unwrap();
        assert!((36.0..=37.0).contains(&age_s), "{age_s}");
    }
}

#[test]
fn queues_of_a_port_begin_each_for_itself() {
    let mut feed = Feed::new("x", 60.0, 1);
    for ms in 5000..5100 {
        let mut both = update(ms, 5000);
        if ms >= 5050 {
            let mut other = both.link_intervals.clone();
            other[0].queue = 3;
            other[0].first_start_ns = 5_050_000_000;
            both.link_intervals.extend(other);
        }
        assert!(feed.push(&both, Timestamp::default()).is_empty(), "{ms}");
    }
}

#[test]
fn a_forgotten_port_that_comes_again_is_no_restart() {
    let mut feed = Feed::new("x", 60.0, 1);
    let mut push =
        |start_ms, first_ms| feed.push(&update(start_ms, first_ms), Timestamp::default());
    assert!(push(5000, 5000).is_empty());
    assert!(push(20_000, 20_000).is_empty());
    assert_eq!(push(19_500, 19_500), [10]);
}

#[test]
fn only_links_that_are_not_configured_are_forgotten() {
    let mut feed = Feed::new("x", 60.0, 1);
    let port = |port| Port {
        port,
        ..Port::default()
    };
    feed.connected(CollectorInfo {
        nodes: vec![tidemark_proto::telemetry::Node {
            node_id: 10,
            ports: vec![port(5)],
            ..Default::default()
        }],
        ..CollectorInfo::default()
    });
    let mut both = update(1000, 1000);
    let mut other = both.link_intervals.clone();
    other[0].port = 6;
    both.link_intervals.extend(other);
    feed.push(&both, Timestamp::default());
    let mut later = update(62_000, 1000);
    later.link_intervals[0].port = 7;
    feed.push(&later, Timestamp::default());
    feed.forget_silent(Timestamp::default());
    let ports: Vec<u32> = feed.series.keys().map(|id| id.port).collect();
    assert_eq!((ports, feed.estimator.links().len()), (vec![5, 6, 7], 3));
    later.watermarks.push(tidemark_proto::telemetry::Watermark {
        node_id: 10,
        time_ns: 62_000_000_000,
    });
    feed.push(&later, Timestamp::default());
    feed.forget_silent(Timestamp::default());
    let ports: Vec<u32> = feed.series.keys().map(|id| id.port).collect();
    assert_eq!((ports, feed.estimator.links().len()), (vec![5, 7], 2));
}

#[test]
fn another_collector_is_not_another_clock() {
    let mut feed = Feed::new("x", 60.0, 1);
    let info = |instance: &str| CollectorInfo {
        instance: instance.into(),
        ..CollectorInfo::default()
    };
    assert!(!feed.connected(info("one")));
    feed.push(&update(5000, 5000), Timestamp::default());
    assert!(feed.connected(info("two")));
    assert!(
        feed.push(&update(6000, 6000), Timestamp::default())
            .is_empty()
    );
}

/// A switch restarts while no collector is connected, and when one connects, it has run for longer
/// than before.
#[test]
fn a_switch_that_restarted_between_two_collectors_begins_anew() {
    let mut feed = Feed::new("x", 60.0, 1);
    let info = |instance: &str| CollectorInfo {
        instance: instance.into(),
        ..CollectorInfo::default()
    };
    let of_before = |feed: &Feed| {
        !feed.series[&LINK]
            .query(0, 20_000_000_000, 1000)
            .1
            .is_empty()
    };
    feed.connected(info("one"));
    for s in 1..=20 {
        assert!(feed.push(&second(s, 5, 7), at(s as i64)).is_empty());
    }
    feed.connected(info("two"));
    // A new collector instance alone leaves the charts.
    assert!(feed.push(&second(25, 5, 7), at(25)).is_empty());
    assert!(of_before(&feed));
    feed.connected(info("three"));
    assert_eq!(feed.push(&second(45, 5, 7), at(70)), [10]);
    assert!(!of_before(&feed));
    assert!(feed.push(&second(46, 5, 7), at(71)).is_empty());
}
