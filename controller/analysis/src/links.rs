// SPDX-License-Identifier: Apache-2.0
//! Estimates the links of a run over the requested spans, then adds advice and verdict.

use crate::AnalysisError;
use crate::loaded::Loaded;
use crate::marks::Mark;
use crate::span::{Asked, Spans, parts_of};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use tidemark_advice::{Advice, Verdict, advise};
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::{Options, Targets, Traffic};

/// The estimates of one link over one span.
#[derive(Clone, Debug)]
pub struct Estimated {
    /// The link.
    pub id: LinkId,
    /// Start of the link's first interval, ns of the switch's clock.
    pub first_ns: u64,
    /// Start of the capture, Unix time.
    pub started_unix_ms: u64,
    /// Name of the phase, if the span is a phase of the run.
    pub phase: Option<String>,
    /// The estimates.
    pub estimate: LinkEstimate,
    /// Remark on the limits within the span, in words, if there is one.
    pub limits: Option<String>,
    /// Whether several limits were in force within the span; it is evidence of none then.
    pub mixes_limits: bool,
    /// Remark that the capture lacks a part of the requested span, in words.
    pub cut: Option<String>,
}

/// One link over one span, with the verdict from its estimates.
#[derive(Clone, Debug)]
pub struct Link {
    /// The estimates.
    pub of: Estimated,
    /// The advised limit, and why.
    pub advice: Advice,
    /// The verdict.
    pub verdict: Verdict,
}

/// Selects links of a run; `None` matches all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Which {
    /// Node id of the switch.
    pub node: Option<u32>,
    /// Egress port.
    pub port: Option<u32>,
    /// Queue of the port.
    pub queue: Option<u32>,
}

impl Which {
    fn has(self, id: LinkId) -> bool {
        let Self { node, port, queue } = self;
        node.is_none_or(|n| n == id.node_id)
            && port.is_none_or(|p| p == id.port)
            && queue.is_none_or(|q| q == id.queue)
    }
}

/// Estimates the selected links of a run. If no span is requested, there is one estimate for each
/// of `marks`, or without marks one for each limit; a requested span is kept, with a remark if it
/// mixes limits. `run` is named in errors.
///
/// # Errors
/// There is no such link, or no link has any of the requested span.
pub fn estimated(
    loaded: &Loaded,
    run: &Path,
    marks: &[Mark],
    asked: Asked,
    which: Which,
) -> Result<Vec<Estimated>, AnalysisError> {
    let Loaded {
        estimator,
        spans,
        started_unix_ms,
        notes,
    } = loaded;
    let nodes: BTreeSet<u32> = spans.keys().map(|id| id.node_id).collect();
    let (mut all, mut refused) = (Vec::new(), None);
    for (&id, span) in spans {
        let place = nodes.iter().position(|n| *n == id.node_id).unwrap_or(0);
        if !which.has(id) {
            continue;
        }
        let parts = match parts_of(asked, span, marks, (place, nodes.len())) {
            Ok(parts) => parts,
            // Another link may have the span.
            Err(e) => {
                refused = Some(e);
                continue;
            }
        };
        for part in parts {
            let mut estimate = estimator.estimate(id, part.from_ns, part.to_ns);
            estimate.caveats.extend(part.cut.clone());
            estimate.caveats.extend(notes.iter().cloned());
            all.push(Estimated {
                id,
                first_ns: span.first_ns,
                started_unix_ms: *started_unix_ms,
                phase: part.phase,
                estimate,
                limits: part.limits,
                mixes_limits: part.mixes_limits,
                cut: part.cut,
            });
        }
    }
    if all.is_empty() {
        return Err(match refused {
            Some(e) => AnalysisError::Span(format!("{}: {e}", run.display())),
            None if spans.is_empty() => AnalysisError::Nothing(run.to_path_buf()),
            None => AnalysisError::NotThere(no_such_link(run, spans)),
        });
    }
    Ok(all)
}

fn no_such_link(run: &Path, spans: &Spans) -> String {
    let known: Vec<String> = spans.keys().map(ToString::to_string).collect();
    format!(
        "{}: no such link in the capture; it has (node:port, or node:port:queue unless the queue is 0): {}",
        run.display(),
        known.join(", ")
    )
}

impl Estimated {
    /// Returns the Unix time of the span's start, ms.
    pub fn from_unix_ms(&self) -> u64 {
        let since_ns = self.estimate.from_ns.saturating_sub(self.first_ns);
        self.started_unix_ms + since_ns / 1_000_000
    }

    /// Adds advice and verdict for a traffic: these estimates, with the other limits tried.
    pub fn concluded(self, traffic: &Traffic, targets: &Targets) -> Link {
        let advice = advise(traffic, targets, &Options::default());
        let verdict = Verdict::by(&advice, traffic, targets).with_curve(traffic);
        Link {
            of: self,
            advice,
            verdict,
        }
    }
}

impl Link {
    /// Returns the value that `analyze --json` lists and the Python package returns.
    pub fn json(&self) -> Value {
        let (e, first_ns) = (&self.of.estimate, self.of.first_ns);
        let mut v = json!(e);
        // The mean comes first, like loss_rate; its parts get another name.
        v["utilisation_parts"] = v["utilisation"].take();
        v["utilisation"] = json!(e.utilisation.mean);
        v["capture_start_ns"] = json!(first_ns);
        v["from_s"] = json!(e.from_ns.saturating_sub(first_ns) as f64 / 1e9);
        v["to_s"] = json!(e.to_ns.saturating_sub(first_ns) as f64 / 1e9);
        v["rules"] = json!(self.advice.rules);
        let advice = Advice {
            sensitivity: self.advice.sensitivity.clone(),
            ..self.advice.without_rules()
        };
        v["advice"] = json!(advice);
        v["verdict"] = json!(self.verdict);
        v["phase"] = json!(self.of.phase);
        if let Some(limits) = &self.of.limits {
            v["limit_changes"] = json!(limits);
        }
        v
    }
}
