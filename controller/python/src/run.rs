// SPDX-License-Identifier: Apache-2.0
//! A run: its phases and the links in each, read by the code of `tidemark-controller analyze`.

use crate::errors::{of_analysis, of_capture};
use crate::flows;
use crate::tables::{NativeTable, Stored};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tidemark_analysis::{
    AnalysisError, Asked, Estimated, Loaded, Mark, Which, estimated, load, marks_of_run,
    name_of_part, targets_of_run,
};
use tidemark_capture::{CaptureMeta, Moment, Selection, locate};
use tidemark_picture::about;
use tidemark_rules::Targets;

/// A run's directory, or a capture. It is read to its end once, when estimates are first requested.
#[pyclass(frozen, module = "tidemark_buffer._native")]
pub(crate) struct NativeRun {
    path: PathBuf,
    capture: PathBuf,
    marks: Vec<Mark>,
    loaded: Mutex<Option<Loaded>>,
}

/// Name, node, port if it is known, start and end of a phase in ns, and queue.
type PhaseRow = (String, u32, Option<u32>, u64, u64, u32);

/// The requested part of a run.
struct Part {
    phase: Option<String>,
    which: Which,
    asked: Asked,
}

#[pymethods]
impl NativeRun {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let capture = locate(&path).map_err(of_capture)?;
        CaptureMeta::read(&capture).map_err(of_capture)?;
        Ok(Self {
            marks: marks_of_run(&path, &capture),
            loaded: Mutex::new(None),
            path,
            capture,
        })
    }

    /// Returns the directory of the capture.
    #[getter]
    fn capture(&self) -> PathBuf {
        self.capture.clone()
    }

    /// Returns the text of `capture.json`.
    fn meta(&self) -> PyResult<String> {
        text(&json!(
            CaptureMeta::read(&self.capture).map_err(of_capture)?
        ))
    }

    /// Returns the targets of the run's record, or else the default ones.
    fn targets(&self) -> PyResult<String> {
        text(&json!(self.own_targets()))
    }

    /// Returns every phase of every link in order of time: name, node, port, start, end, queue.
    fn phases(&self, py: Python<'_>) -> PyResult<Vec<PhaseRow>> {
        let all = self.estimated(py, &Part::all())?;
        let phases = all.iter().map(|(name, e)| {
            let (id, of) = (e.id, &e.estimate);
            let (from_ns, to_ns) = (of.from_ns, of.to_ns);
            (
                name.clone(),
                id.node_id,
                id.known_port(),
                from_ns,
                to_ns,
                id.queue,
            )
        });
        let mut phases: Vec<_> = phases.collect();
        phases.sort_by_key(|p| (p.3, p.1, p.2, p.5));
        Ok(phases)
    }

    /// Returns the links of one phase, or of all, with estimates, advice and verdict, as
    /// `tidemark-controller analyze --json` has them in `links`. Before each is the name of its
    /// phase, after it the origin of its picture: link, run, date.
    #[pyo3(signature = (phase, node, port, queue, from_s, to_s, targets))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn links(
        &self,
        py: Python<'_>,
        phase: Option<String>,
        node: Option<u32>,
        port: Option<u32>,
        queue: Option<u32>,
        from_s: Option<f64>,
        to_s: Option<f64>,
        targets: Option<&str>,
    ) -> PyResult<String> {
        let asked = Asked {
            from_s,
            to_s,
            ..Asked::default()
        };
        let targets = self.targets_over(targets)?;
        let part = Part {
            phase,
            which: Which { node, port, queue },
            asked,
        };
        let links = self.estimated(py, &part)?;
        let links: Vec<Value> = py.detach(|| {
            let all = links.into_iter().map(|(name, e)| {
                let traffic = e.estimate.measured();
                let origin = self.origin(&name, &e);
                json!([name, e.concluded(&traffic, &targets).json(), origin])
            });
            all.collect()
        });
        text(&json!(links))
    }

    /// Returns a table of the capture; with the addresses of flows if `joined`.
    #[pyo3(signature = (table, columns, from_s, to_s, from_ns, to_ns, flow_id, joined))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn table(
        &self,
        py: Python<'_>,
        table: &str,
        columns: Option<Vec<String>>,
        from_s: Option<f64>,
        to_s: Option<f64>,
        from_ns: Option<u64>,
        to_ns: Option<u64>,
        flow_id: Option<u64>,
        joined: bool,
    ) -> PyResult<NativeTable> {
        let known = tidemark_capture::TABLES.into_iter();
        let table = known.into_iter().find(|t| *t == table);
        let table = table.ok_or_else(|| PyValueError::new_err("no such table"))?;
        let stored = Stored {
            capture: self.capture.clone(),
            table,
            columns,
            selection: Selection {
                from: moment("from", from_s, from_ns)?,
                to: moment("to", to_s, to_ns)?,
                flow_id,
            },
            joined,
        };
        py.detach(|| NativeTable::stored(stored))
            .map_err(of_capture)
    }

    /// Returns the flows of the capture; with a phase, those seen in it, with their estimates.
    fn flows(&self, py: Python<'_>, phase: Option<String>) -> PyResult<NativeTable> {
        let links = phase.map(|phase| {
            let part = Part {
                phase: Some(phase),
                ..Part::all()
            };
            let links = self.estimated(py, &part)?;
            let named = links.into_iter().map(|(name, e)| Estimated {
                phase: Some(name),
                ..e
            });
            Ok::<Vec<Estimated>, PyErr>(named.collect())
        });
        let links = links.transpose()?;
        let flows = py
            .detach(|| flows::read(&self.capture))
            .map_err(of_capture)?;
        let table = match links {
            None => flows::all(&flows),
            Some(links) => flows::estimated(&links, &flows),
        };
        let table = table.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        Ok(NativeTable::memory(table))
    }
}

