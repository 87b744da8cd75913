// SPDX-License-Identifier: Apache-2.0
//! `analyze` and `advise`: the live estimators over a capture.

use super::capture_span::{Asked, Spans, parts_of};
use super::evidence::EvidenceFile;
use super::loaded::{Loaded, load};
use super::{draw::PictureArgs, flows, marks, table, targets::TargetArgs};
use crate::picture::about;
use clap::Args;
use daemon_kit::cli::{print, print_json};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tidemark_advice::picture::About;
use tidemark_advice::{Advice, Verdict, advise};
use tidemark_capture::locate;
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::Options;

#[derive(Debug, Args)]
pub(super) struct AnalyzeArgs {
    /// Capture directory, or that of a run with one capture in it.
    capture: PathBuf,
    #[command(flatten)]
    asked: Asked,
    /// Only this node.
    #[arg(long)]
    node: Option<u32>,
    /// Only this port.
    #[arg(long)]
    port: Option<u32>,
    #[command(flatten)]
    targets: TargetArgs,
    /// What other limits did under the same traffic: a file of its own, read where it
    /// exists; what this capture shows is added.
    #[arg(long)]
    evidence: Option<PathBuf>,
    /// Flows to list, those bottlenecked here first; JSON has them all.
    #[arg(long, default_value_t = 40, value_name = "N")]
    flows: usize,
    /// Every rule with its formula and source, and the way to the advice.
    #[arg(long)]
    wide: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    picture: PictureArgs,
}

/// One link of the capture over one span.
struct Link {
    of: Estimated,
    advice: Advice,
    verdict: Verdict,
}

pub(super) fn analyze(args: &AnalyzeArgs, words: bool) -> anyhow::Result<()> {
    let asked = args.asked;
    let of_run = marks::targets_of_run(&args.capture, &locate(&args.capture)?);
    let targets = args.targets.targets_over(of_run.unwrap_or_default())?;
    let options = Options::default();
    let estimated = estimated(&args.capture, asked, (args.node, args.port))?;
    let mut evidence = args
        .evidence
        .as_deref()
        .map(EvidenceFile::open)
        .transpose()?;
    let links = estimated.into_iter().map(|e| {
        let mut measured = e.estimate.measured();
        // A span that mixes limits is evidence of none.
        let pure = e.limits.is_none() || !asked.given();
        if let Some(file) = evidence.as_mut().filter(|_| pure) {
            measured.tried = file.exchange(e.id, &measured);
        }
        let advice = advise(&measured, &targets, &options);
        let verdict = Verdict::by(&advice, &measured, &targets).with_curve(&measured);
        Link {
            of: e,
            advice,
            verdict,
        }
    });
    let links: Vec<Link> = links.collect();
    if let Some(file) = evidence {
        file.store()?;
    }
    let drawn = links.iter().map(|l| (l.of.about(), &l.verdict));
    args.picture.draw(&drawn.collect::<Vec<_>>(), args.json)?;
    if args.json {
        let links: Vec<Value> = links.iter().map(Link::json).collect();
        let all = json!({
            "capture": args.capture.display().to_string(), "targets": targets, "links": links,
        });
        return print_json(&all);
    }
    for link in &links {
        print(link.text((words, args.wide), args.flows))?;
    }
    Ok(())
}

pub(super) struct Estimated {
    pub id: LinkId,
    first_ns: u64,
    started_unix_ms: u64,
    /// Name of the phase of the run, where it is one.
    pub phase: Option<String>,
    pub estimate: LinkEstimate,
    /// What is to be said of the limits within the capture.
    pub limits: Option<String>,
    /// That not all of the span asked for is in it.
    pub cut: Option<String>,
}

