// SPDX-License-Identifier: Apache-2.0
//! Estimates from the telemetry of a small model with known truth.

#![allow(clippy::unwrap_used)] // helpers of tests

use crate::sim;

use sim::{Kind, MSS, NODE, PORT, Scenario, Spec, run};
use tidemark_estimators::{
    CongestionControl, Estimator, EstimatorConfig, Evidence, FlowClass, LinkEstimate, LinkId,
    Regime,
};

const LINK: LinkId = LinkId {
    node_id: NODE,
    port: PORT,
    queue: 0,
};
const RENO: Kind = Kind::Lbp {
    beta: 0.5,
    increase: 1.0,
};
const CUBIC: Kind = Kind::Lbp {
    beta: 0.7,
    increase: 1.0,
};

fn spec(kind: Kind, rtt_s: f64, start_window: f64) -> Spec {
    Spec {
        kind,
        rtt_s,
        start_window,
    }
}

/// The demo's mix: 12 LBP, 2 RBP, 2 held back by their hosts, 2 WL, short flows.
fn demo(probed: bool) -> Scenario {
    let mut flows = Vec::new();
    for i in 0..12 {
        let rtt_s = [0.01, 0.02, 0.03, 0.04][i % 4];
        flows.push(spec(
            if i < 6 { RENO } else { CUBIC },
            rtt_s,
            10.0 + i as f64,
        ));
    }
    flows.push(spec(Kind::Rbp { max_window: 12.0 }, 0.02, 6.0));
    flows.push(spec(Kind::Rbp { max_window: 16.0 }, 0.03, 6.0));
    flows.push(spec(Kind::Wl { segments: 6.0 }, 0.02, 6.0));
    flows.push(spec(Kind::Wl { segments: 8.0 }, 0.04, 8.0));
    flows.push(spec(
        Kind::HeldBack {
            segments: 5.0,
            window: 20,
        },
        0.02,
        5.0,
    ));
    for i in 0..60 {
        flows.push(spec(
            Kind::Short {
                packets: 14,
                at_s: 0.3 * f64::from(i),
            },
            0.02,
            2.0,
        ));
    }
    Scenario {
        capacity_bps: 100e6,
        limit_pkts: 203.0,
        seconds: 22.0,
        probed,
        flows,
    }
}

fn estimate(s: &Scenario, skip_s: f64) -> (LinkEstimate, sim::Run) {
    let r = run(s);
    let mut e = Estimator::new(EstimatorConfig::default());
    e.set_nodes(&r.nodes);
    for u in &r.updates {
        e.push(u);
    }
    let (start, end) = e.span(LINK).unwrap();
    let from = start + (skip_s * 1e9) as u64;
    let got = e.estimate(LINK, from, end);
    // N_b alone is equal in every scenario.
    assert_eq!(e.n_b(LINK, from, end), got.estimates.n_b);
    the_last_part_is_as_if_alone(&e, from, end, &got);
    (got, r)
}

/// The last part gives the same estimate as on its own, and the same N_b: the records of a scenario
/// are fewer than the history that a class may use.
fn the_last_part_is_as_if_alone(e: &Estimator, from: u64, end: u64, whole: &LinkEstimate) {
    let recent = end - (end - from) / 3;
    let (estimate, n_b) = e.estimate_and_recent_n_b(LINK, from, end, recent);
    // Compared as text, because some values are NaN.
    assert_eq!(format!("{estimate:?}"), format!("{whole:?}"));
    assert_eq!(n_b, e.n_b(LINK, recent, end));
}

fn class_of(e: &LinkEstimate, flow: u64) -> FlowClass {
    e.flows.iter().find(|f| f.flow == flow).unwrap().class
}

