// SPDX-License-Identifier: Apache-2.0
//! Calibration of the classifier's weights; `calibration/README.md` describes it.
//!
//! `cargo run --release -p tidemark-estimators --example calibrate -- extract` writes the
//! observations of each flow of the runs in `../shared/data`, `-- fit` computes the results from
//! them, `-- fit --check` fails if the stored results differ.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../calibration/mod.rs"]
mod calibration;
#[path = "../calibration/training.rs"]
mod training;
#[path = "../tests/it/truth/mod.rs"]
mod truth;

use calibration::dataset::{Flow, from_csv, to_csv};
use calibration::report::results;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use test_support::golden::{Run as Recorded, shared_runs};
use truth::table::{MODES, Mode, begins_late};
use truth::{LINK, Run, kind_of, seen};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("calibration")
}

/// The flows in one part of a run whose class is decided by the weights. Flows that the truth calls
/// short are left out: the truth means their size, not what limits them.
fn flows(run: &Run, recorded: &Recorded, view: &str, part: &str, span_ns: (u64, u64)) -> Vec<Flow> {
    let kinds = kind_of(&run.truth);
    run.estimator
        .observations(LINK, span_ns.0, span_ns.1)
        .into_iter()
        .filter_map(|(key, observed)| {
            let key = key?;
            let kind = kinds.get(&(key.src, key.src_port, key.dst_port))?;
            (kind.0 != "short").then(|| Flow {
                run: recorded.name.clone(),
                view: view.to_owned(),
                part: part.to_owned(),
                lbp: kind.0 == "lbp",
                observed,
            })
        })
        .collect()
}

fn extract() -> Vec<Flow> {
    let mut all = Vec::new();
    for path in ["ns3", "ns3-2"]
        .iter()
        .flat_map(|f| shared_runs(f).unwrap())
    {
        let recorded = Recorded::read(&path).unwrap();
        // For captures that begin late anyway, the late views would repeat the same flows.
        let modes = MODES.iter().filter(|m| {
            m.view.lose_one_in == 0 && (m.view.from_s == 0.0 || !begins_late(&recorded))
        });
        for Mode { name, view } in modes {
            let run = seen(&recorded, *view);
            let (begin, end) = run.estimator.span(LINK).unwrap();
            let from = run.from_ns.max(begin);
            let middle = from + (end - from) / 2;
            for (part, span) in [
                ("all", (from, end)),
                ("first", (from, middle)),
                ("last", (middle, end)),
            ] {
                all.extend(flows(&run, &recorded, name, part, span));
            }
        }
        println!("{}: {} flows so far", recorded.name, all.len());
    }
    all
}

fn main() -> ExitCode {
    let asked = |what: &str| std::env::args().any(|a| a == what);
    let dataset = folder().join("flows.csv");
    if asked("extract") {
        std::fs::write(dataset, to_csv(&extract())).unwrap();
        return ExitCode::SUCCESS;
    }
    if !asked("fit") {
        println!("usage: calibrate extract | fit [--check]");
        return ExitCode::FAILURE;
    }
    let results = results(&from_csv(&std::fs::read_to_string(dataset).unwrap()));
    let mut code = ExitCode::SUCCESS;
    for (name, text) in [
        ("weights.csv", results.csv),
        ("result.md", results.markdown),
    ] {
        let path = folder().join(name);
        if !asked("--check") {
            std::fs::write(&path, text).unwrap();
        } else if std::fs::read_to_string(&path).ok() != Some(text) {
            println!("{} is not what the fit gives", path.display());
            code = ExitCode::FAILURE;
        }
    }
    code
}
