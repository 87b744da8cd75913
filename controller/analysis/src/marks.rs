// SPDX-License-Identifier: Apache-2.0
//! The phases named in a run's own record: `summary.json` of the demo, `run.json` of an experiment.

use serde::Deserialize;
use std::path::Path;
use tidemark_rules::Targets;

/// A named span of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// Spans on the clocks of the switches, in the order of their nodes; one if they share it.
    pub spans_ns: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    phases: Vec<Phase>,
    #[serde(default)]
    config: Config,
}

/// The targets in the run's configuration.
#[derive(Default, Deserialize)]
struct Config {
    #[serde(default)]
    scenario: Scenario,
}

#[derive(Default, Deserialize)]
struct Scenario {
    targets: Option<Targets>,
}

#[derive(Deserialize)]
struct Phase {
    name: String,
    window: Option<Window>,
    #[serde(default)]
    windows: Vec<Window>,
}

#[derive(Clone, Copy, Deserialize)]
struct Window {
    start_ns: u64,
    end_ns: u64,
}

/// Name of a part that no record names: the whole run, or the part under the limit at `place` if
/// there are `several`.
pub fn name_of_part(place: usize, several: bool) -> String {
    if several {
        format!("limit-{}", place + 1)
    } else {
        "run".to_owned()
    }
}

/// Reads the phases of a run; none if `run` is only a capture, or has no record of phases.
pub fn marks_of_run(run: &Path, capture: &Path) -> Vec<Mark> {
    let record = record(run, capture);
    record.map_or_else(Vec::new, |r| {
        r.phases.into_iter().filter_map(mark).collect()
    })
}

/// Reads the targets of a run; `None` if its record has none.
pub fn targets_of_run(run: &Path, capture: &Path) -> Option<Targets> {
    record(run, capture)?.config.scenario.targets
}

fn record(run: &Path, capture: &Path) -> Option<Record> {
    if run == capture {
        return None;
    }
    let texts = ["summary.json", "run.json"].iter();
    let texts = texts.filter_map(|name| std::fs::read(run.join(name)).ok());
    texts.filter_map(|t| serde_json::from_slice(&t).ok()).next()
}

fn mark(phase: Phase) -> Option<Mark> {
    let windows = phase.window.into_iter().chain(phase.windows);
    let spans = windows
        .map(|w| (w.start_ns, w.end_ns))
        .filter(|(a, b)| a < b);
    let spans_ns: Vec<(u64, u64)> = spans.collect();
    (!spans_ns.is_empty()).then_some(Mark {
        name: phase.name,
        spans_ns,
    })
}

impl Mark {
    /// Returns the span on the clock of a node, the `index`-th of `nodes`; `None` if the record
    /// does not tell which span belongs to which node.
    pub fn span_ns(&self, index: usize, nodes: usize) -> Option<(u64, u64)> {
        match self.spans_ns.as_slice() {
            [one] => Some(*one),
            each if each.len() == nodes => each.get(index).copied(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_of_demo_and_experiment_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let capture = dir.path().join("capture");
        assert!(marks_of_run(dir.path(), &capture).is_empty());
        let experiment = r#"{"phases": [{"name": "full", "limits": [],
            "windows": [{"start_ns": 1, "end_ns": 5}, {"start_ns": 2, "end_ns": 6}]}]}"#;
        std::fs::write(dir.path().join("run.json"), experiment).unwrap();
        let marks = marks_of_run(dir.path(), &capture);
        assert_eq!(marks[0].span_ns(1, 2), Some((2, 6)));
        assert_eq!(marks[0].span_ns(1, 3), None);
        let demo = r#"{"config": {}, "phases": [
            {"name": "first", "window": {"start_ns": 3, "end_ns": 9, "start_s": 0.0}}]}"#;
        std::fs::write(dir.path().join("summary.json"), demo).unwrap();
        let marks = marks_of_run(dir.path(), &capture);
        assert_eq!((marks.len(), marks[0].name.as_str()), (1, "first"));
        assert_eq!(marks[0].span_ns(4, 9), Some((3, 9)));
        assert!(marks_of_run(&capture, &capture).is_empty());
    }
}