#[test]
fn demo_mix_probed() {
    let (e, _) = estimate(&demo(true), 2.0);
    let n = &e.estimates.n_b;
    assert_eq!(
        n.value,
        12.0,
        "{:#?}",
        e.flows
            .iter()
            .map(|f| (f.flow, f.class, &f.why))
            .collect::<Vec<_>>()
    );
    assert!(
        n.low <= 12.0 && n.high >= 12.0 && n.high - n.low < 4.0,
        "{n:?}"
    );
    assert_eq!(n.evidence, Evidence::Probed);
    for id in 1..=12 {
        assert_eq!(class_of(&e, id), FlowClass::Lbp, "flow {id}");
    }
    assert_eq!(class_of(&e, 13), FlowClass::Rbp);
    assert_eq!(class_of(&e, 14), FlowClass::Rbp);
    assert_eq!(class_of(&e, 15), FlowClass::Wl);
    assert_eq!(class_of(&e, 16), FlowClass::Wl);
    assert_eq!(class_of(&e, 17), FlowClass::Rbp);
    assert!(
        e.flows
            .iter()
            .filter(|f| f.flow > 17)
            .all(|f| f.class == FlowClass::Short)
    );
    assert_eq!(e.estimates.regime.value, Regime::Elastic);
    assert_eq!(e.estimates.saturable.value, Some(true));
    let t_e = e.estimates.t_e_ms.unwrap();
    assert!((t_e.value - 19.2).abs() < 0.1, "{t_e:?}");
    assert!(e.utilisation.mean.unwrap() > 0.97, "{:?}", e.utilisation);
}

#[test]
fn congestion_control_is_recognised() {
    let (e, _) = estimate(&demo(true), 2.0);
    for f in e
        .flows
        .iter()
        .filter(|f| f.flow <= 12 && f.reductions_local > 1)
    {
        let expected = if f.flow <= 6 {
            CongestionControl::Reno
        } else {
            CongestionControl::Cubic
        };
        if f.congestion_control != CongestionControl::Unknown {
            assert_eq!(f.congestion_control, expected, "{f:?}");
        }
    }
    let known = e
        .flows
        .iter()
        .filter(|f| f.flow <= 12 && f.congestion_control != CongestionControl::Unknown);
    assert!(known.count() >= 8);
}

#[test]
fn demo_mix_from_reports_alone() {
    let (e, _) = estimate(&demo(false), 2.0);
    let n = &e.estimates.n_b;
    assert!((n.value - 12.0).abs() <= 2.4, "{n:?}");
    assert_eq!(n.evidence, Evidence::Passive);
    let t_e = e.estimates.t_e_ms.unwrap();
    assert!((t_e.value / 19.2 - 1.0).abs() < 0.1, "{t_e:?}");
}

#[test]
fn counts_are_exact() {
    let (e, r) = estimate(&demo(true), 0.0);
    assert_eq!(e.arrivals, r.arrivals);
    assert_eq!(e.drops, Some(r.drops));
    assert_eq!(e.loss_rate, Some(r.drops as f64 / r.arrivals as f64));
    let u = r.wire_bytes as f64 / (100e6 / 8.0 * 22.0);
    assert!((e.utilisation.mean.unwrap() - u).abs() < 1e-9);
    assert!(e.delay_ms.p50 <= e.delay_ms.p99 && e.delay_ms.p99 <= e.delay_ms.max);
    assert!(e.occupancy_bytes.max.unwrap() <= 203.0 * 1514.0);
    assert_eq!(e.limit_bytes, Some(203 * 1514));
    assert!((e.queue_drain_bps / 100e6 - 1514.0 / 1538.0).abs() < 1e-9);
    assert_eq!(e.segment_bytes, 1514.0);
}