impl Part {
    fn all() -> Self {
        Self {
            phase: None,
            which: Which::default(),
            asked: Asked::default(),
        }
    }
}

impl NativeRun {
    /// Returns link, run and date, as a picture shows them.
    fn origin(&self, phase: &str, of: &Estimated) -> (String, Option<String>, Option<String>) {
        let run = self.path.file_name().map(|n| n.to_string_lossy());
        let run = run.map_or(phase.to_owned(), |run| format!("{run}, phase {phase}"));
        let about = about(of.id, Some(&of.estimate), Some(run), of.from_unix_ms());
        (about.link, about.run, about.date)
    }

    fn own_targets(&self) -> Targets {
        targets_of_run(&self.path, &self.capture).unwrap_or_default()
    }

    /// Returns the run's targets, with some of them replaced.
    fn targets_over(&self, others: Option<&str>) -> PyResult<Targets> {
        let wrong = |what: String| PyValueError::new_err(format!("targets: {what}"));
        let own = self.own_targets();
        let Some(others) = others else {
            return Ok(own);
        };
        let others: Value = serde_json::from_str(others).map_err(|e| wrong(e.to_string()))?;
        let mut all = json!(own);
        if let (Value::Object(all), Value::Object(others)) = (&mut all, others) {
            all.extend(others);
        }
        let targets: Targets = serde_json::from_value(all).map_err(|e| wrong(e.to_string()))?;
        targets.check("").map_err(wrong)?;
        Ok(targets)
    }

    /// Returns the requested links, with the names of their phases.
    fn estimated(&self, py: Python<'_>, part: &Part) -> PyResult<Vec<(String, Estimated)>> {
        let all = py
            .detach(|| self.all_estimated(part))
            .map_err(of_analysis)?;
        let Some(phase) = &part.phase else {
            return Ok(all);
        };
        let (found, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(n, _)| n == phase);
        if found.is_empty() {
            let mut names: Vec<String> = Vec::new();
            for (name, _) in others {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            return Err(PyValueError::new_err(format!(
                "{}: no phase is named {phase:?}; it has {}",
                self.path.display(),
                names.join(", ")
            )));
        }
        Ok(found)
    }

    fn all_estimated(&self, part: &Part) -> Result<Vec<(String, Estimated)>, AnalysisError> {
        let Part { which, asked, .. } = part;
        let from = |loaded: &Loaded| estimated(loaded, &self.path, &self.marks, *asked, *which);
        if asked.given() {
            let loaded = load(&self.capture, *asked, &mut |_, _| ())?;
            return Ok(named(from(&loaded)?));
        }
        let mut kept = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = match kept.take() {
            Some(loaded) => loaded,
            None => load(&self.capture, *asked, &mut |_, _| ())?,
        };
        let links = from(&loaded);
        *kept = Some(loaded);
        Ok(named(links?))
    }
}

/// Adds the name of its phase to each; if the record has none, the name that the console uses.
fn named(links: Vec<Estimated>) -> Vec<(String, Estimated)> {
    let mut parts: BTreeMap<_, usize> = BTreeMap::new();
    for link in &links {
        *parts.entry(link.id).or_default() += 1;
    }
    let several = parts.values().any(|&n| n > 1);
    let mut places: BTreeMap<_, usize> = BTreeMap::new();
    let named = links.into_iter().map(|link| {
        let place = places.entry(link.id).or_default();
        let name = link.phase.clone();
        let name = name.unwrap_or_else(|| name_of_part(*place, several));
        *place += 1;
        (name, link)
    });
    named.collect()
}

fn moment(name: &str, s: Option<f64>, ns: Option<u64>) -> PyResult<Option<Moment>> {
    let wrong = |what: String| Err(PyValueError::new_err(format!("{name}_s: {what}")));
    match (s, ns) {
        (Some(_), Some(_)) => wrong(format!("give it or {name}_ns, not both")),
        (Some(s), None) if !(s >= 0.0 && s.is_finite()) => {
            wrong(format!("{s} is not a time from 0 on"))
        }
        (s, ns) => Ok(s.map(Moment::Seconds).or(ns.map(Moment::Nanoseconds))),
    }
}

fn text(value: &Value) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}
