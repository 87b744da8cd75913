// SPDX-License-Identifier: Apache-2.0
//! Contents of `weights.csv` and `result.md`.

use super::dataset::{Flow, is_training};
use super::fit::{MOVES, Score, fit, intervals, moved, score, values};
use std::fmt::Write;
use tidemark_estimators::calibration::{WeightKind, Weights};

/// Bootstrap samples for the intervals.
const BOOTSTRAP: u64 = 40;

pub(crate) struct Results {
    pub csv: String,
    pub markdown: String,
}

/// Splits the flows into those of training runs and those of test runs.
pub(crate) fn split(flows: &[Flow]) -> (Vec<&Flow>, Vec<&Flow>) {
    flows.iter().partition(|f| is_training(f))
}

fn scored(markdown: &mut String, name: &str, sets: [&[&Flow]; 2], weights: &Weights) {
    let cell = |s: Score| {
        format!(
            "{}/{} ({:.2} %) | {:.4}",
            s.right,
            s.flows,
            s.accuracy() * 100.0,
            s.log_loss
        )
    };
    let [training, test] = sets.map(|flows| cell(score(flows, weights)));
    writeln!(markdown, "| {name} | {training} | {test} |").unwrap();
}

/// Computes the contents of all result files from the dataset alone.
pub(crate) fn results(flows: &[Flow]) -> Results {
    let (training, test) = split(flows);
    let in_force = Weights::IN_FORCE;
    let fitted = fit(&training, &in_force);
    let bounds = intervals(&training, &in_force, BOOTSTRAP);
    let mut md = String::from(
        "<!-- Written by `cargo run --release -p tidemark-estimators --example calibrate -- fit`. -->\n\
         # Result of the calibration\n\n\
         | weights | training: right | log-loss | test: right | log-loss |\n|---|---|---|---|---|\n",
    );
    let sets = [training.as_slice(), test.as_slice()];
    scored(&mut md, "in force", sets, &in_force);
    scored(&mut md, "fitted", sets, &fitted);

    md += "\nFlows right: on the right side of one half. Log-loss: nats, each run counts the same.\n\n## By run\n\n| run | set | view | flows | right, in force | fitted | log-loss, in force | fitted |\n|---|---|---|---|---|---|---|---|\n";
    let mut groups: Vec<(bool, &str, &str)> = flows
        .iter()
        .map(|f| (!is_training(f), f.run.as_str(), f.view.as_str()))
        .collect();
    groups.sort_unstable();
    groups.dedup();
    for (is_test, run, view) in groups {
        let of: Vec<&Flow> = flows
            .iter()
            .filter(|f| f.run == run && f.view == view)
            .collect();
        let (a, b) = (score(&of, &in_force), score(&of, &fitted));
        let set = if is_test { "test" } else { "training" };
        writeln!(
            md,
            "| {run} | {set} | {view} | {} | {} | {} | {:.4} | {:.4} |",
            a.flows, a.right, b.right, a.log_loss, b.log_loss
        )
        .unwrap();
    }

    md += "\n## Sensitivity\n\nFlows right (of all) with one number alone times the factor, and the largest change of the \
           test runs' log-loss by any of the factors.\n\n| number | in force | fitted (5 % to 95 %)";
    for factor in MOVES {
        write!(md, " | x {factor}").unwrap();
    }
    md += " | log-loss |\n|---|---|---|---|---|---|---|---|\n";
    let all: Vec<&Flow> = flows.iter().collect();
    let base = score(&test, &in_force).log_loss;
    let mut csv = String::from("name,kind,in_force,fitted,fitted_p05,fitted_p95\n");
    let fitted_values = values(&fitted);
    for (i, (name, kind, value)) in in_force.list().into_iter().enumerate() {
        let (low, high) = bounds[i];
        let range = match kind {
            WeightKind::Threshold => "not fitted".to_owned(),
            WeightKind::LogOdds => {
                format!("{:.2} ({low:.2} to {high:.2})", fitted_values[i])
            }
        };
        write!(md, "| `{name}` | {value} | {range}").unwrap();
        for s in moved(&all, &in_force, i) {
            write!(md, " | {}", s.right).unwrap();
        }
        let largest = moved(&test, &in_force, i)
            .map(|s| (s.log_loss - base).abs())
            .into_iter()
            .fold(0.0, f64::max);
        writeln!(md, " | {largest:.4} |").unwrap();
        let kind = match kind {
            WeightKind::LogOdds => "log-odds",
            WeightKind::Threshold => "threshold",
        };
        writeln!(
            csv,
            "{name},{kind},{value},{:.4},{low:.4},{high:.4}",
            fitted_values[i]
        )
        .unwrap();
    }
    Results { csv, markdown: md }
}