#[test]
fn loss_events_follow_their_definition() {
    let s = demo(true);
    let (e, r) = estimate(&s, 0.0);
    let t_e_ns = (e.estimates.t_e_ms.unwrap().value * 1e6) as u64;
    let mut drops: Vec<u64> = r
        .updates
        .iter()
        .flat_map(|u| &u.drops)
        .map(|d| d.time_ns)
        .collect();
    drops.sort_unstable();
    let events = 1 + drops.windows(2).filter(|w| w[1] - w[0] >= t_e_ns).count();
    assert_eq!(e.loss_events, events as u64);
    let burst = e.estimates.mean_loss_burst.unwrap();
    assert!((burst.value - drops.len() as f64 / events as f64).abs() < 1e-9);
    assert!((e.estimates.alpha.value - burst.value / e.estimates.n_b.value).abs() < 1e-9);
    let q = e.estimates.q.unwrap();
    assert!(q.value > 0.0 && q.value <= 1.0);
}

#[test]
fn one_flow() {
    let s = Scenario {
        capacity_bps: 50e6,
        limit_pkts: 81.0,
        seconds: 30.0,
        probed: true,
        flows: vec![spec(RENO, 0.02, 40.0)],
    };
    let (e, _) = estimate(&s, 5.0);
    assert_eq!(e.estimates.n_b.value, 1.0);
    assert_eq!(e.estimates.q.unwrap().value, 1.0);
    assert_eq!(e.estimates.d_max.unwrap().value, 1.0);
    let share = e.estimates.c_e_share;
    assert!(share.value > 0.97, "{share:?}");
    let m = e.measured();
    assert_eq!(m.congestion_control, CongestionControl::Reno);
    assert!((m.beta.unwrap() - 0.5).abs() < 0.03);
}

#[test]
fn no_bottlenecked_flow_is_transparent() {
    let mut flows = vec![spec(Kind::Wl { segments: 10.0 }, 0.02, 10.0); 4];
    flows.push(spec(Kind::Udp { pkts_per_s: 400.0 }, 0.02, 0.0));
    let s = Scenario {
        capacity_bps: 100e6,
        limit_pkts: 200.0,
        seconds: 12.0,
        probed: true,
        flows,
    };
    let (e, _) = estimate(&s, 1.0);
    assert_eq!(e.estimates.n_b.value, 0.0);
    assert_eq!(e.estimates.regime.value, Regime::Transparent);
    assert_eq!(e.estimates.saturable.value, Some(false));
    assert_eq!(e.classes.wl, 4);
    assert_eq!(e.classes.other, 1);
    let load = (4.0 * 10.0 / 0.02 + 400.0) * 1538.0 * 8.0 / 100e6;
    assert!(
        (e.estimates.rho.value / load - 1.0).abs() < 0.03,
        "{} {load}",
        e.estimates.rho.value
    );
}

#[test]
fn udp_above_capacity_is_overload() {
    let s = Scenario {
        capacity_bps: 10e6,
        limit_pkts: 50.0,
        seconds: 6.0,
        probed: true,
        flows: vec![
            spec(Kind::Udp { pkts_per_s: 1000.0 }, 0.02, 0.0),
            spec(RENO, 0.02, 10.0),
        ],
    };
    let (e, _) = estimate(&s, 1.0);
    assert_eq!(
        e.estimates.regime.value,
        Regime::Overload,
        "{:?}",
        e.estimates.regime
    );
}

#[test]
fn greedy_flow_without_a_loss_is_lbp_with_less_confidence() {
    let s = Scenario {
        capacity_bps: 100e6,
        limit_pkts: 100_000.0,
        seconds: 8.0,
        probed: true,
        flows: vec![spec(RENO, 0.02, 100.0); 3],
    };
    let (e, _) = estimate(&s, 1.0);
    assert_eq!(e.drops, Some(0));
    assert_eq!(e.estimates.n_b.value, 3.0);
    assert!(e.flows.iter().all(|f| f.confidence < 0.8));
    assert!(e.estimates.n_b.low < 3.0);
    assert_eq!(e.estimates.alpha.evidence, Evidence::Assumed);
    assert_eq!(e.estimates.alpha.value, 0.55);
    assert!(e.estimates.mean_loss_burst.is_none() && e.estimates.q.is_none());
}

