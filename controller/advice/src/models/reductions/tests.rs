// SPDX-License-Identifier: Apache-2.0
use super::window::WindowScaling;
use super::*;
use crate::{advise, predict};
use proptest::prelude::*;
use tidemark_rules::range::Range;
use tidemark_rules::targets::{Options, Targets};
use tidemark_rules::traffic::{
    CongestionControl, Observed, Occupancy, Regime, Traffic, TriedLimit,
};

/// Occupancy found in phase 1 of a run of the demo, every 4th percentile, kB.
const PHASE_1_KB: [f64; 25] = [
    102.8, 149.7, 168.4, 180.6, 190.6, 198.9, 208.1, 216.2, 223.7, 230.2, 235.9, 241.2, 246.6,
    252.2, 257.2, 261.9, 266.9, 271.0, 275.5, 280.6, 285.1, 289.9, 295.3, 300.4, 306.8,
];
const PHASE_2_KB: [f64; 25] = [
    1.5, 6.0, 9.1, 13.6, 16.8, 19.7, 22.7, 25.8, 28.8, 31.8, 33.7, 36.2, 39.0, 40.8, 43.7, 45.5,
    48.3, 50.1, 53.0, 55.9, 58.9, 60.9, 65.0, 68.0, 71.7,
];

/// Phase 1 of a run of the demo: real TCP, 12 LBP flows.
fn phase_1() -> Traffic {
    let mut m = Traffic::described(100e6, 0.0193, 12.0, 1514.0);
    m.queue_drain_bps = 100e6 * 0.9845;
    m.t_e_s = Range::new(0.0193, 0.01827, 0.02034);
    m.t_mean_s = Range::exact(0.025);
    m.c_e_share = Range::exact(0.888);
    m.rho_other = 0.112;
    m.limit_bytes = Some(312_500.0);
    m.congestion_control = CongestionControl::Reno;
    m.alpha = Range::new(0.94, 0.77, 1.13);
    m.alpha_measured = true;
    m.observed = Some(Observed {
        utilisation: 0.9993,
        loss_rate: 0.00575,
        drops: 948,
        delay_mean_ms: 19.5,
        delay_p50_ms: 20.2,
        delay_p99_ms: 25.3,
        delay_max_ms: 25.5,
    });
    m.occupancy = Some(Occupancy {
        arrivals: 164_791,
        met_empty: 0.000_12,
        bytes: PHASE_1_KB.iter().map(|kb| kb * 1e3).collect(),
    });
    m
}

/// Phase 2 of the same run.
fn phase_2() -> Traffic {
    let mut m = phase_1();
    m.t_e_s = Range::new(0.01839, 0.01747, 0.01931);
    m.c_e_share = Range::exact(0.8);
    m.limit_bytes = Some(73_852.0);
    m.alpha = Range::exact(1.068);
    m.observed = Some(Observed {
        utilisation: 0.9364,
        loss_rate: 0.0182,
        drops: 2845,
        delay_mean_ms: 3.09,
        delay_p50_ms: 3.18,
        delay_p99_ms: 5.95,
        delay_max_ms: 6.11,
    });
    m.occupancy = Some(Occupancy {
        arrivals: 156_342,
        met_empty: 0.025,
        bytes: PHASE_2_KB.iter().map(|kb| kb * 1e3).collect(),
    });
    m
}

#[test]
fn and_back() {
    let p = predict(&phase_2(), 312_500.0).unwrap();
    // Measured at that limit: 0.575 % and 99.9 %, 19.6 ms.
    assert!((p.loss_rate.value / 0.00575 - 1.0).abs() < 0.15, "{p:?}");
    assert!(p.loss_rate.low < 0.00575 && 0.00575 < p.loss_rate.high);
    assert!(p.utilisation.value > 0.99 && p.utilisation.high > 0.9992);
    assert!((p.delay_mean_ms.value - 19.6).abs() < 2.5, "{p:?}");
    let a = advise(&phase_2(), &likely(), &Options::default());
    let b = a.limit_bytes.unwrap();
    assert!((150_000..=210_000).contains(&b), "{:#?}", a.reasons);
    let sure = advise(&phase_2(), &demo_targets(), &Options::default());
    let sure = sure.limit_bytes.unwrap() as f64 / b as f64;
    assert!((1.1..1.6).contains(&sure), "{sure}");
}

