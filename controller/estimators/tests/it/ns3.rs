// SPDX-License-Identifier: Apache-2.0
//! Estimates on runs with known truth, compared with the truth and with the definitions applied to
//! the whole trace. The tests in `whole` need the whole runs, all other tests run on the golden
//! set.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests

use crate::truth;

use tidemark_estimators::{CongestionControl, FlowClass, LinkEstimate, LinkInfo};
use truth::Source::{self, Golden, Whole};
use truth::reference::{mean, quantile, reference};
use truth::{Judged, Run, View, judge, run};

fn show(name: &str, how: &str, e: &LinkEstimate, j: &Judged) {
    let x = &e.estimates;
    println!(
        "{name} {how}: N_b {:.2} [{:.1},{:.1}] truth {}; classes {}/{}; T_e {:.1} truth {:.1}; \
         u {:.4} p01 {:.4}; loss {:.6} ({}); delta {:.2} {:.2}; C_e {:.3}",
        x.n_b.value,
        x.n_b.low,
        x.n_b.high,
        j.n_b,
        j.long_right,
        j.long,
        x.t_e_ms.map_or(f64::NAN, |t| t.value),
        j.t_e_ms,
        e.utilisation.mean.unwrap(),
        e.utilisation.p01.unwrap_or(f64::NAN),
        e.loss_rate.unwrap_or(f64::NAN),
        e.drops.unwrap(),
        x.delta_low.unwrap_or(f64::NAN),
        x.delta_high.unwrap_or(f64::NAN),
        x.c_e_share.value,
    );
    for w in &j.wrong {
        println!("   {w}");
    }
}

fn slack(probed: bool, n_b: f64) -> f64 {
    if probed {
        f64::max(1.0, 0.1 * n_b)
    } else {
        f64::max(2.0, 0.2 * n_b)
    }
}

fn near(what: &str, got: Option<f64>, exact: Option<f64>, tolerance: f64) {
    match (got, exact) {
        (None, None) => {}
        (Some(a), Some(b)) if (a - b).abs() <= tolerance => {}
        _ => panic!("{what}: estimated {got:?}, by definition {exact:?}"),
    }
}

/// The streaming estimators match their definitions.
fn equals_the_definitions(r: &Run, e: &LinkEstimate, probed: bool) {
    let exact = reference(r, e);
    let x = &e.estimates;
    // Lost reports count as packets like the received ones; exact without lost reports.
    let all = 1.0 + e.reports_lost as f64 / exact.arrivals as f64;
    let (bytes, counts) = if e.reports_lost > 0 {
        (1e-5, 1e-5)
    } else {
        (1e-9, 0.0)
    };
    near(
        "utilisation",
        e.utilisation.mean,
        Some((exact.utilisation * all).min(exact.utilisation.max(1.0))),
        bytes,
    );
    near("loss", e.loss_rate, Some(exact.loss_rate), counts);
    assert_eq!(e.drops, Some((exact.drops as f64 * all).round() as u64));
    let bursts = &exact.loss_bursts;
    near("L", x.mean_loss_burst.map(|v| v.value), mean(bursts), 1e-9);
    let median = (!bursts.is_empty()).then(|| quantile(bursts, 0.5));
    near(
        "median L",
        x.median_loss_burst.map(|v| v.value),
        median,
        1e-9,
    );
    if exact.alpha.is_some() {
        near("alpha", Some(x.alpha.value), exact.alpha, 1e-9);
    }
    near("q", x.q.map(|v| v.value), exact.q, 1e-9);
    near("D mean", x.d_mean.map(|v| v.value), mean(&exact.d), 1e-9);
    let max = exact.d.iter().copied().fold(0.0, f64::max);
    near("D max", x.d_max.map(|v| v.value), Some(max), 1e-9);
    // Bytes that left within an interval are assumed to be spread evenly.
    let p01 = exact.utilisation_p01 * all;
    near("p01", e.utilisation.p01, Some(p01), 0.005);
    if probed {
        // Compares windows held from interval to interval with exact times.
        let relative = |v: f64| 0.05 * v;
        near(
            "delta low",
            x.delta_low,
            Some(exact.delta_low),
            relative(exact.delta_low),
        );
        near(
            "delta high",
            x.delta_high,
            Some(exact.delta_high),
            relative(exact.delta_high),
        );
        near("Jain", x.jain, Some(exact.jain), 0.02);
        near("s", x.s.map(|v| v.value), exact.s_mean, 0.05);
        near(
            "Theorem 5",
            x.condition_fraction.map(|v| v.value),
            exact.condition_fraction,
            0.05,
        );
    }
}