#[test]
fn state_changes_count_where_windows_are_tiny() {
    let s = Scenario {
        capacity_bps: 100e6,
        limit_pkts: 100.0,
        seconds: 10.0,
        probed: true,
        flows: vec![
            spec(RENO, 0.02, 60.0),
            spec(
                Kind::HeldBack {
                    segments: 2.0,
                    window: 2,
                },
                0.02,
                2.0,
            ),
        ],
    };
    let r = run(&s);
    let mut e = Estimator::new(EstimatorConfig::default());
    e.set_nodes(&r.nodes);
    for u in &r.updates {
        e.push(u);
    }
    let (start, end) = e.span(LINK).unwrap();
    let events = (1..8)
        .map(|k| sim::state_event(2, start + k * 1_000_000_000, 2))
        .collect();
    e.push(&tidemark_proto::telemetry::Update {
        events,
        ..Default::default()
    });
    let got = e.estimate(LINK, start, end);
    let f = got.flows.iter().find(|f| f.flow == 2).unwrap();
    assert_eq!((f.class, f.reductions_remote), (FlowClass::Rbp, 7), "{f:?}");
}

#[test]
fn memory_is_bounded_and_evictions_are_counted() {
    let r = run(&demo(true));
    let config = EstimatorConfig {
        retention_s: 5.0,
        max_flow_intervals: 2000,
        max_link_intervals: 300,
        max_drops: 50,
        max_flows: 30,
        ..EstimatorConfig::default()
    };
    let mut e = Estimator::new(config);
    e.set_nodes(&r.nodes);
    for u in &r.updates {
        e.push(u);
    }
    let (start, end) = e.span(LINK).unwrap();
    assert!(end - start <= 3_000_000_000, "300 intervals of 10 ms");
    let evicted = e.evicted();
    assert!(
        evicted.link_intervals > 0 && evicted.flow_intervals > 0,
        "{evicted:?}"
    );
    assert!(e.flow_count() <= 30);
}

#[test]
fn an_unknown_link_and_an_empty_window_give_no_numbers() {
    let e = Estimator::new(EstimatorConfig::default());
    assert!(e.links().is_empty() && e.span(LINK).is_none());
    let got = e.estimate(LINK, 0, u64::MAX);
    assert_eq!(got.estimates.regime.value, Regime::Unknown);
    assert_eq!((got.arrivals, got.loss_rate), (0, None));
    assert!(!got.caveats.is_empty());
    // Only numbers and nulls, so that JSON can represent the estimate.
    let json = serde_json::to_string(&got).unwrap();
    assert_eq!(serde_json::from_str::<LinkEstimate>(&json).unwrap(), got);
}

#[test]
fn json_names_what_the_contract_names() {
    let (e, _) = estimate(&demo(true), 2.0);
    let v = serde_json::to_value(&e).unwrap();
    for name in [
        "n_b",
        "alpha",
        "mean_loss_burst",
        "q",
        "delta",
        "d_mean",
        "s",
        "t_e_ms",
        "c_e_share",
    ] {
        for part in ["value", "low", "high"] {
            assert!(v["estimates"][name][part].is_number(), "{name}.{part}");
        }
        assert!(v["estimates"][name]["evidence"].is_string());
    }
    assert_eq!(v["estimates"]["regime"]["value"], "elastic");
    assert_eq!(v["flows"][0]["class"], "LBP");
    for name in ["p50", "p99", "max"] {
        assert!(v["delay_ms"][name].is_number() && v["occupancy_bytes"][name].is_number());
    }
    assert!(v["utilisation"]["p01"].is_number());
    let back: LinkEstimate = serde_json::from_value(v).unwrap();
    assert_eq!(back, e);
    let _ = MSS;
}

