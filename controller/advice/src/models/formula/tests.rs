// SPDX-License-Identifier: Apache-2.0
use crate::{predict, what_if};
use proptest::prelude::*;
use tidemark_rules::Range;
use tidemark_rules::sawtooth::sawtooth;
use tidemark_rules::traffic::{CongestionControl, Observed, Regime, Traffic};

fn measured(n: f64) -> Traffic {
    let mut m = Traffic::described(100e6, 0.0192, n, 1514.0);
    m.n_b = Range::new(n, n - 1.0, n + 1.0);
    m.alpha = Range::new(0.55, 0.4, 0.7);
    m.t_e_s = Range::relative(0.0192, 0.05);
    m
}

#[test]
fn one_reno_flow_without_and_with_a_buffer() {
    // W from BDP/2 to BDP: 3/4 of the capacity is used.
    assert!((sawtooth(0.5, 1.0).unwrap().utilisation - 0.75).abs() < 1e-12);
    let full = sawtooth(1.0, 2.0).unwrap();
    assert_eq!(full.utilisation, 1.0);
    // Mean of (W−1) weighted by W over 1..2: (7/3 − 3/2)/(3/2).
    assert!((full.mean_queue_bdp - (7.0 / 3.0 - 1.5) / 1.5).abs() < 1e-12);
    let m = Traffic::described(50e6, 0.02, 1.0, 1500.0);
    assert!((predict(&m, 0.0).unwrap().utilisation.value - 0.75).abs() < 1e-9);
    assert_eq!(predict(&m, 125_000.0).unwrap().utilisation.value, 1.0);
}

#[test]
fn beta_of_cubic_needs_less() {
    let mut m = Traffic::described(50e6, 0.02, 1.0, 1500.0);
    let reno = predict(&m, 50_000.0).unwrap().utilisation.value;
    m.beta = Some(0.7);
    m.congestion_control = CongestionControl::Cubic;
    assert!(predict(&m, 50_000.0).unwrap().utilisation.value > reno);
    assert_eq!(
        predict(&m, 0.43 * 125_000.0).unwrap().utilisation.value,
        1.0
    );
}

#[test]
fn orientation_of_the_simulator() {
    // At BSCL's buffers for 1 % the simulation shows 0.93, 0.96, 1.10 %.
    for (n, packets) in [(60.0, 295.0), (100.0, 643.0), (200.0, 1513.0)] {
        let mut m = Traffic::described(50e6, 0.0603, n, 1500.0);
        m.c_e_share = Range::exact(0.9);
        let p = predict(&m, packets * 1500.0).unwrap();
        assert!(
            (p.loss_rate.value - 0.01).abs() < 0.0012,
            "{n}: {}",
            p.loss_rate.value
        );
        assert!(p.utilisation.value > 0.995, "{n}: {}", p.utilisation.value);
    }
}

#[test]
fn interval_covers_what_is_uncertain() {
    let m = measured(12.0);
    let p = predict(&m, 100_000.0).unwrap();
    assert!(p.loss_rate.low < p.loss_rate.value && p.loss_rate.value < p.loss_rate.high);
    let mut more = m.clone();
    more.n_b = Range::exact(13.0);
    let at_13 = predict(&more, 100_000.0).unwrap().loss_rate.value;
    assert!(p.loss_rate.high >= at_13);
}

#[test]
fn measured_loss_goes_before_the_formula() {
    let mut m = measured(12.0);
    m.limit_bytes = Some(200_000.0);
    let pure = predict(&m, 100_000.0).unwrap().loss_rate;
    let there = predict(&m, 200_000.0).unwrap().loss_rate.value;
    let mut observed = Observed {
        utilisation: 1.0,
        loss_rate: 2.5 * there,
        drops: 500,
        delay_mean_ms: 10.0,
        delay_p50_ms: 10.0,
        delay_p99_ms: 16.0,
        delay_max_ms: 16.0,
    };
    m.observed = Some(observed);
    let scaled = predict(&m, 100_000.0).unwrap().loss_rate;
    // Eq. 18 has w², the law (w + 2.5)².
    let bdp_pkts = m.drain_bytes_per_s() * 0.0192 / 1514.0;
    let window = |bytes: f64| (bdp_pkts + bytes / 1514.0) / 12.0;
    let offset = |bytes: f64| 1.0 + 2.5 / window(bytes);
    let less = (offset(200_000.0) / offset(100_000.0)).powi(2);
    assert!(
        (scaled.value - 2.5 * pure.value * less).abs() < 1e-9,
        "{scaled:?}"
    );
    assert!((0.8..1.0).contains(&less));
    assert!(scaled.low < scaled.value && scaled.value < scaled.high);
    observed.drops = 3;
    m.observed = Some(observed);
    // Three drops are the measurement at the limit in force, but weak evidence.
    let few = predict(&m, 200_000.0).unwrap().loss_rate;
    assert!((few.value / observed.loss_rate - 1.0).abs() < 1e-9);
    let few = predict(&m, 100_000.0).unwrap().loss_rate;
    assert!(
        few.low < pure.value && few.high > 4.0 * pure.value,
        "{few:?}"
    );
}

