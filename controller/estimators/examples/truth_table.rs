// SPDX-License-Identifier: Apache-2.0
//! Prints truth and estimate of every run in `../shared/data` (or of the golden set without it) as
//! Markdown tables: `make truth`, or
//! `cargo run --release -p tidemark-estimators --example truth_table`. Each run is estimated with
//! and without the senders' windows, from its start and from later on, and with lost reports; the
//! second table shows how often each range contains the truth.
//!
//! `TIDEMARK_RUNS=DIR` takes the runs in that directory instead; `-- --run NAME` takes one run;
//! `-- --wrong` lists the misclassified flows, `-- --ranges` every range with its truth (CSV);
//! `-- --transports` adds views of the flows as QUIC. `-- --definitions` compares with the
//! definitions on the whole trace instead, `-- --sampled` adds a passive view of one packet in 8 to
//! that, `-- --spans` prints the worst of all spans of 20 s, `-- --advice` prints the advice, and
//! predictions for the limits (packets) that follow, `-- --measured` the rules' input (JSON lines).
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

#[path = "../calibration/training.rs"]
mod training;
#[path = "../tests/it/truth/mod.rs"]
mod truth;

use serde_json::Value;
use tidemark_estimators::LinkEstimate;
use truth::coverage::{CASES_HEADING, Coverage};
use truth::reference::{mean, reference};
use truth::table::{HEADING, MODES, TRANSPORTS, rows};
use truth::{Run, View, judge, runs, seen};

fn asked(what: &str) -> bool {
    std::env::args().any(|a| a == what)
}

fn label(view: View) -> &'static str {
    match (view.probed, view.sampling_shift) {
        (true, _) => "probed",
        (false, 0) => "passive",
        (false, _) => "passive 1:8",
    }
}

/// Prints the worst values over all spans of 20 s after the warm-up.
fn spans(name: &str, view: View, r: &Run) {
    let (mut worst_n, mut least_right, mut worst_t) = (0.0f64, 1.0f64, 0.0f64);
    let (mut n_low, mut n_high) = (f64::INFINITY, 0.0f64);
    let (_, end) = r.estimator.span(truth::LINK).unwrap();
    let last_s = (end - r.zero_ns) as f64 / 1e9;
    let mut from_s = (r.from_ns - r.zero_ns) as f64 / 1e9;
    let mut held = (0, 0);
    while from_s + 20.0 <= last_s {
        let e = r.between(from_s, from_s + 20.0);
        let j = judge(r, &e);
        let n = e.estimates.n_b;
        worst_n = worst_n.max((n.value - j.n_b).abs());
        (n_low, n_high) = (n_low.min(n.value), n_high.max(n.value));
        held.1 += 1;
        held.0 += u32::from(n.low <= j.n_b && j.n_b <= n.high);
        least_right = least_right.min(j.long_right as f64 / j.long.max(1) as f64);
        if let Some(t) = e.estimates.t_e_ms {
            worst_t = worst_t.max((t.value / j.t_e_ms - 1.0).abs());
        }
        from_s += 2.5;
    }
    println!(
        "| {name} | {} | {} | {n_low:.1}-{n_high:.1} | {worst_n:.1} | {:.0} % | {:.1} % | {}/{} |",
        label(view),
        r.truth["n_flows"]["lbp"],
        least_right * 100.0,
        worst_t * 100.0,
        held.0,
        held.1
    );
}

/// Prints the advice, and predictions for other limits.
fn advice(name: &str, view: View, e: &LinkEstimate) {
    let m = e.measured();
    let packets: Vec<f64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let a = tidemark_advice::advise(&m, &Default::default(), &Default::default());
    eprintln!(
        "{name} {}: in force {:.0} packets, u {:.4}, loss {:.3} % ({} drops, {} of overshoots, {} events); advised {:.0} ({:?})",
        label(view),
        m.limit_bytes.unwrap_or(0.0) / m.segment_bytes,
        e.utilisation.mean.unwrap_or(0.0),
        e.loss_rate.unwrap_or(f64::NAN) * 100.0,
        e.drops.unwrap_or(0),
        e.overshoot_drops,
        e.loss_events,
        a.limit_packets.unwrap_or(0.0),
        a.rule
    );
    for p in packets {
        let Ok(f) = tidemark_advice::predict(&m, p * m.segment_bytes) else {
            eprintln!("    at {p}: no prediction");
            continue;
        };
        let (u, l) = (f.utilisation, f.loss_rate);
        eprintln!(
            "    at {p}: u {:.4} ({:.4}-{:.4}), loss {:.3} % ({:.3}-{:.3})",
            u.value,
            u.low,
            u.high,
            l.value * 100.0,
            l.low * 100.0,
            l.high * 100.0
        );
    }
}

/// Rounds every number to six significant digits.
fn rounded(value: &mut Value) {
    match value {
        Value::Number(n) if n.is_f64() => {
            let short = format!("{:.5e}", n.as_f64().unwrap());
            *value = serde_json::json!(short.parse::<f64>().unwrap());
        }
        Value::Array(all) => all.iter_mut().for_each(rounded),
        Value::Object(all) => all.values_mut().for_each(rounded),
        _ => {}
    }
}