#[test]
fn advice_for_the_demo_holds_together() {
    let (e, _) = estimate(&demo(true), 2.0);
    let targets = tidemark_rules::Targets {
        utilisation: 0.98,
        loss_rate: Some(0.01),
        delay_ms: Some(30.0),
        ..Default::default()
    };
    let a = tidemark_advice::advise(&e.measured(), &targets, &Default::default());
    let limit = a.limit_bytes.unwrap();
    assert!(a.feasible, "{:#?}", a.reasons);
    assert!(
        limit > 20 * 1514 && limit < 203 * 1514,
        "{limit} {:#?}",
        a.reasons
    );
    let p = a.predicted.unwrap();
    assert!(p.utilisation.value >= 0.979 && p.loss_rate.value < 0.01 && p.delay_ms.value < 30.0);
}

#[test]
fn occupancy_is_known_and_scaled() {
    let (e, _) = estimate(&demo(true), 2.0);
    let o = e.occupancy.clone().unwrap();
    assert!(o.arrivals >= 50_000 && o.bytes.len() == 100);
    assert!(o.bytes.is_sorted() && (0.0..0.5).contains(&o.met_empty));
    let max = e.occupancy_bytes.max.unwrap();
    assert!(o.bytes.iter().all(|&b| b > 0.0 && b <= max * 1.02));
    let median = o.bytes[50];
    assert!((median - e.occupancy_bytes.p50.unwrap()).abs() < 0.1 * max);
    let m = e.measured();
    let p = tidemark_advice::predict(&m, m.limit_bytes.unwrap()).unwrap();
    assert!(
        (p.loss_rate.value - e.loss_rate.unwrap()).abs() < 1e-9,
        "{p:?}"
    );
    assert!((p.utilisation.value - e.utilisation.mean.unwrap().min(1.0)).abs() < 1e-9);
    assert!(p.formula.is_some());
}

/// The measurement at a large limit predicts the traffic at a smaller one.
#[test]
fn a_smaller_limit_is_foreseen() {
    let large = demo(true);
    let mut small = demo(true);
    small.limit_pkts = 100.0;
    let (a, b) = (estimate(&large, 4.0).0, estimate(&small, 4.0).0);
    let p = tidemark_advice::predict(&a.measured(), b.limit_bytes.unwrap() as f64).unwrap();
    let loss_rate = b.loss_rate.unwrap();
    println!(
        "predicted {p:?}, measured loss {loss_rate} utilisation {:?}",
        b.utilisation.mean
    );
    assert!(
        (p.loss_rate.value / loss_rate).ln().abs() < 0.5,
        "{p:?} {loss_rate}"
    );
    let u = b.utilisation.mean.unwrap();
    assert!((p.utilisation.value - u).abs() < 0.05, "{p:?} {u}");
}

/// Random mixes (the same in each run): number of flows, RTTs, capacity, limit, other flows.
fn drawn(seed: u64, probed: bool) -> (Scenario, usize) {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |low: f64, high: f64| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        low + (high - low) * ((x >> 11) as f64 / (1u64 << 53) as f64)
    };
    let n = next(3.0, 40.0) as usize;
    let rtts: Vec<f64> = (0..n).map(|_| 0.01 * next(0.0, 2.7).exp()).collect();
    let t_e = n as f64 / rtts.iter().map(|t| 1.0 / t).sum::<f64>();
    // Windows of 12 to 30 segments at the limit: smaller windows have timeouts, which this model
    // lacks.
    let window = next(12.0, 30.0);
    let limit = next(0.4, 1.5);
    let bdp_pkts = n as f64 * window / (1.0 + limit);
    let capacity_bps = bdp_pkts / t_e * 1538.0 * 8.0;
    let mut flows: Vec<Spec> = rtts
        .iter()
        .enumerate()
        .map(|(i, &t)| spec(if i % 3 == 0 { CUBIC } else { RENO }, t, 0.5 * window))
        .collect();
    for _ in 0..(next(0.0, 4.0) as usize) {
        let max_window = next(8.0, 14.0);
        flows.push(spec(Kind::Rbp { max_window }, next(0.02, 0.08), 6.0));
    }
    for _ in 0..(next(0.0, 4.0) as usize) {
        let segments = next(3.0, 8.0).floor();
        flows.push(spec(Kind::Wl { segments }, next(0.02, 0.1), segments));
    }
    let scenario = Scenario {
        capacity_bps,
        limit_pkts: limit * bdp_pkts,
        seconds: 25.0,
        probed,
        flows,
    };
    (scenario, n)
}

