// SPDX-License-Identifier: Apache-2.0
//! Truth and estimate of every run in `../shared/data/ns3`, as a Markdown table:
//! `cargo run --release -p tidemark-estimators --example truth_table`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/truth/mod.rs"]
mod truth;

use truth::reference::{mean, reference};
use truth::{View, judge, run, runs};

fn main() {
    println!(
        "| run | evidence | N_b | classes right | T_e ms | L̄ | α | Δ | utilisation | p01 | loss |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for name in runs() {
        for view in [View::PROBED, View::PASSIVE] {
            let Some(r) = run(&name, view) else { return };
            let e = r.estimate();
            let j = judge(&r, &e);
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
                if view.probed { "probed" } else { "passive" },
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
                pair(exact.loss_rate, Some(e.loss_rate), 6),
            );
        }
    }
    println!();
    println!(
        "Each cell: truth / estimate. N_b, classes and T_e against the simulator's truth; the rest \
         against the definitions on the whole trace after the warm-up (Δ: where windows were seen)."
    );
}