/// Targets with confidence 0.5, the behaviour before confidence could be requested.
fn likely() -> Targets {
    Targets {
        confidence: 0.5,
        ..demo_targets()
    }
}

fn demo_targets() -> Targets {
    Targets {
        utilisation: 0.98,
        loss_rate: Some(0.01),
        delay_ms: Some(30.0),
        ..Targets::default()
    }
}

#[test]
fn the_demo_is_foreseen() {
    let p = predict(&phase_1(), 73_852.0).unwrap();
    // Measured at that limit: 1.82 % and 93.6 %.
    assert!((p.loss_rate.value / 0.0182 - 1.0).abs() < 0.15, "{p:?}");
    assert!(p.loss_rate.low < 0.0182 && 0.0182 < p.loss_rate.high);
    assert!((0.90..0.975).contains(&p.utilisation.value), "{p:?}");
    assert!(p.utilisation.low < 0.936 && 0.936 < p.utilisation.high);
    // The papers' formulas are still shown.
    let formula = p.formula.unwrap();
    assert!(formula.utilisation > 0.99 && formula.loss_rate < 0.004);
}

#[test]
fn the_demo_is_advised_more_than_bscl_asks() {
    let m = phase_1();
    let sure = advise(&m, &demo_targets(), &Options::default());
    assert!((190_000..=240_000).contains(&sure.limit_bytes.unwrap()));
    let a = advise(&m, &likely(), &Options::default());
    let b = a.limit_bytes.unwrap();
    assert!(
        a.feasible && (150_000..=235_000).contains(&b),
        "{b} {:#?}",
        a.reasons
    );
    let p = a.predicted.unwrap();
    assert!(p.utilisation.value >= 0.98 - 1e-6 && p.loss_rate.value <= 0.01 + 1e-9);
    assert!(a.rule.unwrap().as_str().starts_with("measured_"));
    assert!(!a.reasons.iter().any(|r| r.contains("far from")));
}

#[test]
fn far_from_the_limit_in_force_is_said() {
    // Hardly any loss with a buffer of 3 MB.
    let mut m = phase_1();
    m.limit_bytes = Some(3_000_000.0);
    m.observed.as_mut().unwrap().loss_rate = 0.0001;
    // A first step does not go that far.
    let mut tried = TriedLimit::of(&m, 0).unwrap();
    tried.limit_bytes = 2_000_000.0;
    m.tried = vec![tried];
    for bytes in &mut m.occupancy.as_mut().unwrap().bytes {
        *bytes += 2_600_000.0;
    }
    let a = advise(&m, &demo_targets(), &Options::default());
    assert!(a.limit_bytes.unwrap() < 3_000_000 / 8, "{:#?}", a.reasons);
    assert!(
        a.reasons
            .iter()
            .any(|r| r.contains("more than 8 times smaller"))
    );
}

#[test]
fn other_models_where_nothing_fits() {
    let limit = 312_500.0;
    let changes: [fn(&mut Traffic); 8] = [
        |m| m.observed = None,
        |m| m.regime = Regime::Overload,
        |m| m.c_e_share = Range::exact(0.4),
        |m| m.congestion_control = CongestionControl::Bbr,
        |m| m.limit_bytes = None,
        |m| m.saturable = Some(false),
        |m| m.observed.as_mut().unwrap().drops = 19,
        |m| m.observed.as_mut().unwrap().loss_rate = 0.2,
    ];
    for (i, change) in changes.iter().enumerate() {
        let mut m = phase_1();
        change(&mut m);
        assert!(LossScaling::of(&m).is_none(), "change {i}");
        assert!(WindowScaling::of(&m).is_none(), "change {i}");
        assert!(predict(&m, limit).is_ok());
    }
    // Without the distribution, loss can be scaled but utilisation cannot.
    let mut m = phase_1();
    m.occupancy = None;
    let p = predict(&m, limit).unwrap();
    assert_eq!(p.loss_rate.value, 0.00575);
    assert!((p.utilisation.value - 0.9993).abs() < 1e-9);
}