/// The estimates of a capture's links, of all or of one node and port. Where no
/// span is asked for and the limit changed, each limit has a span of its own; a
/// span that is asked for is kept, and what it mixes is said.
pub(super) fn estimated(
    capture: &Path,
    asked: Asked,
    (node, port): (Option<u32>, Option<u32>),
) -> anyhow::Result<Vec<Estimated>> {
    let Loaded {
        estimator,
        spans,
        started_unix_ms,
        notes,
    } = load(capture, asked)?;
    let marks = marks::of_run(capture, &locate(capture)?);
    let nodes: BTreeSet<u32> = spans.keys().map(|id| id.node_id).collect();
    let (mut all, mut refused) = (Vec::new(), None);
    for (&id, span) in &spans {
        let place = nodes.iter().position(|n| *n == id.node_id).unwrap_or(0);
        if node.is_some_and(|n| n != id.node_id) || port.is_some_and(|p| p != id.port) {
            continue;
        }
        let parts = match parts_of(asked, span, &marks, (place, nodes.len())) {
            Ok(parts) => parts,
            // Another link may have it.
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
                started_unix_ms,
                phase: part.phase,
                estimate,
                limits: part.limits,
                cut: part.cut,
            });
        }
    }
    if all.is_empty() {
        if let Some(e) = refused {
            return Err(anyhow::Error::from(e).context(capture.display().to_string()));
        }
        anyhow::bail!("{}", no_such_link(capture, &spans));
    }
    Ok(all)
}

impl Estimated {
    /// Words on where a picture of it is from.
    fn about(&self) -> About {
        let since_ns = self.estimate.from_ns.saturating_sub(self.first_ns);
        let unix_ms = self.started_unix_ms + since_ns / 1_000_000;
        let phase = self.phase.as_ref().map(|p| format!("phase {p}"));
        about(self.id, Some(&self.estimate), phase, unix_ms)
    }
}

fn no_such_link(capture: &Path, spans: &Spans) -> String {
    let known: Vec<String> = spans.keys().map(ToString::to_string).collect();
    let known = if known.is_empty() {
        "none".into()
    } else {
        known.join(", ")
    };
    format!(
        "{}: no such link in the capture; it has (node:port): {known}",
        capture.display()
    )
}

impl Link {
    fn json(&self) -> Value {
        let (e, first_ns) = (&self.of.estimate, self.of.first_ns);
        let mut v = json!(e);
        // The mean in front, as loss_rate is; its other forms beside it.
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

    /// For people; with `words`, the advice without the tables.
    fn text(&self, (words, wide): (bool, bool), most_flows: usize) -> String {
        let (id, e) = (self.of.id, &self.of.estimate);
        let s = &e.estimates;
        let seconds = |ns: u64| ns.saturating_sub(self.of.first_ns) as f64 / 1e9;
        let phase = self
            .of
            .phase
            .as_ref()
            .map_or(String::new(), |p| format!(" phase {p}"));
        let mut lines = table::verdict(&self.verdict);
        lines.push(format!(
            "link {id} {}{phase}: {:.3} s to {:.3} s, limit {}",
            e.port_name,
            seconds(e.from_ns),
            seconds(e.to_ns),
            e.limit_bytes
                .map_or("not reported".into(), |b| format!("{b} bytes"))
        ));
        lines.extend(self.of.limits.iter().map(|l| format!("  note: {l}")));
        lines.push(format!(
            "  utilisation {}, loss {}, delay p50 {} p99 {} max {} ms",
            table::dash_or(e.utilisation.mean, table::percent),
            table::dash_or(e.loss_rate, table::percent),
            table::or_dash(e.delay_ms.p50),
            table::or_dash(e.delay_ms.p99),
            table::or_dash(e.delay_ms.max)
        ));
        let known = table::tells_of_flows(e);
        for (name, estimate) in [
            ("N_b", known.then_some(s.n_b)),
            ("T_e ms", s.t_e_ms),
            ("C_e/C", known.then_some(s.c_e_share)),
            ("alpha", known.then_some(s.alpha)),
            ("loss burst", s.mean_loss_burst),
            ("delta", s.delta),
        ] {
            let text = table::dash_or(estimate, |v| {
                let range = table::range(v.value, v.low, v.high);
                format!("{range}, {}", v.evidence.label())
            });
            lines.push(format!("  {name:<12} {text}"));
        }
        lines.push(format!(
            "  regime       {}: {}",
            s.regime.value.label(),
            s.regime.why
        ));
        lines.extend(e.caveats.iter().map(|c| format!("  note: {c}")));
        if !words {
            lines.extend(flows::listed(&e.flows, most_flows));
        }
        lines.extend(table::expected(&self.advice));
        lines.extend(table::rules_that_hold(&self.verdict));
        if wide {
            lines.extend([
                table::rules(&self.advice.rules),
                table::advice(&self.advice),
            ]);
        }
        lines.join("\n")
    }
}