#[test]
fn at_the_limit_in_force_is_what_was_observed() {
    let mut m = measured(12.0);
    m.limit_bytes = Some(240_000.0);
    m.observed = Some(Observed {
        utilisation: 0.97,
        loss_rate: 0.001,
        drops: 0,
        delay_mean_ms: 10.0,
        delay_p50_ms: 10.0,
        delay_p99_ms: 16.0,
        delay_max_ms: 16.0,
    });
    let u = predict(&m, 240_000.0).unwrap().utilisation;
    assert!((u.value - 0.97).abs() < 1e-9 && u.low < 0.97 && u.high > 0.97);
}

#[test]
fn less_than_one_flow_is_no_corner() {
    let mut m = Traffic::described(50e6, 0.02, 1.0, 1500.0);
    m.n_b = Range::new(1.0, 0.5, 1.4);
    assert!(predict(&m, 60_000.0).unwrap().loss_rate.high < 0.01);
}

#[test]
fn bbr_hardly_loses_utilisation() {
    let mut m = Traffic::described(50e6, 0.02, 1.0, 1500.0);
    m.congestion_control = CongestionControl::Bbr;
    let u = |b: f64| predict(&m, b).unwrap().utilisation.value;
    assert!((u(0.0) - (1.0 - 0.25 / 8.0)).abs() < 1e-9);
    assert_eq!(u(0.25 * 125_000.0), 1.0);
}

/// One simulated BBR flow with a buffer of one BDP: 94.4 % and 0.019 %.
#[test]
fn what_bbr_leaves_unused_is_not_the_buffers() {
    let mut m = Traffic::described(50e6, 0.02, 1.0, 1500.0);
    m.congestion_control = CongestionControl::Bbr;
    m.model_based_share = 1.0;
    m.limit_bytes = Some(124_500.0);
    m.observed = Some(Observed {
        utilisation: 0.9444,
        loss_rate: 0.000_19,
        drops: 15,
        delay_mean_ms: 2.0,
        delay_p50_ms: 1.0,
        delay_p99_ms: 19.0,
        delay_max_ms: 20.0,
    });
    let p = predict(&m, 124_500.0).unwrap();
    assert!((p.utilisation.value - 0.9444).abs() < 1e-9, "{p:?}");
    assert_eq!(p.loss_rate.value, 0.000_19);
    let more = predict(&m, 249_000.0).unwrap();
    assert!((more.utilisation.value - 0.9444).abs() < 1e-9, "{more:?}");
    assert!(more.utilisation.high > 0.98 && more.loss_rate.low < 1e-4);
    let none = predict(&m, 0.0).unwrap();
    assert!(none.utilisation.value < 0.92, "{none:?}");
    // So a smaller buffer is not advised if 98 % is the target.
    let targets = tidemark_rules::targets::Targets {
        utilisation: 0.98,
        ..Default::default()
    };
    let a = crate::advise(&m, &targets, &Default::default());
    assert!(a.limit_bytes.unwrap() >= 124_500, "{:#?}", a.reasons);
}