#[test]
fn two_synchronised_reno_flows() {
    // W is uniform over rounds between 1 and 2 C·T at B = C·T; without a buffer it swings between
    // 0.5 and 1: 3/4 by rounds. Time weights rounds by W.
    let mut m = phase_1();
    let bdp = m.drain_bytes_per_s() * m.t_e_s.value;
    m.n_b = Range::exact(2.0);
    m.c_e_share = Range::exact(1.0);
    m.limit_bytes = Some(bdp);
    m.observed.as_mut().unwrap().utilisation = 1.0;
    // Share of time below w: F(w) = (w² − 1)/3.
    m.occupancy = Some(Occupancy {
        arrivals: 10_000,
        met_empty: 0.0,
        bytes: (0..100)
            .map(|i| ((1.0 + 3.0 * (f64::from(i) + 0.5) / 100.0).sqrt() - 1.0) * bdp)
            .collect(),
    });
    let s = WindowScaling::of(&m).unwrap();
    assert!((s.utilisation_at(0.0).unwrap() - 0.75).abs() < 1e-3);
    // A single flow may fall to 0.4.
    let mut one = m.clone();
    one.n_b = Range::exact(1.0);
    let one = WindowRange::of(&one).unwrap().range_at(0.0).unwrap();
    assert!(
        one.low < 0.70 && (0.70..0.75).contains(&one.value),
        "{one:?}"
    );
    let l = LossScaling::of(&m).unwrap();
    // Half the window of 157 segments: nearly four times the loss.
    let factor = additive(&m, bdp, 0.0);
    assert!((3.8..4.0).contains(&factor), "{factor}");
    assert!((l.loss_at(0.0).unwrap() - factor * 0.00575).abs() < 1e-9);
}

/// Returns p'/p of additive increase between two limits, with equal base RTTs.
fn additive(m: &Traffic, from_bytes: f64, to_bytes: f64) -> f64 {
    let bdp = m.drain_bytes_per_s() * m.t_e_s.value;
    let per_flow = m.c_e_share.value / m.n_b.value / m.segment_bytes;
    let counted = |bytes: f64| (bdp + bytes) * per_flow + 2.5;
    (counted(from_bytes) / counted(to_bytes)).powi(2)
}

/// Drops of slow-start overshoots do not predict the loss with a smaller buffer.
#[test]
fn overshoots_do_not_grow() {
    let mut m = phase_1();
    let all = predict(&m, 73_852.0).unwrap().loss_rate;
    m.overshoot_drops = 474;
    let p = predict(&m, 73_852.0).unwrap().loss_rate;
    // Half of 0.575 % scales with the windows, half stays.
    let factor = additive(&m, 312_500.0, 73_852.0);
    assert!((p.value - 0.002875 * (1.0 + factor)).abs() < 1e-6, "{p:?}");
    assert!(p.high >= all.value);
    // Towards larger limits nothing changes.
    m.overshoot_drops = 900;
    let up = predict(&m, 600_000.0).unwrap().loss_rate.value;
    m.overshoot_drops = 0;
    assert_eq!(predict(&m, 600_000.0).unwrap().loss_rate.value, up);
}

/// Rates of equal windows add up to the capacity, whatever the RTTs.
#[test]
fn windows_of_different_base_rtts() {
    let mut m = phase_1();
    let limit = m.limit_bytes.unwrap();
    let alike = predict(&m, 100_000.0).unwrap().loss_rate.value;
    m.base_rtts_s = vec![m.t_e_s.value; 3];
    let same = predict(&m, 100_000.0).unwrap().loss_rate.value;
    assert!((same / alike - 1.0).abs() < 1e-9);
    // Two flows whose harmonic mean is T_e.
    let t_e = m.t_e_s.value;
    m.base_rtts_s = vec![t_e * 0.6, t_e * 3.0];
    let drain = m.drain_bytes_per_s();
    let sum = |b: f64| {
        m.base_rtts_s
            .iter()
            .map(|t| 1.0 / (t + b / drain))
            .sum::<f64>()
    };
    let flow_pkts_per_s = drain * m.c_e_share.value / 12.0 / 1514.0;
    let counted = |b: f64| flow_pkts_per_s * 2.0 / sum(b) + 2.5;
    let k = counted(100_000.0) / counted(limit);
    let p = LossScaling::of(&m).unwrap();
    assert!((p.loss_at(100_000.0).unwrap() * k * k / 0.00575 - 1.0).abs() < 1e-9);
    assert!((p.loss_at(limit).unwrap() - 0.00575).abs() < 1e-12);
}

