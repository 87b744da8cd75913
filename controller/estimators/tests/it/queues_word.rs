// SPDX-License-Identifier: Apache-2.0
//! Evidence from the queue overrides every estimate: a queue that never empties has a flow that is
//! limited here, and such flows fill what the rest leaves.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests

use crate::sim::{self, Kind, Scenario, Spec};
use crate::truth::coverage::holds;
use crate::truth::table::TRANSPORTS;
use crate::truth::{self, LINK, judge, seen, true_n_b_and_t_e};
use std::path::PathBuf;
use test_support::golden::{Run, shared_runs};
use tidemark_estimators::{Estimator, EstimatorConfig, FlowClass, LinkEstimate, Regime};

const WINDOW_NS: u64 = 10_000_000_000;

/// Runs that include senders that losses do not limit.
fn of_other_controls() -> impl Iterator<Item = PathBuf> {
    let paths = shared_runs("ns3-3").unwrap();
    paths.into_iter().filter(|path| path.is_dir())
}

/// Whether the queue was always full, under a load that would lose more if it did not react.
fn never_empties(e: &LinkEstimate) -> bool {
    e.utilisation.non_empty.is_some_and(|n| n >= 0.99)
        && e.utilisation.mean.is_some_and(|u| u >= 0.98)
        && e.loss_rate.is_some_and(|l| l < 0.05)
}

/// Parts of an estimate that contradict the queue.
fn contradictions(e: &LinkEstimate) -> Vec<String> {
    let x = &e.estimates;
    let mut found = Vec::new();
    let mut ask = |right: bool, what: String| {
        if !right {
            found.push(what);
        }
    };
    ask(x.n_b.low >= 0.99, format!("N_b {:?}", x.n_b));
    ask(
        x.regime.value != Regime::Overload,
        format!("regime {:?}", x.regime),
    );
    ask(x.saturable.value == Some(true), "saturable".to_owned());
    let others: u64 = e
        .flows
        .iter()
        .filter(|f| f.class != FlowClass::Lbp)
        .map(|f| (f.rate_bps * f.active_fraction.min(1.0)) as u64)
        .sum();
    let left = 1.0 - others as f64 / e.capacity_bps as f64;
    // Bytes that left are counted per flow, bytes of the link per report.
    ask(
        x.c_e_share.high >= left - 0.03,
        format!("C_e/C {:?}, the others leave {left:.3}", x.c_e_share),
    );
    found
}

/// Datagrams that together just fill the link and are never dropped.
#[test]
fn datagrams_that_hold_a_queue_are_not_load_that_does_not_react() {
    let udp = |pkts_per_s| Spec {
        kind: Kind::Udp { pkts_per_s },
        rtt_s: 0.02,
        start_window: 0.0,
    };
    let s = Scenario {
        capacity_bps: 10e6,
        limit_pkts: 100_000.0,
        seconds: 10.0,
        probed: false,
        flows: vec![udp(600.0), udp(230.0)],
    };
    let scenario = sim::run(&s);
    let mut estimator = Estimator::new(EstimatorConfig::default());
    estimator.set_nodes(&scenario.nodes);
    for update in &scenario.updates {
        estimator.push(update);
    }
    let (from, to) = estimator.span(LINK).unwrap();
    let e = estimator.estimate(LINK, from + WINDOW_NS / 10, to);
    assert!(never_empties(&e), "{:?}", e.utilisation);
    assert_eq!(contradictions(&e), Vec::<String>::new());
    let n_b = e.estimates.n_b;
    assert!(n_b.value == 1.0 && holds(n_b, 2.0), "{n_b:?}");
    let first = &e.flows[0];
    assert!(first.class == FlowClass::Lbp && first.why.contains("never empties"));
}

test_support::shared_data_test! {
    #[cfg_attr(debug_assertions, ignore = "takes minutes without optimisation: make truth")]
    fn no_estimate_of_any_run_contradicts_the_queue() {
        let (mut windows, mut wrong) = (0, Vec::new());
        for path in truth::whole_runs().into_iter().chain(of_other_controls()) {
            let recorded = Run::read(&path).unwrap();
            for mode in &TRANSPORTS {
                let run = seen(&recorded, mode.view);
                let (_, end) = run.estimator.span(LINK).unwrap();
                let mut from = run.from_ns;
                while from + WINDOW_NS <= end {
                    let e = run.estimator.estimate(LINK, from, from + WINDOW_NS);
                    from += WINDOW_NS;
                    if never_empties(&e) {
                        windows += 1;
                        let what = contradictions(&e).join(", ");
                        if !what.is_empty() {
                            wrong.push(format!("{} {}: {what}", recorded.name, mode.name));
                        }
                    }
                }
            }
        }
        assert!(windows >= 150, "{windows}");
        assert!(wrong.is_empty(), "{windows} windows, {wrong:#?}");
    }
}

test_support::shared_data_test! {
    /// Senders that reduce without losses: Vegas, and BBR with a deep buffer.
    #[cfg_attr(debug_assertions, ignore = "takes minutes without optimisation: make truth")]
    fn flows_that_react_to_delay_are_bottlenecked_here() {
        for path in of_other_controls() {
            let recorded = Run::read(&path).unwrap();
            if !["vegas_n9", "bbr_n8_b539"].contains(&recorded.name.as_str()) {
                continue;
            }
            for mode in TRANSPORTS.iter().filter(|m| m.name != "all QUIC") {
                let run = seen(&recorded, mode.view);
                let e = run.estimate();
                let (n_b, _) = true_n_b_and_t_e(&run, e.from_ns, e.to_ns);
                let judged = judge(&run, &e);
                let name = format!("{} {}: {:?}", recorded.name, mode.name, e.estimates.n_b);
                let late = mode.view.from_s > 0.0;
                assert!(late || (e.estimates.n_b.value - n_b).abs() <= 2.0, "{name}");
                assert!(late || holds(e.estimates.n_b, n_b) || mode.name == "half QUIC", "{name}");
                assert!(e.estimates.regime.value == Regime::Elastic, "{name}");
                // Flows behind slower links and behind windows keep their class.
                let taken = judged.wrong.iter().filter(|w| w.starts_with("rbp as Lbp") || w.starts_with("wl as Lbp"));
                assert_eq!(taken.count(), 0, "{name}");
                // Also from the first seconds on, when not every window is known yet.
                if mode.name == "probed" || mode.name == "passive" {
                    let from_ns = run.from_ns + 2_000_000_000;
                    let early = run.estimator.n_b(LINK, from_ns, from_ns + WINDOW_NS);
                    assert!((early.value - n_b).abs() <= 2.0, "{name}, early: {early:?}");
                }
            }
        }
    }
}
