// SPDX-License-Identifier: Apache-2.0
//! The flows on which the weights are judged: the observations of each flow, and whether it was
//! bottlenecked here.

use crate::training::TRAINING;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tidemark_estimators::calibration::Observation;

/// One flow in one part of one run, in one view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flow {
    pub run: String,
    /// Name of the view in the truth table.
    pub view: String,
    /// Part of the run: `all`, `first` or `last`.
    pub part: String,
    /// Whether the flow was bottlenecked here, by the truth.
    pub lbp: bool,
    pub observed: Observation,
}

pub(crate) fn is_training(flow: &Flow) -> bool {
    TRAINING.contains(&flow.run.as_str())
}

/// Text of a CSV field; four digits are more than the weights can use.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(b) => u8::from(*b).to_string(),
        Value::Number(n) if n.is_f64() => {
            let rounded: f64 = format!("{:.3e}", n.as_f64().unwrap()).parse().unwrap();
            rounded.to_string()
        }
        other => other.to_string(),
    }
}

pub(crate) fn to_csv(flows: &[Flow]) -> String {
    let fields = |f: &Flow| match serde_json::to_value(&f.observed) {
        Ok(Value::Object(map)) => map,
        other => panic!("an observation is an object, not {other:?}"),
    };
    let names: Vec<String> = fields(&flows[0]).keys().cloned().collect();
    let mut csv = format!("run,view,part,lbp,{}\n", names.join(","));
    for flow in flows {
        let fields = fields(flow);
        let cells: Vec<String> = names.iter().map(|n| text(&fields[n])).collect();
        csv += &format!(
            "{},{},{},{},{}\n",
            flow.run,
            flow.view,
            flow.part,
            u8::from(flow.lbp),
            cells.join(",")
        );
    }
    csv
}

pub(crate) fn from_csv(csv: &str) -> Vec<Flow> {
    let example = match serde_json::to_value(Observation::default()) {
        Ok(Value::Object(map)) => map,
        other => panic!("an observation is an object, not {other:?}"),
    };
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let cells: BTreeMap<&str, &str> = names.iter().copied().zip(line.split(',')).collect();
            let observed: Map<String, Value> = example
                .iter()
                .map(|(name, like)| {
                    let value = match (cells[name.as_str()], like) {
                        ("", _) => Value::Null,
                        (cell, Value::Bool(_)) => Value::Bool(cell == "1"),
                        (cell, Value::Number(n)) if n.is_u64() => {
                            Value::from(cell.parse::<u64>().unwrap())
                        }
                        (cell, _) => Value::from(cell.parse::<f64>().unwrap()),
                    };
                    (name.clone(), value)
                })
                .collect();
            Flow {
                run: cells["run"].to_owned(),
                view: cells["view"].to_owned(),
                part: cells["part"].to_owned(),
                lbp: cells["lbp"] == "1",
                observed: serde_json::from_value(Value::Object(observed)).unwrap(),
            }
        })
        .collect()
}