/// Prints the rules' input for each run: one line of JSON per view.
fn measured() {
    for recorded in wanted() {
        for view in [View::PROBED, View::PASSIVE] {
            let m = seen(&recorded, view).estimate().measured();
            let (run, seen) = (&recorded.name, label(view));
            let command = &recorded.truth["command"];
            let mut line = serde_json::json!({
                "run": run, "seen": seen, "command": command, "measured": m,
            });
            rounded(&mut line);
            println!("{line}");
        }
    }
}

/// The runs named in the arguments, or all runs.
fn wanted() -> impl Iterator<Item = test_support::golden::Run> {
    let mut arguments = std::env::args().skip_while(|a| a != "--run").skip(1);
    let name = arguments.next();
    runs().filter(move |r| name.as_ref().is_none_or(|n| *n == r.name))
}

/// Prints every run in every view, then how often the ranges contain the truth.
fn verdicts() {
    let mut coverage = Coverage::default();
    let (mut failed, mut all) = (0, 0);
    println!("{HEADING}");
    let modes = if asked("--transports") {
        &TRANSPORTS
    } else {
        &MODES
    };
    for recorded in wanted() {
        for row in rows(&recorded, modes, &mut coverage) {
            println!("{}", row.markdown());
            if asked("--wrong") {
                for w in &row.judged.wrong {
                    eprintln!("{} {}: {w}", row.run, row.mode);
                }
            }
            failed += usize::from(!row.failures.is_empty());
            all += 1;
        }
    }
    if asked("--ranges") {
        println!("\n{CASES_HEADING}");
        for case in coverage.cases() {
            println!("{}", case.csv());
        }
    }
    println!("\n{} of {all} rows are as asked.\n", all - failed);
    println!("{}", coverage.markdown());
    println!(
        "Each cell: truth / estimate (90 % range). Ranges: how many windows of 10 s held the truth."
    );
}

fn main() {
    if asked("--measured") {
        measured();
        return;
    }
    if !["--definitions", "--spans", "--advice", "--sampled"]
        .into_iter()
        .any(asked)
    {
        verdicts();
        return;
    }
    let mut views = vec![View::PROBED, View::PASSIVE];
    if asked("--sampled") {
        views.push(View {
            sampling_shift: 3,
            ..View::PASSIVE
        });
    }
    if asked("--spans") {
        println!(
            "| run | evidence | N_b | estimates | worst error | least classes right | worst T_e | N_b in interval |"
        );
    } else {
        println!(
            "| run | evidence | N_b | classes right | T_e ms | L̄ | α | Δ | utilisation | p01 | loss |"
        );
    }
    let columns = if asked("--spans") { 8 } else { 11 };
    println!("{}|", "|---".repeat(columns));
    for recorded in wanted() {
        let name = &recorded.name;
        for view in &views {
            let r = seen(&recorded, *view);
            if asked("--spans") {
                spans(name, *view, &r);
                continue;
            }
            let e = r.estimate();
            let j = judge(&r, &e);
            if asked("--advice") {
                advice(name, *view, &e);
            }
            if asked("--wrong") {
                for w in &j.wrong {
                    eprintln!("{name} {}: {w}", label(*view));
                }
            }
            if e.estimates.t_e_ms.is_none() {
                // No flow is bottlenecked here: no T_e, and nothing that depends on it.
                let (n, right) = (e.estimates.n_b, j.long_right);
                println!(
                    "| {name} | {} | {:.0} / {:.1} ({:.1}-{:.1}) | {right}/{} | - | - | - | - | {:.4} | - | {:.6} |",
                    label(*view),
                    j.n_b,
                    n.value,
                    n.low,
                    n.high,
                    j.long,
                    e.utilisation.mean.unwrap_or(0.0),
                    e.loss_rate.unwrap_or(f64::NAN)
                );
                continue;
            }
            let exact = reference(&r, &e);
            let x = &e.estimates;
            let delta = exact.delta_low.max(exact.delta_high).max(1.0);
            let pair = |truth: f64, value: Option<f64>, digits: usize| {
                let value = value.map_or("-".into(), |v| format!("{v:.digits$}"));
                if truth.is_nan() {
                    format!("- / {value}")
                } else {
                    format!("{truth:.digits$} / {value}")
                }
            };
            println!(
                "| {name} | {} | {:.0} / {:.1} ({:.1}-{:.1}) | {}/{} | {} | {} | {} | {} | {} | {} | {} |",
                label(*view),
                j.n_b,
                x.n_b.value,
                x.n_b.low,
                x.n_b.high,
                j.long_right,
                j.long,
                pair(j.t_e_ms, x.t_e_ms.map(|t| t.value), 1),
                pair(
                    mean(&exact.loss_bursts).unwrap_or(f64::NAN),
                    x.mean_loss_burst.map(|l| l.value),
                    2
                ),
                pair(exact.alpha.unwrap_or(f64::NAN), Some(x.alpha.value), 3),
                pair(
                    if view.probed { delta } else { f64::NAN },
                    x.delta.map(|d| d.value),
                    2
                ),
                pair(exact.utilisation, e.utilisation.mean, 4),
                pair(exact.utilisation_p01, e.utilisation.p01, 4),
                pair(exact.loss_rate, e.loss_rate, 6),
            );
        }
    }
    println!();
    println!(
        "Each cell: truth / estimate. N_b, classes and T_e against the simulator's truth; the rest \
         against the definitions on the whole trace after the warm-up (Δ: where windows were seen)."
    );
}