/// At another limit, a few more drops than the formula expects raise the prediction.
#[test]
fn few_drops_are_weighed_against_the_formula() {
    let mut m = Traffic::described(50e6, 0.02, 1.0, 1500.0);
    let formula = predict(&m, 30_000.0).unwrap().loss_rate.value;
    m.limit_bytes = Some(63_000.0);
    // Arrivals in 10 s.
    let arrivals = 10.0 * 50e6 / 8.0 / 1500.0;
    let mut predicted = |drops: u64, bytes: f64| {
        m.observed = Some(Observed {
            utilisation: 1.0,
            loss_rate: drops as f64 / arrivals,
            drops,
            delay_mean_ms: 2.0,
            delay_p50_ms: 1.0,
            delay_p99_ms: 9.0,
            delay_max_ms: 10.0,
        });
        predict(&m, bytes).unwrap().loss_rate
    };
    assert_eq!(predicted(0, 63_000.0).value, 0.0);
    assert!(predicted(0, 30_000.0).high > formula);
    assert!((predicted(15, 63_000.0).value * arrivals - 15.0).abs() < 1e-6);
    let (few, more) = (predicted(5, 30_000.0), predicted(15, 30_000.0));
    assert!(
        few.value < more.value && more.high > 2.0 * formula,
        "{few:?} {more:?}"
    );
}

#[test]
fn transparent_and_overload() {
    let mut m = Traffic::described(100e6, 0.02, 0.0, 1514.0);
    m.rho = 0.9;
    m.rho_other = 0.9;
    let p = predict(&m, 100.0 * 1514.0).unwrap();
    // M/M/1/K: single packets lose (1 − ρ)·ρ^100, a tenth of NGI's tail.
    assert!((p.loss_rate.low / 2.66e-6 - 1.0).abs() < 0.01, "{p:?}");
    assert!(p.loss_rate.low < 2.66e-5 && 2.66e-5 < p.loss_rate.high);
    assert!((p.utilisation.value - 0.9 * (1.0 - p.loss_rate.value)).abs() < 1e-12);
    m.rho = 1.25;
    m.rho_other = 1.25;
    m.regime = Regime::Overload;
    let p = predict(&m, 100.0 * 1514.0).unwrap();
    assert!((p.utilisation.value - 1.0).abs() < 1e-3);
    assert!((p.loss_rate.low - 0.2).abs() < 1e-9 && p.loss_rate.value < 0.201);
    // No jump at capacity.
    let mut loss_at = |load: f64| {
        (m.rho, m.rho_other) = (load, load);
        m.regime = Regime::Transparent;
        predict(&m, 20.0 * 1514.0).unwrap().loss_rate
    };
    let [below, at, above] = [0.999, 1.0, 1.001].map(&mut loss_at);
    assert!(below.value < at.value && at.value < above.value);
    assert!((above.value - below.value).abs() < 0.002 && at.low < at.value);
}

#[test]
fn what_is_not_known_is_refused() {
    let mut m = measured(12.0);
    m.queue_drain_bps = 0.0;
    assert!(predict(&m, 1.0).unwrap_err().name.contains("drain"));
    let mut m = measured(12.0);
    m.t_e_s = Range::exact(0.0);
    assert!(predict(&m, 1.0).is_err());
    assert!(what_if(&measured(12.0), [0.0, -1.0]).is_err());
}

proptest! {
    #[test]
    fn more_buffer_is_never_worse_but_slower(n in 1.5f64..200.0, b in 0.0f64..1e6) {
        let m = measured(n);
        let (a, c) = (predict(&m, b).unwrap(), predict(&m, b * 1.2 + 1500.0).unwrap());
        prop_assert!(c.utilisation.value >= a.utilisation.value - 1e-9);
        prop_assert!(c.loss_rate.value <= a.loss_rate.value);
        prop_assert!(c.delay_ms.value > a.delay_ms.value);
        prop_assert!(c.delay_mean_ms.value >= a.delay_mean_ms.value - 1e-9);
        for p in [a, c] {
            for i in [p.utilisation, p.loss_rate, p.delay_ms, p.delay_mean_ms] {
                prop_assert!(i.low <= i.value && i.value <= i.high);
            }
            prop_assert!((0.0..=1.0).contains(&p.utilisation.value));
            prop_assert!(p.delay_mean_ms.value <= p.delay_ms.value);
        }
    }

    #[test]
    fn curve_has_the_points_asked_for(n in 1.0f64..50.0, count in 1usize..30) {
        let bytes: Vec<f64> = (0..count).map(|i| i as f64 * 10_000.0).collect();
        let curve = what_if(&measured(n + 1.0), bytes.clone()).unwrap();
        prop_assert_eq!(curve.iter().map(|p| p.buffer_bytes).collect::<Vec<_>>(), bytes);
    }
}
