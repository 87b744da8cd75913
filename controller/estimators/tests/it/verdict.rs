// SPDX-License-Identifier: Apache-2.0
//! Properties of the verdict over all runs, in every view.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests

use crate::truth::{self, View, seen};
use test_support::golden::{GOLDEN_RUNS, Run};
use tidemark_advice::{Answer, Outlook, Pool, Verdict};
use tidemark_rules::{Goal, Options, Targets, Traffic};

const VIEWS: [(&str, View); 5] = [
    ("probed", View::PROBED),
    ("passive", View::PASSIVE),
    (
        "late",
        View {
            from_s: 12.0,
            ..View::PASSIVE
        },
    ),
    (
        "sampled 1 in 8",
        View {
            sampling_shift: 3,
            ..View::PROBED
        },
    ),
    (
        "5 % lost",
        View {
            lose_one_in: 20,
            ..View::PROBED
        },
    ),
];

/// The traffic of a run in each view, with the view's name.
fn measured(run: &Run) -> Vec<(String, Traffic)> {
    VIEWS
        .iter()
        .filter_map(|(name, view)| {
            let seen = seen(run, *view);
            let (_, end_ns) = seen.estimator.span(truth::LINK)?;
            if end_ns < seen.from_ns + 2_000_000_000 {
                return None;
            }
            let m = seen.estimate().measured();
            // A view in which nothing is seen gives nothing to conclude from.
            (m.observed.is_some() && m.queue_drain_bps > 0.0)
                .then(|| (format!("{} {name}", run.name), m))
        })
        .collect()
}

fn targets() -> [Targets; 3] {
    let of = |utilisation, loss, delay_ms| Targets {
        utilisation,
        loss_rate: Some(loss),
        delay_ms,
        ..Targets::default()
    };
    [
        of(0.98, 0.01, None),
        of(0.95, 0.03, Some(60.0)),
        of(0.99, 0.002, Some(20.0)),
    ]
}

/// 1: at a measured limit the curve is equal to the measurement.
fn is_anchored(name: &str, m: &Traffic) {
    let Some(in_force) = m.limit_bytes else {
        return;
    };
    let (o, p) = (
        m.observed.unwrap(),
        Outlook::of(m).unwrap().at(in_force).unwrap(),
    );
    let (u, l) = (o.utilisation.min(1.0), o.loss_rate);
    assert!((p.utilisation.value - u).abs() < 1e-6, "{name}: {u} {p:?}");
    assert!((p.loss_rate.value - l).abs() < 1e-9, "{name}: {l} {p:?}");
    for (range, value) in [(p.utilisation, u), (p.loss_rate, l)] {
        assert!(
            range.low <= value + 1e-9 && value <= range.high + 1e-9,
            "{name}: {value} {range:?}"
        );
    }
}

/// 2: never less buffer while measurements miss a target, never more while all are met. 3: the
/// answer is "fine" if the limit in force serves, and only then.
fn goes_the_right_way(name: &str, m: &Traffic, targets: &Targets) {
    let v = Verdict::of(m, targets, &Options::default());
    let (Some(in_force), Some(set)) = (v.in_force_bytes, v.set_bytes) else {
        assert_eq!(v.answer, Answer::CannotSay, "{name}");
        return;
    };
    let (o, set) = (m.observed.unwrap(), set as f64);
    let advice = tidemark_advice::advise(m, targets, &Options::default());
    let given_up = advice.infeasible.map(|i| i.given_up).unwrap_or_default();
    let loss = targets.loss_rate.unwrap();
    // On a link for which no flow waits, utilisation is the load.
    let fills = m.lbp_present();
    let used = fills
        && o.utilisation < targets.utilisation - 0.002
        && !given_up.contains(&Goal::Utilisation);
    let lost = o.loss_rate > loss * 1.1 && !given_up.contains(&Goal::Loss);
    let full_ms = in_force * 8.0 / m.queue_drain_bps * 1e3;
    let late = targets.delay_ms.is_some_and(|d| full_ms > d) && !given_up.contains(&Goal::Delay);
    if (used || lost) && !late {
        assert!(
            set >= 0.98 * in_force,
            "{name}: {set} of {in_force}, missed: {:#?}",
            v.reasons
        );
    }
    if o.utilisation >= targets.utilisation && o.loss_rate <= loss {
        assert!(
            set <= 1.02 * in_force,
            "{name}: {set} of {in_force}, met: {:#?}",
            v.reasons
        );
    }
    let (low, high) = (v.low_bytes.unwrap() as f64, v.high_bytes.unwrap() as f64);
    assert!(
        low <= set + 1.0 && set <= high + 1.0,
        "{name}: {low} {set} {high}"
    );
    match v.answer {
        Answer::Fine => assert!(
            low <= in_force + 1.0 && in_force <= high + 1.0,
            "{name}: {low} {in_force} {high}"
        ),
        Answer::TooBig => assert!(set < in_force, "{name}"),
        Answer::TooSmall => assert!(set > in_force, "{name}"),
        Answer::CannotSay => assert!(v.cannot_say.is_some(), "{name}"),
    }
    assert!(!v.because.is_empty(), "{name}");
}

