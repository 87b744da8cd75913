// SPDX-License-Identifier: Apache-2.0
use crate::{Verdict, advise, predict};
use tidemark_rules::range::Range;
use tidemark_rules::rule::RuleId;
use tidemark_rules::targets::{Options, Targets};
use tidemark_rules::traffic::{Observed, Traffic};

/// Half Reno, half CUBIC, with RTTs of 24 to 42 ms, measured at a large limit.
fn eight(limit_bytes: f64, drops: u64) -> Traffic {
    let mut m = Traffic::described(100e6, 0.0318, 8.0, 1514.0);
    m.queue_drain_bps = 100e6 * 1514.0 / 1538.0;
    m.t_mean_s = Range::exact(0.033);
    m.t_e_s = Range::relative(0.0318, 0.05);
    m.c_e_share = Range::exact(0.98);
    m.beta = Some(0.6);
    m.limit_bytes = Some(limit_bytes);
    m.alpha_measured = drops > 0;
    m.observed = Some(Observed {
        utilisation: 0.9996,
        loss_rate: drops as f64 / 80_000.0,
        drops,
        delay_mean_ms: 20.0,
        delay_p50_ms: 20.0,
        delay_p99_ms: 38.0,
        delay_max_ms: 38.5,
    });
    m
}

#[test]
fn without_losses_the_worst_is_taken() {
    for drops in [0, 5, 19] {
        let m = eight(472_000.0, drops);
        let a = advise(&m, &Targets::default(), &Options::default());
        let b = a.limit_bytes.unwrap() as f64;
        let bdp = m.drain_bytes_per_s() * 0.0318;
        // If all flows halve at once, 98 % needs 0.6 C*T, and 100 % needs C*T.
        assert!((0.55 * bdp..0.8 * bdp).contains(&b), "{b} {:#?}", a.reasons);
        let p = a.predicted.unwrap();
        assert!(p.utilisation.low >= 0.96 && p.utilisation.low < p.utilisation.value);
    }
}

/// A single Reno flow was measured at 82 % with a buffer of 0.62 C*T, as by UTB §3.5, and not at
/// the mean of its sawtooth.
#[test]
fn a_single_flow_needs_all_of_its_bdp() {
    let mut m = eight(312_000.0, 7);
    m.n_b = Range::exact(1.0);
    m.t_e_s = Range::exact(0.0104);
    m.t_mean_s = m.t_e_s;
    m.c_e_share = Range::exact(1.0);
    m.beta = Some(0.5);
    m.congestion_control = tidemark_rules::traffic::CongestionControl::Reno;
    let low = predict(&m, 78_000.0).unwrap().utilisation.low;
    assert!((0.78..0.84).contains(&low), "{low}");
    let a = advise(&m, &Targets::default(), &Options::default());
    let bdp = m.drain_bytes_per_s() * 0.0104;
    let b = a.limit_bytes.unwrap() as f64;
    // One BDP, and not less than half of the limit in force in one step.
    assert!((0.9 * bdp..1.25 * bdp).contains(&b), "{b} {:#?}", a.reasons);
}

/// A step that does not reach the limit that the targets need claims no chance to meet them.
#[test]
fn a_step_names_the_limit_that_it_goes_towards() {
    let mut m = eight(472_000.0, 10);
    m.congestion_control = tidemark_rules::traffic::CongestionControl::Unknown;
    let targets = Targets {
        delay_ms: Some(10.0),
        utilisation: 0.9,
        ..Targets::default()
    };
    let a = advise(&m, &targets, &Options::default());
    let (set, towards) = (a.limit_bytes.unwrap(), a.towards_bytes.unwrap());
    assert!(set >= 236_000 && towards < 130_000, "{:#?}", a.reasons);
    assert_eq!(a.chance, Some(0.0));
    let headline = Verdict::by(&a, &m, &targets).headline();
    assert!(headline.contains("(a step towards "), "{headline}");
    let near = advise(
        &eight(120_000.0, 3),
        &Targets::default(),
        &Options::default(),
    );
    assert_eq!(near.towards_bytes, None, "{:#?}", near.reasons);
}

#[test]
fn no_more_than_serves_already() {
    let m = eight(120_000.0, 3);
    let a = advise(&m, &Targets::default(), &Options::default());
    assert_eq!(a.limit_bytes, Some(120_000), "{:#?}", a.reasons);
    assert_eq!(a.rule, Some(RuleId::LimitInForce));
}

#[test]
fn the_range_says_so() {
    let unseen = predict(&eight(472_000.0, 0), 110_000.0).unwrap();
    assert!(unseen.utilisation.low < 0.95, "{unseen:?}");
    assert!(unseen.loss_rate.high > 4.0 * unseen.loss_rate.value);
}

#[test]
fn many_flows_keep_most_of_what_they_have() {
    // Ten drops of 40 flows do not show that they lose as little at half the limit.
    let mut m = eight(472_000.0, 10);
    m.n_b = Range::exact(40.0);
    let a = advise(&m, &Targets::default(), &Options::default());
    assert!(a.limit_bytes > Some(350_000), "{:#?}", a.reasons);
}

/// Less buffer cannot help if the link is not full for lack of traffic.
#[test]
fn never_less_where_utilisation_is_missed_without_losses() {
    for drops in [0, 19] {
        let mut m = eight(472_000.0, drops);
        if let Some(o) = &mut m.observed {
            o.utilisation = 0.96;
        }
        let a = advise(&m, &Targets::default(), &Options::default());
        assert!(a.limit_bytes.unwrap() >= 472_000, "{:#?}", a.reasons);
        let said = |r: &String| r.contains("missed at the limit in force");
        assert!(a.limit_bytes > Some(472_000) || a.reasons.iter().any(said));
    }
}
