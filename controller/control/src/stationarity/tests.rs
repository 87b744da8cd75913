// SPDX-License-Identifier: Apache-2.0
use super::*;
use std::cell::{Cell, RefCell};
use tidemark_estimators::{Estimator, EstimatorConfig, Evidence, LinkId};

fn n_b(value: f64) -> Estimate {
    Estimate {
        value,
        low: value * 0.9,
        high: value * 1.1,
        evidence: Evidence::Probed,
        samples: 10,
    }
}

#[test]
fn windows_start_where_stationarity_does() {
    let mut c = StationarityWindow::default();
    let window = |c: &StationarityWindow, end| c.estimation_window(5, end, 100, 30);
    assert_eq!(window(&c, 200).from_ns, 100);
    assert!(window(&c, 200).pure);
    // Too early for a full window, or even for a short one.
    assert_eq!(window(&c, 60).from_ns, 5);
    assert!(!window(&c, 20).pure);
    c.restart(180);
    // Mixed, because there is nothing else yet.
    let mixed = window(&c, 200);
    assert_eq!((mixed.from_ns, mixed.pure), (170, false));
    let new = window(&c, 215);
    assert_eq!((new.from_ns, new.pure), (180, true));
    assert_eq!(window(&c, 400).from_ns, 300);
}

#[test]
fn comparisons_need_as_much_before_as_now() {
    let mut c = StationarityWindow::default();
    let window = c.estimation_window(0, 100, 100, 30);
    assert_eq!(c.earlier(window, 30), Some((0, 70)));
    c.restart(50);
    let window = c.estimation_window(0, 100, 100, 30);
    assert_eq!(c.earlier(window, 30), None);
}

#[test]
fn traffic_changes_when_n_b_does_for_two_seconds() {
    let mut c = StationarityWindow::default();
    assert!(!c.traffic(&n_b(12.0), &n_b(13.0)));
    assert!(!c.traffic(&n_b(4.0), &n_b(20.0)));
    assert!(!c.traffic(&n_b(12.0), &n_b(12.0)));
    assert!(!c.traffic(&n_b(4.0), &n_b(20.0)));
    assert!(c.traffic(&n_b(4.0), &n_b(30.0)));
    assert!(differs(&n_b(40.0), &n_b(8.0)));
    // One more flow is not other traffic.
    assert!(!differs(&n_b(2.0), &n_b(3.0)));
}

#[test]
fn what_now_is_compared_with_is_kept_for_a_while() {
    let mut c = StationarityWindow::default();
    let s = 1_000_000_000;
    assert_eq!(c.compared_with(40 * s), None);
    c.remember(n_b(12.0), 40 * s);
    assert_eq!(c.compared_with(44 * s), Some(n_b(12.0)));
    // Use of a known value does not reset its age.
    c.remember(n_b(12.0), 44 * s);
    assert_eq!(c.compared_with(45 * s), None);
    c.remember(n_b(13.0), 45 * s);
    assert_eq!(c.compared_with(46 * s), Some(n_b(13.0)));
    c.restart(46 * s);
    assert_eq!(c.compared_with(46 * s), None, "the traffic is another one");
}

/// A link with an hour of records and T_e, ms; stores the lengths of the estimates, ns.
struct Link {
    t_e_ms: Cell<f64>,
    end_s: Cell<u64>,
    asked: RefCell<Vec<(u64, u64)>>,
}

const SECOND_NS: u64 = 1_000_000_000;

impl Telemetry for Link {
    fn first_ns(&self) -> Option<u64> {
        Some(0)
    }
    fn complete_ns(&self) -> u64 {
        self.end_s.get() * SECOND_NS
    }
    fn reported_limit_bytes(&self) -> u64 {
        1_000_000
    }
    fn estimate(&self, from_ns: u64, to_ns: u64) -> LinkEstimate {
        self.asked.borrow_mut().push((from_ns, to_ns));
        let link = LinkId {
            node_id: 1,
            port: 1,
            queue: 0,
        };
        let empty = Estimator::new(EstimatorConfig::default());
        let mut e = empty.estimate(link, from_ns, to_ns);
        e.estimates.t_e_ms = Some(Estimate {
            value: self.t_e_ms.get(),
            ..n_b(1.0)
        });
        e
    }
    fn n_b(&self, _: u64, _: u64) -> Estimate {
        n_b(12.0)
    }
}

/// Ticks a second later with another T_e; returns the lengths of the estimates made, s.
fn tick(link: &Link, window: &mut StationarityWindow, t_e_ms: f64) -> Vec<f64> {
    let lengths = WindowLengths {
        window_s: 10.0,
        short_s: 3.0,
        retention_s: 120.0,
    };
    link.t_e_ms.set(t_e_ms);
    link.end_s.set(link.end_s.get() + 1);
    *window = window.window_estimate(link, lengths).unwrap().stationarity;
    let asked = std::mem::take(&mut *link.asked.borrow_mut());
    asked
        .iter()
        .map(|(from, to)| (to - from) as f64 / 1e9)
        .collect()
}

#[test]
fn long_round_trips_need_long_windows_and_one_estimate_a_tick() {
    let link = Link {
        t_e_ms: Cell::new(0.0),
        end_s: Cell::new(1000),
        asked: RefCell::default(),
    };
    let mut w = StationarityWindow::default();
    let mut made = |t_e_ms| tick(&link, &mut w, t_e_ms);
    assert_eq!(made(20.0), [10.0]);
    // 50 RTTs are 15 s: noticed once, known from then on.
    assert_eq!(made(300.0), [10.0, 15.75]);
    assert_eq!(made(300.0), [15.75]);
    assert_eq!(made(312.0), [15.75]);
    assert_eq!(made(290.0), [15.75]);
    assert_eq!(made(320.0), [15.75, 16.8]);
    // Shorter from the next tick.
    assert_eq!(made(240.0), [16.8]);
    assert_eq!(made(240.0), [12.6]);
    assert_eq!(made(20.0), [12.6]);
    assert_eq!(made(20.0), [10.0]);
    // No longer than records are kept.
    assert_eq!(made(9000.0), [10.0, 120.0]);
    assert_eq!(made(9000.0), [120.0]);
}

#[test]
fn the_first_limit_is_no_change() {
    let mut c = StationarityWindow::default();
    assert!(!c.limit_reported(5));
    assert!(!c.limit_reported(5));
    assert!(c.limit_reported(6));
}