/// 7: nothing is concluded if many reports are lost.
fn is_silent_where_reports_are_lost(name: &str, m: &Traffic) {
    let mut lossy = m.clone();
    lossy.reports_lost = Some(0.2);
    let v = Verdict::of(&lossy, &Targets::default(), &Options::default());
    assert_eq!(v.answer, Answer::CannotSay, "{name}");
}

fn all_hold(run: &Run) {
    for (name, m) in measured(run) {
        is_anchored(&name, &m);
        is_silent_where_reports_are_lost(&name, &m);
        for targets in targets() {
            goes_the_right_way(&name, &m, &targets);
        }
    }
}

/// 4: over windows of the same traffic, in any order, the answer does not change after 60 s, and no
/// end of the interval moves by more than a tenth in a minute.
fn stands_still(run: &Run) {
    const WINDOW_S: f64 = 4.0;
    let seen = seen(run, View::PROBED);
    let (_, end_ns) = seen.estimator.span(truth::LINK).unwrap();
    let (from_s, to_s) = (
        (seen.from_ns - seen.zero_ns) as f64 / 1e9,
        (end_ns - seen.zero_ns) as f64 / 1e9,
    );
    let count = ((to_s - from_s) / WINDOW_S) as usize;
    let windows: Vec<Traffic> = (0..count)
        .map(|i| from_s + WINDOW_S * i as f64)
        .map(|s| seen.between(s, s + WINDOW_S).measured())
        .collect();
    if windows.len() < 3 {
        return;
    }
    let mut options = Options::default();
    let (mut pool, mut verdicts, mut order) = (Pool::default(), Vec::new(), 7u64);
    for i in 0..45u64 {
        // Knuth's MMIX generator; its low bits have short periods.
        order = order
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let window = &windows[(order >> 33) as usize % windows.len()];
        let at = i * 4_000_000_000;
        pool.take(window, at, at + 4_000_000_000);
        let all = pool.with(window.clone());
        let v = Verdict::of(&all, &Targets::default(), &options);
        options.kept_bytes = v.set_bytes;
        options.kept_interval = v
            .low_bytes
            .zip(v.high_bytes)
            .map(|(l, h)| [l as f64, h as f64]);
        if all.seconds >= 60.0 {
            verdicts.push(v);
        }
    }
    let name = &run.name;
    for (i, v) in verdicts.iter().enumerate() {
        assert_eq!(
            v.answer, verdicts[0].answer,
            "{name}: {} then {}",
            verdicts[0].because, v.because
        );
        let Some(later) = verdicts.get(i + 15) else {
            continue;
        };
        for (a, b) in [
            (v.low_bytes, later.low_bytes),
            (v.high_bytes, later.high_bytes),
        ] {
            let (Some(a), Some(b)) = (a, b) else { continue };
            let moved = (b as f64 / a as f64).ln().abs();
            assert!(moved <= 0.105, "{name} window {i}: {a} to {b}");
        }
    }
}

#[test]
fn golden_runs_keep_the_properties() {
    for name in GOLDEN_RUNS {
        all_hold(&Run::golden(name).unwrap());
    }
}

#[test]
fn golden_runs_stand_still() {
    for name in GOLDEN_RUNS {
        stands_still(&Run::golden(name).unwrap());
    }
}

test_support::shared_data_test! {
    #[cfg_attr(debug_assertions, ignore = "takes minutes without optimisation")]
    fn whole_runs_keep_the_properties() {
        let folders = ["ns3", "ns3-2", "ns3-3"];
        let runs = folders.iter().flat_map(|f| test_support::golden::shared_runs(f).unwrap());
        for path in runs.filter(|p| p.is_dir()) {
            all_hold(&Run::read(&path).unwrap());
        }
    }
}
