// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::range::Range;
use crate::rule::RuleId;
use crate::targets::Goal;
use crate::traffic::{CongestionControl, Observed, Regime, Synchrony};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn find<'a>(rules: &'a [RuleResult], id: &str) -> &'a RuleResult {
    rules.iter().find(|r| r.id.as_str() == id).unwrap()
}

/// 50 Mb/s, T_e 60 ms, 20 LBP flows at 90 %.
fn bscl() -> Traffic {
    let mut m = Traffic::described(50e6, 0.06, 20.0, 1500.0);
    m.c_e_share = Range::exact(0.9);
    m.t_mean_s = Range::exact(0.2166);
    m
}

#[test]
fn every_rule_of_the_list_answers_once() {
    let rules = evaluate(&bscl(), &Targets::default(), &Options::default());
    let listed: Vec<&str> = RULES.iter().map(|r| r.id).collect();
    let answered: Vec<&str> = rules.iter().map(|r| r.id.as_str()).collect();
    assert_eq!(answered, listed);
    // docs/reference/rules.md, which is generated, has the ids themselves.
    let distinct: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(distinct.len(), listed.len(), "{listed:?}");
    for r in &rules {
        assert!(!r.source.is_empty() && !r.formula.is_empty());
        assert!(r.buffer_bytes.is_some() != r.missing.is_some(), "{}", r.id);
        assert!(r.applies || r.failing().next().is_some() || r.missing.is_some());
        if let (Some(b), Some(p), Some(ms)) = (r.buffer_bytes, r.buffer_packets, r.buffer_ms) {
            assert!((p * 1500.0 - b).abs() < 1e-6 && (ms * 6250.0 - b).abs() < 1e-6);
        }
    }
}

#[test]
fn values_are_those_of_the_formulas() {
    let rules = evaluate(&bscl(), &Targets::default(), &Options::default());
    let bytes = |id: &str| find(&rules, id).buffer_bytes.unwrap();
    assert!((bytes("bdp") - 6.25e6 * 0.2166).abs() < 1.0);
    assert!((bytes("c_te") - 375_000.0).abs() < 1.0);
    assert!((bytes("fpq") - 180_000.0).abs() < 1e-6);
    // K_p·M·N − Cₑ·Tₑ = 8.7·1500·20 − 337500 < 0: no buffer.
    assert_eq!(bytes("bscl_loss"), 0.0);
    let q: f64 = 1.0 - 0.95f64.powf(11.0);
    let b = (q * 337_500.0 - 2.0 * 1500.0 * 20.0 * (1.0 - q)) / (2.0 - q);
    assert!((bytes("bscl_utilisation") - b).abs() < 1e-3);
    assert!((bytes("bscl") - b).abs() < 1e-3);
}

#[test]
fn missing_inputs_are_named() {
    let targets = Targets {
        loss_rate: None,
        ..Targets::default()
    };
    let rules = evaluate(&bscl(), &targets, &Options::default());
    assert!(
        find(&rules, "utb_sqrt_n")
            .missing
            .as_ref()
            .unwrap()
            .contains("delta")
    );
    assert!(
        find(&rules, "bscl_loss")
            .missing
            .as_ref()
            .unwrap()
            .contains("loss bound")
    );
    assert!(
        find(&rules, "delay")
            .missing
            .as_ref()
            .unwrap()
            .contains("delay bound")
    );
    let mut m = bscl();
    m.t_e_s = Range::exact(0.0);
    let rules = evaluate(&m, &targets, &Options::default());
    assert!(
        find(&rules, "c_te")
            .missing
            .as_ref()
            .unwrap()
            .contains("T (s)")
    );
    assert!(!find(&rules, "bscl_utilisation").applies);
}

#[test]
fn assumptions_fail_by_what_was_measured() {
    let mut m = bscl();
    m.delta = Some(Range::exact(2.0));
    m.synchrony = Some(Synchrony {
        d_mean: 5.0,
        s_mean: 4.0,
        s_max: 8.0,
        condition_fraction: 0.4,
    });
    m.window_p01_pkts = Some(1.0);
    m.congestion_control = CongestionControl::Reno;
    m.c_e_share = Range::exact(0.5);
    let rules = evaluate(&m, &Targets::default(), &Options::default());
    let fails = |id: &str, what: &str| {
        let r = find(&rules, id);
        assert!(
            !r.applies && r.failing().any(|a| a.text.contains(what)),
            "{id}: {:?}",
            r.assumptions
        );
    };
    fails("utb_sqrt_n", "D <=");
    fails("utb_sqrt_n", "windows of at least");
    fails("utb_bbr", "BBR");
    fails("bscl", "80 %");
    fails("stanford", "hundreds");
    fails("single_reno", "one flow");
    fails("ngi_transparent", "no flow");
    fails("ngi_elastic", "one to four");
    assert!(find(&rules, "bdp").applies);
}