fn check(source: Source, name: &str) {
    for view in [View::PROBED, View::PASSIVE] {
        let r = run(source, name, view);
        let e = r.estimate();
        let j = judge(&r, &e);
        show(name, if view.probed { "probed" } else { "passive" }, &e, &j);
        let n_b = e.estimates.n_b.value;
        assert!(
            (n_b - j.n_b).abs() <= slack(view.probed, j.n_b),
            "N_b {n_b}"
        );
        assert!(j.long_right as f64 >= 0.9 * j.long as f64, "classes");
        let t_e = e.estimates.t_e_ms.unwrap().value;
        assert!(
            (t_e / j.t_e_ms - 1.0).abs() <= 0.1,
            "T_e {t_e} {}",
            j.t_e_ms
        );
        equals_the_definitions(&r, &e, view.probed);
        match source {
            Golden => equals_what_the_reduction_measured(&r, view.probed),
            Whole => {
                let truth = r.truth["utilisation"].as_f64().unwrap();
                // The truth also covers the rest of the simulation.
                let close = (e.utilisation.mean.unwrap() - truth).abs();
                assert!(close <= 0.02, "utilisation {close}");
            }
        }
    }
}

/// `reduce.py` computes the truth of a cut run from its packets, with the true N_b and T_e and
/// without any of this code.
fn equals_what_the_reduction_measured(r: &Run, probed: bool) {
    let truth = &r.truth["measured"];
    let number = |key: &str| truth[key].as_f64();
    let ns = |key: &str| truth[key].as_u64().unwrap();
    let e = r
        .estimator
        .estimate(truth::LINK, ns("from_ns"), ns("to_ns"));
    assert_eq!((e.from_ns, e.to_ns), (ns("from_ns"), ns("to_ns")));
    // Lost reports count as packets like the received ones.
    let all = 1.0 + e.reports_lost as f64 / ns("arrivals") as f64;
    let made_up = |key: &str| (ns(key) as f64 * all).round() as u64;
    assert_eq!(
        (e.arrivals, e.drops.unwrap()),
        (made_up("arrivals"), made_up("drops"))
    );
    let rounded = if e.reports_lost > 0 { 1e-5 } else { 1e-12 };
    near("loss", e.loss_rate, number("loss_rate"), rounded);
    near(
        "utilisation",
        e.utilisation.mean,
        number("utilisation").map(|u| (u * all).min(1.0)),
        if e.reports_lost > 0 { 1e-5 } else { 1e-9 },
    );
    // From here on, values depend on the estimated N_b and T_e.
    let x = &e.estimates;
    let within = |part: f64, key: &str| number(key).map_or(0.0, |truth| part * truth);
    let key = "mean_loss_burst_pkts";
    let burst = x.mean_loss_burst.map(|v| v.value);
    near("L", burst, number(key), within(0.1, key));
    let alpha = burst.map(|_| x.alpha.value);
    let part = if probed { 0.15 } else { 0.3 };
    near("alpha", alpha, number("alpha"), within(part, "alpha"));
    if probed {
        let delta = x.delta.map(|v| v.value);
        near("delta", delta, number("delta"), within(0.15, "delta"));
    }
}