/// One loss event of 25 drops does not show how flows lose together.
#[test]
fn a_single_event_is_not_trusted_far_away() {
    let mut m = phase_1();
    let many = predict(&m, 150_000.0).unwrap().utilisation;
    m.observed.as_mut().unwrap().drops = 25;
    let one = predict(&m, 150_000.0).unwrap().utilisation;
    assert!(one.value < many.value, "{one:?} {many:?}");
    let targets = Targets {
        loss_rate: None,
        ..demo_targets()
    };
    let a = advise(&m, &targets, &Options::default()).limit_bytes;
    assert!(a > advise(&phase_1(), &targets, &Options::default()).limit_bytes);
}

#[test]
fn old_json_still_parses() {
    let mut m = phase_1();
    let json = serde_json::to_value(&m).unwrap();
    assert_eq!(serde_json::from_value::<Traffic>(json).unwrap(), m);
    m.occupancy = None;
    let json = serde_json::to_value(&m).unwrap();
    assert!(json.get("occupancy").is_none());
    assert_eq!(serde_json::from_value::<Traffic>(json).unwrap(), m);
}

#[test]
fn fewer_events_leave_a_wider_range() {
    let m = phase_1();
    let mut few = m.clone();
    few.observed.as_mut().unwrap().drops = 40;
    let width = |m: &Traffic| {
        let p = predict(m, 100_000.0).unwrap();
        (
            p.loss_rate.high - p.loss_rate.low,
            p.utilisation.high - p.utilisation.low,
        )
    };
    let (a, b) = (width(&m), width(&few));
    assert!(b.0 > a.0 && b.1 > a.1, "{a:?} {b:?}");
}

prop_compose! {
    fn situations()(rtt_ms in 2.0f64..200.0, n in 1.0f64..200.0, share in 0.5f64..1.0,
                    bdps in 0.02f64..3.0, p in 0.0005f64..0.05, empty in 0.0f64..0.7,
                    idle in 0.0f64..1.0, shape in 0.1f64..3.0, overshoots in 0u64..948) -> Traffic {
        let mut m = phase_1();
        m.overshoot_drops = overshoots;
        m.t_e_s = Range::relative(rtt_ms / 1e3, 0.05);
        m.t_mean_s = m.t_e_s;
        m.n_b = Range::exact(n);
        let limit = m.drain_bytes_per_s() * rtt_ms / 1e3 * bdps;
        m.limit_bytes = Some(limit);
        m.occupancy = Some(Occupancy {
            arrivals: 50_000,
            met_empty: empty,
            bytes: (0..100).map(|i| limit * ((f64::from(i) + 0.5) / 100.0).powf(shape)).collect(),
        });
        let utilisation = 1.0 - 0.4 * empty * idle;
        m.c_e_share = Range::exact((share * utilisation).max(0.5));
        let o = m.observed.as_mut().unwrap();
        o.loss_rate = p;
        o.utilisation = utilisation;
        o.delay_mean_ms = limit * 0.5 / (100e6 / 8.0) * 1e3;
        m
    }
}

proptest! {
    #[test]
    fn at_the_limit_in_force_all_is_as_measured(m in situations()) {
        let p = predict(&m, m.limit_bytes.unwrap()).unwrap();
        let o = m.observed.unwrap();
        prop_assert!((p.loss_rate.value - o.loss_rate).abs() < 1e-9);
        prop_assert!((p.utilisation.value - o.utilisation).abs() < 1e-9);
        prop_assert!((p.delay_mean_ms.value - o.delay_mean_ms).abs() < 1e-6);
    }

    #[test]
    fn monotone_and_within_its_range(m in situations(), a in 0.0f64..4.0, more in 0.0f64..2.0) {
        let limit = m.limit_bytes.unwrap();
        let small = predict(&m, limit * a).unwrap();
        let large = predict(&m, limit * (a + more)).unwrap();
        prop_assert!(large.loss_rate.value <= small.loss_rate.value + 1e-12);
        prop_assert!(large.utilisation.value >= small.utilisation.value - 1e-9);
        prop_assert!(large.delay_mean_ms.value >= small.delay_mean_ms.value - 1e-9);
        for p in [small, large] {
            for i in [p.loss_rate, p.utilisation, p.delay_mean_ms] {
                prop_assert!(i.low <= i.value && i.value <= i.high);
            }
            prop_assert!((0.0..=1.0).contains(&p.utilisation.low) && p.utilisation.high <= 1.0);
            prop_assert!(p.loss_rate.low >= 0.0 && p.loss_rate.high <= 1.0);
        }
    }
}

