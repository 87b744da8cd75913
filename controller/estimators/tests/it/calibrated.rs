// SPDX-License-Identifier: Apache-2.0
//! The classifier's numbers are those of the calibration, and the calibration follows from its
//! dataset.
#![allow(clippy::unwrap_used)] // helpers of tests

use crate::calibration;

use calibration::dataset::{Flow, from_csv, to_csv};
use calibration::fit::{fit, score, values};
use calibration::report::split;
use tidemark_estimators::calibration::{WeightKind, Weights};

const FLOWS: &str = include_str!("../../calibration/flows.csv");
const WEIGHTS: &str = include_str!("../../calibration/weights.csv");

fn column(i: usize) -> Vec<String> {
    let rows = WEIGHTS.lines().skip(1);
    rows.map(|row| row.split(',').nth(i).unwrap().to_owned())
        .collect()
}

fn numbers(i: usize) -> Vec<f64> {
    column(i).iter().map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn numbers_in_force_are_those_of_the_table() {
    let names: Vec<&str> = Weights::IN_FORCE.list().iter().map(|w| w.0).collect();
    assert_eq!(column(0), names);
    assert_eq!(numbers(2), values(&Weights::IN_FORCE));
}

#[test]
fn the_table_follows_from_the_dataset() {
    let flows = from_csv(FLOWS);
    let (training, test) = split(&flows);
    let again = fit(&training, &Weights::IN_FORCE);
    let recorded = Weights::from_values(&numbers(3)).unwrap();
    for set in [&training, &test] {
        let (a, b) = (score(set, &again), score(set, &recorded));
        assert!((a.log_loss - b.log_loss).abs() < 1e-3, "{a:?} {b:?}");
    }
    // Thresholds are not fitted.
    for ((_, kind, value), fitted) in Weights::IN_FORCE.list().iter().zip(numbers(3)) {
        assert!(*kind == WeightKind::LogOdds || *value == fitted);
    }
}

/// No run is in both sets, and both have flows of each kind.
#[test]
fn training_and_test_runs_are_apart() {
    let flows = from_csv(FLOWS);
    let (training, test) = split(&flows);
    let has = |set: &[&Flow], run: &str| set.iter().any(|f| f.run == run);
    for f in &flows {
        assert!(has(&training, &f.run) != has(&test, &f.run), "{}", f.run);
    }
    for set in [training, test] {
        assert!(set.iter().any(|f| f.lbp) && set.iter().any(|f| !f.lbp));
        assert!(set.iter().any(|f| f.view == "probed") && set.iter().any(|f| f.view == "passive"));
    }
}

#[test]
fn a_dataset_is_written_as_it_is_read() {
    assert_eq!(to_csv(&from_csv(FLOWS)), FLOWS);
}