#[test]
fn drawn_mixes() {
    for probed in [true, false] {
        let (mut wrong, mut all) = (0, 0);
        for seed in 1..=24 {
            let (s, n) = drawn(seed, probed);
            let (e, _) = estimate(&s, 5.0);
            let n_b = e.estimates.n_b;
            let right = |f: &tidemark_estimators::FlowEstimate| {
                let lbp = f.flow <= n as u64;
                (f.class == FlowClass::Lbp) == lbp
            };
            wrong += e.flows.iter().filter(|f| !right(f)).count();
            all += e.flows.len();
            println!(
                "seed {seed} probed {probed}: N_b {:.1} [{:.1} {:.1}] truth {n} of {}, loss {:.4} u {:.3}",
                n_b.value,
                n_b.low,
                n_b.high,
                s.flows.len(),
                e.loss_rate.unwrap(),
                e.utilisation.mean.unwrap()
            );
            for f in e.flows.iter().filter(|f| !right(f)) {
                println!("   {} as {:?}: {}", f.flow, f.class, f.why);
            }
            let n = n as f64;
            let slack = if probed {
                (0.1 * n).max(1.0)
            } else {
                (0.2 * n).max(2.0)
            };
            assert!((n_b.value - n).abs() <= slack, "seed {seed}: {n_b:?} {n}");
        }
        assert!(wrong * 10 <= all, "{wrong} of {all}");
    }
}

#[test]
fn a_flood_of_short_flows_leaves_the_long_ones() {
    let r = run(&demo(true));
    let config = EstimatorConfig {
        max_flows: 200,
        max_listed_flows: 50,
        ..EstimatorConfig::default()
    };
    let mut e = Estimator::new(config);
    e.set_nodes(&r.nodes);
    let mut flood = 1u64 << 40;
    for u in &r.updates {
        e.push(u);
        let Some(now_ns) = u.link_intervals.last().map(|i| i.start_ns) else {
            continue;
        };
        let flow_intervals = (0..40).map(|k| tidemark_proto::telemetry::FlowInterval {
            node_id: LINK.node_id,
            port: LINK.port,
            flow_id: flood + k,
            start_ns: now_ns,
            duration_ns: 10_000_000,
            packets: 1,
            wire_bytes: 100,
            ..Default::default()
        });
        e.push(&tidemark_proto::telemetry::Update {
            flow_intervals: flow_intervals.collect(),
            ..Default::default()
        });
        flood += 40;
        assert!(e.flows_kept() <= 250 + 40, "{}", e.flows_kept());
    }
    let (start, end) = e.span(LINK).unwrap();
    let mut quiet = Estimator::new(EstimatorConfig::default());
    quiet.set_nodes(&r.nodes);
    for u in &r.updates {
        quiet.push(u);
    }
    let alone = quiet.estimate(LINK, start, end);
    let flooded = e.estimate(LINK, start, end);
    assert!(e.evicted().flows > 1000);
    assert_eq!(flooded.classes.lbp, alone.classes.lbp, "{flooded:?}");
    assert_eq!(flooded.estimates.n_b.value, alone.estimates.n_b.value);
    assert!(flooded.flows.len() <= 50);
    assert!(flooded.classes.total() > 50);
    assert!(
        flooded
            .caveats
            .iter()
            .any(|c| c.contains("more flows than memory"))
    );
}