/// C·T̄, three BBR flows among nine: they carry 90 % of the bytes and have three quarters of the
/// drops.
fn with_bbr() -> Traffic {
    let mut m = phase_1();
    m.n_b = Range::exact(9.0);
    m.congestion_control = CongestionControl::Unknown;
    let o = m.observed.as_mut().unwrap();
    (o.utilisation, o.loss_rate, o.drops) = (0.9898, 0.0851, 14_000);
    m.model_based_share = 0.9;
    m.model_based_drops = 10_500;
    m
}

/// Measured with real TCP: 8.5, 9.3 and 10.3 % at 312, 156 and 78 kB, with a utilisation of 99.0,
/// 98.9 and 98.6 %. Without treating BBR separately, 16 and 27 % and 92 and 86 % were predicted.
#[test]
fn bbr_sends_what_its_cap_lets_it() {
    let m = with_bbr();
    for (bytes, loss, utilisation) in [(156_000.0, 0.0933, 0.9889), (78_000.0, 0.1032, 0.986)] {
        let p = predict(&m, bytes).unwrap();
        assert!((p.loss_rate.value / loss - 1.0).abs() < 0.35, "{p:?}");
        assert!((p.utilisation.value - utilisation).abs() < 0.02, "{p:?}");
        assert!(p.loss_rate.low <= loss && loss <= p.loss_rate.high, "{p:?}");
        assert!(p.utilisation.low <= utilisation && utilisation <= p.utilisation.high);
    }
    let a = advise(&m, &demo_targets(), &Options::default());
    let bscl = a
        .rules
        .iter()
        .find(|r| r.id.as_str() == "bscl_loss")
        .unwrap();
    assert!(!bscl.applies);
}

/// One Reno flow of real TCP left 4.3 % unused at 78 kB and 1.7 % at 156 kB, where its swing alone
/// would fill the link.
#[test]
fn idle_time_of_recoveries_does_not_vanish() {
    let mut m = phase_1();
    m.n_b = Range::exact(1.0);
    m.c_e_share = Range::exact(0.957);
    m.t_e_s = Range::relative(0.0101, 0.05);
    m.limit_bytes = Some(78_000.0);
    let o = m.observed.as_mut().unwrap();
    (o.utilisation, o.loss_rate, o.drops) = (0.9571, 0.0007, 120);
    let p = predict(&m, 156_000.0).unwrap();
    assert!(p.utilisation.low <= 0.9832, "{p:?}");
    assert!(p.utilisation.low > 0.9571, "{p:?}");
}

/// A tried limit lost more than the bound: the way to the bound is longer than the law expects. A
/// simulation gave 3.6 % at 352.5 kB, where 2 % was expected.
#[test]
fn what_smaller_and_larger_limits_lost_is_kept_in_mind() {
    let mut m = phase_1();
    let loss = |m: &Traffic, bytes: f64| predict(m, bytes).unwrap().loss_rate.value;
    let now = m.observed.unwrap().loss_rate;
    let mut tried = TriedLimit::of(&m, 0).unwrap();
    (tried.limit_bytes, tried.loss_rate, tried.loss_events) = (260e3, 4.0 * now, 80.0);
    let without = loss(&m, 260e3);
    m.tried = vec![tried];
    assert!(without < 2.0 * now && loss(&m, 260e3) > 3.0 * now);
    assert!(loss(&m, 200e3) >= loss(&m, 260e3) && loss(&m, 280e3) > loss(&m, 300e3));
    assert!((loss(&m, 312_500.0) / now - 1.0).abs() < 1e-9);
    // A larger limit that lost less than the law expects.
    (m.tried[0].limit_bytes, m.tried[0].loss_rate) = (350e3, 0.2 * now);
    assert!(loss(&m, 350e3) < 0.3 * now && loss(&m, 330e3) > loss(&m, 350e3));
    assert!(loss(&m, 400e3) <= loss(&m, 350e3));
    // A state file may contain anything.
    (m.tried[0].limit_bytes, m.tried[0].loss_rate) = (260e3, 5.0);
    assert!(loss(&m, 250e3) <= 1.0);
    // A difference within chance has no effect.
    (m.tried[0].limit_bytes, m.tried[0].loss_rate) = (300e3, 1.1 * now);
    let p = loss(&m, 290e3);
    m.tried.clear();
    assert!((loss(&m, 290e3) / p - 1.0).abs() < 0.05);
}