macro_rules! runs {
    ($($name:ident),*) => {
        $( #[test] fn $name() { check(Golden, stringify!($name)); } )*

        mod whole {
            use super::*;
            test_support::shared_data_test! {
                $( fn $name() { check(Whole, stringify!($name)); } )*
            }
        }
    };
}
runs!(
    bscl_n20_bdp,
    bscl_n60_bdp,
    one_newreno_1bdp,
    one_cubic_half_bdp,
    one_bbr_1bdp,
    reno_n16_sqrt,
    elastic_n2_b100
);

/// Parts of the runs, lost reports and longer records: nothing depends on the window that the runs
/// happen to have.
fn other_windows_of_the_mixes(source: Source, spans_s: &[(f64, f64)]) {
    let views = [
        View::PROBED,
        View::PASSIVE,
        View {
            lose_one_in: 100,
            ..View::PASSIVE
        },
        View {
            interval_ms: 20,
            ..View::PASSIVE
        },
        View {
            interval_ms: 5,
            ..View::PASSIVE
        },
    ];
    let (mut shown, mut wrong, mut long) = (0, 0, 0);
    for name in ["bscl_n20_bdp", "bscl_n60_bdp"] {
        for view in views {
            let r = run(source, name, view);
            for &(from_s, to_s) in spans_s {
                let e = r.between(from_s, to_s);
                let j = judge(&r, &e);
                show(name, &format!("{view:?} {from_s}-{to_s}"), &e, &j);
                let n_b = e.estimates.n_b.value;
                // Two thirds of the time or less, half of which is warm-up.
                let most = slack(view.probed, j.n_b) + 2.0;
                assert!((n_b - j.n_b).abs() <= most, "N_b {n_b}");
                let t_e = e.estimates.t_e_ms.unwrap().value;
                // During the warm-up other flows may be bottlenecked.
                let most = if from_s < 10.0 { 0.2 } else { 0.12 };
                assert!((t_e / j.t_e_ms - 1.0).abs() <= most, "T_e {t_e}");
                shown += 1;
                long += j.long;
                wrong += j.long - j.long_right;
            }
        }
    }
    println!("{shown} windows: {wrong} of {long} long flows wrong");
    assert!(wrong as f64 <= 0.1 * long as f64, "{wrong} of {long}");
}

/// One packet in 8 is reported: counts are scaled, drops are exact, the rest is reported as
/// unknown.
fn sampled_reports(source: Source) {
    let (mut inside, mut windows) = (0, 0);
    for name in ["bscl_n60_bdp", "reno_n16_sqrt", "elastic_n2_b100"] {
        for probed in [true, false] {
            let view = View {
                sampling_shift: 3,
                probed,
                ..View::PROBED
            };
            let unsampled = View {
                sampling_shift: 0,
                ..view
            };
            let (full, r) = (run(source, name, unsampled), run(source, name, view));
            let (a, b) = (full.estimate(), r.estimate());
            let (from_ns, to_ns) = r.estimator.span(truth::LINK).unwrap();
            for from_ns in (from_ns..to_ns - 1_000_000_000).step_by(1_000_000_000) {
                let of = |r: &Run| {
                    let to_ns = from_ns + 1_000_000_000;
                    r.estimator
                        .estimate(truth::LINK, from_ns, to_ns)
                        .utilisation
                };
                let (whole, part) = (of(&full), of(&r));
                let off = (whole.mean.unwrap() - part.mean.unwrap()).abs();
                assert_eq!(whole.sampling_error, None);
                inside += usize::from(off <= part.sampling_error.unwrap());
                windows += 1;
            }
            let j = judge(&r, &b);
            show(
                name,
                if probed { "probed 1:8" } else { "passive 1:8" },
                &b,
                &j,
            );
            // Reports lost by the capture itself are made up for; no report of a sample is missing.
            let made_up = 1.0 + a.reports_lost as f64 / a.arrivals as f64;
            let drops = b.drops.map(|d| (d as f64 * made_up).round() as u64);
            assert_eq!(a.drops, drops);
            let close = |x: f64, y: f64, by: f64| assert!((x / y - 1.0).abs() < by, "{x} {y}");
            close(
                a.utilisation.mean.unwrap(),
                b.utilisation.mean.unwrap(),
                0.02,
            );
            close(a.arrivals as f64, b.arrivals as f64, 0.02);
            close(a.loss_rate.unwrap(), b.loss_rate.unwrap(), 0.02);
            close(a.delay_ms.mean.unwrap(), b.delay_ms.mean.unwrap(), 0.03);
            assert!((a.estimates.rho.value - b.estimates.rho.value).abs() < 0.02);
            assert!(
                (a.utilisation.non_empty.unwrap() - b.utilisation.non_empty.unwrap()).abs() < 0.02
            );
            assert!(b.caveats.iter().any(|c| c.contains("one packet in 8")));
            if probed {
                let n_b = b.estimates.n_b.value;
                assert!((n_b - j.n_b).abs() <= slack(true, j.n_b) + 1.0, "N_b {n_b}");
                let t_e = b.estimates.t_e_ms.unwrap();
                assert!(t_e.low <= j.t_e_ms && j.t_e_ms <= t_e.high, "{t_e:?}");
                assert!((a.estimates.c_e_share.value - b.estimates.c_e_share.value).abs() < 0.05);
            } else {
                assert!(b.estimates.delta.is_none());
                // Nothing separates the classes, and the range shows that.
                let n = b.estimates.n_b;
                assert!(n.low <= j.n_b && j.n_b <= n.high, "{n:?} {}", j.n_b);
            }
        }
    }
    let share = inside as f64 / windows as f64;
    println!("utilisation inside its sampling error in {inside} of {windows}");
    assert!((0.85..=1.0).contains(&share), "{inside} of {windows}");
}

/// Without a configured capacity the rate while packets wait is used.
fn capacity_not_configured(source: Source) {
    for name in ["bscl_n20_bdp", "one_newreno_1bdp", "reno_n16_sqrt"] {
        let mut r = run(source, name, View::PROBED);
        let known = r.estimate();
        let info = LinkInfo {
            capacity_bps: 0,
            wire_overhead_bytes: 0,
            queue_overhead_bytes: 0,
            ..LinkInfo::default()
        };
        r.estimator
            .set_port((truth::LINK.node_id, truth::LINK.port), info);
        let e = r.estimate();
        let ratio = e.capacity_bps as f64 / known.capacity_bps as f64;
        assert!((ratio - 1.0).abs() < 0.01, "{name}: {ratio}");
        let (a, b) = (known.utilisation.mean.unwrap(), e.utilisation.mean.unwrap());
        assert!((a - b).abs() < 0.01, "{a} {b}");
        assert!(e.caveats.iter().any(|c| c.contains("not configured")));
        assert_eq!(e.estimates.n_b.value, known.estimates.n_b.value);
    }
}

/// The α used for advice varies less than that of a short window.
fn the_advisors_alpha_wavers_less(source: Source, windows: u64) {
    let r = run(source, "bscl_n60_bdp", View::PROBED);
    let (_, end) = r.estimator.span(truth::LINK).unwrap();
    let mut each = [Vec::new(), Vec::new()];
    for i in 0..windows {
        let to = end - i * 1_000_000_000;
        let e = r.estimator.estimate(truth::LINK, to - 10_000_000_000, to);
        each[0].push(e.estimates.alpha.value);
        each[1].push(e.measured().alpha.value);
    }
    let spread = |v: &[f64]| quantile(v, 0.9) - quantile(v, 0.1);
    println!("alpha by 10 s {:?}, for the advisor {:?}", each[0], each[1]);
    assert!(spread(&each[1]) < 0.7 * spread(&each[0]));
}

fn congestion_control_of_single_flows(source: Source, spans_s: [(f64, f64); 2]) {
    for (name, cc, beta) in [
        ("one_newreno_1bdp", CongestionControl::Reno, Some(0.5)),
        ("one_cubic_half_bdp", CongestionControl::Cubic, Some(0.7)),
        ("one_bbr_1bdp", CongestionControl::Bbr, None),
    ] {
        let r = run(source, name, View::PROBED);
        // Also if only a part of the run is seen.
        let parts = spans_s.map(|(from_s, to_s)| r.between(from_s, to_s));
        for e in parts.into_iter().chain([r.estimate()]) {
            let f = e.flows.iter().find(|f| f.class == FlowClass::Lbp).unwrap();
            assert_eq!(f.congestion_control, cc, "{name} {f:?}");
            if let (Some(b), Some(expected)) = (f.beta, beta) {
                assert!((b - expected).abs() < 0.05, "{name} {b}");
            }
            assert_eq!(e.measured().congestion_control, cc);
        }
    }
}

#[test]
fn other_windows_of_the_golden_mixes() {
    other_windows_of_the_mixes(Golden, &[(5.0, 25.0), (10.0, 25.0)]);
}

#[test]
fn sampled_reports_of_the_golden_runs() {
    sampled_reports(Golden);
}

#[test]
fn golden_capacity_not_configured() {
    capacity_not_configured(Golden);
}

#[test]
fn the_advisors_alpha_wavers_less_on_the_golden_run() {
    the_advisors_alpha_wavers_less(Golden, 8);
}

#[test]
fn congestion_control_of_single_golden_flows() {
    congestion_control_of_single_flows(Golden, [(10.0, 20.0), (5.0, 18.0)]);
}

test_support::shared_data_test! {
    fn other_windows_of_the_whole_mixes() {
        let spans_s = [(5.0, 25.0), (10.0, 25.0), (20.0, 39.0), (25.0, 39.0)];
        other_windows_of_the_mixes(Whole, &spans_s);
    }

    fn sampled_reports_of_the_whole_runs() {
        sampled_reports(Whole);
    }

    fn marks_are_counted_where_packets_are_sampled() {
        // A queue that marks: most packets that find it full are reported outside of the sample.
        for sampling_shift in [3, 6] {
            let view = |sampling_shift| View { sampling_shift, ..View::PROBED };
            let whole = run(Whole, "ecn_n30", view(0)).estimate();
            let part = run(Whole, "ecn_n30", view(sampling_shift)).estimate();
            assert!(whole.ce_marked > 1000);
            assert_eq!(part.ce_marked, whole.ce_marked);
            let close = |x: f64, y: f64, by: f64| assert!((x / y - 1.0).abs() < by, "{x} {y}");
            // Three standard errors of a sample of this size.
            let stands_for = f64::from(1u32 << sampling_shift);
            let by = 3.0 * ((stands_for - 1.0) / whole.arrivals as f64).sqrt();
            close(part.arrivals as f64, whole.arrivals as f64, by);
            close(part.utilisation.mean.unwrap(), whole.utilisation.mean.unwrap(), by);
            let (p, w) = (part.occupancy_bytes, whole.occupancy_bytes);
            close(p.mean.unwrap(), w.mean.unwrap(), by);
            close(p.p50.unwrap(), w.p50.unwrap(), by);
        }
    }

    fn whole_capacity_not_configured() {
        capacity_not_configured(Whole);
    }

    fn the_advisors_alpha_wavers_less_on_the_whole_run() {
        the_advisors_alpha_wavers_less(Whole, 15);
    }

    fn congestion_control_of_single_whole_flows() {
        congestion_control_of_single_flows(Whole, [(10.0, 20.0), (15.0, 30.0)]);
    }
}