#[test]
fn a_mix_of_known_controls_is_no_unknown() {
    let holds = |change: fn(&mut Traffic)| {
        let mut m = bscl();
        m.delta = Some(Range::exact(2.0));
        m.congestion_control = CongestionControl::Unknown;
        change(&mut m);
        let rules = evaluate(&m, &Targets::default(), &Options::default());
        let of = |id: &str, what: &str| {
            let r = find(&rules, id);
            let condition = r.assumptions.iter().find(|a| a.text.contains(what));
            (condition.unwrap().holds, r.applies)
        };
        (of("utb_bbr", "BBR v1"), of("utb_sqrt_n", "on loss"))
    };
    let (bbr, sqrt_n) = holds(|_| ());
    assert_eq!((bbr, sqrt_n.0), ((None, true), None));
    // Half Reno, half CUBIC.
    let (bbr, sqrt_n) = holds(|m| m.loss_based_share = 1.0);
    assert_eq!((bbr, sqrt_n.0), ((Some(false), false), Some(true)));
    // A mix that includes BBR is neither.
    let (bbr, sqrt_n) = holds(|m| (m.loss_based_share, m.model_based_share) = (0.4, 0.6));
    assert_eq!((bbr, sqrt_n.0), ((Some(false), false), Some(false)));
    // Nothing is known about most flows.
    let (bbr, sqrt_n) = holds(|m| m.loss_based_share = 0.01);
    assert_eq!((bbr, sqrt_n.0), ((None, true), None));
    let (bbr, sqrt_n) = holds(|m| m.congestion_control = CongestionControl::Bbr);
    assert_eq!((bbr, sqrt_n.0), ((Some(true), true), Some(false)));
}

#[test]
fn a_single_flow_has_the_rule_of_its_congestion_control() {
    let mut m = Traffic::described(50e6, 0.02, 1.0, 1500.0);
    for (cc, id) in [
        (CongestionControl::Reno, "single_reno"),
        (CongestionControl::Cubic, "single_cubic"),
        (CongestionControl::Scalable, "single_scalable"),
        (CongestionControl::Bbr, "single_bbr"),
        (CongestionControl::Unknown, "single_reno"),
    ] {
        m.congestion_control = cc;
        let rules = evaluate(&m, &Targets::default(), &Options::default());
        let applying: Vec<&str> = rules
            .iter()
            .filter(|r| r.applies && r.id.as_str().starts_with("single"))
            .map(|r| r.id.as_str())
            .collect();
        assert_eq!(applying, [id]);
    }
}

#[test]
fn json_holds_numbers_and_nulls_only() {
    let rules = evaluate(&bscl(), &Targets::default(), &Options::default());
    assert_eq!(find(&rules, "delay").goals, [Goal::Delay]);
    let json = serde_json::to_value(&rules).unwrap();
    assert!(json[0]["buffer_bytes"].is_number());
    assert_eq!(
        serde_json::from_value::<Vec<RuleResult>>(json).unwrap(),
        rules
    );
}

#[test]
fn loss_that_a_rule_assumes_is_that_with_its_buffer() {
    // A loss of 10 % now, with almost no buffer, does not rule out a larger one.
    let mut m = bscl();
    m.observed = Some(Observed {
        utilisation: 1.0,
        loss_rate: 0.1,
        drops: 900,
        delay_mean_ms: 1.0,
        delay_p50_ms: 1.0,
        delay_p99_ms: 1.0,
        delay_max_ms: 1.0,
    });
    m.regime = Regime::Elastic;
    assert!(
        find(
            &evaluate(&m, &Targets::default(), &Options::default()),
            "bscl"
        )
        .applies
    );
    // 300 flows without a loss bound: B_ρ is 0 and a loss of 50 % is expected.
    m.n_b = Range::exact(300.0);
    let rules = evaluate(
        &m,
        &Targets {
            loss_rate: None,
            ..Targets::default()
        },
        &Options::default(),
    );
    assert!(
        find(&rules, "bscl")
            .failing()
            .any(|a| a.text.contains("loss below 5 %"))
    );
}

#[test]
fn ids_are_unique_and_differ_from_the_advisors_own() {
    let listed = RULES.iter().map(|r| r.id());
    let all: Vec<RuleId> = listed.chain(RuleId::OWN).collect();
    let texts: BTreeSet<&str> = all.iter().map(RuleId::as_str).collect();
    assert_eq!(texts.len(), all.len());
}

#[test]
fn every_rule_of_the_source_is_in_the_list() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let rules = rules_of(&src);
    assert_eq!(rules.len(), RULES.len(), "{rules:#?}");
}

/// Returns the files that define a rule, each once per rule.
fn rules_of(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(rules_of(&path));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let defines = |line: &&str| {
            let is_static = line.starts_with("pub static ") && line.contains(": Rule = ");
            is_static || line.starts_with("rule!(")
        };
        found.extend(text.lines().filter(defines).map(|_| path.clone()));
    }
    found
}

#[test]
fn rules_say_what_documents_need() {
    for r in RULES.iter() {
        for text in [r.name, r.formula, r.paper.name, r.paper.citation] {
            assert!(!text.is_empty() && !text.contains('|'), "{}", r.id);
        }
        for a in r.assumptions {
            assert!(!a.statement.is_empty() && !a.statement.contains('|'));
        }
    }
}
