// SPDX-License-Identifier: Apache-2.0
//! `analyze` and `advise`: the live estimators over a capture.

use super::capture_span::{Asked, Spans, span_of};
use super::evidence::EvidenceFile;
use super::loaded::{Loaded, load};
use super::{flows, table, targets::TargetArgs};
use clap::Args;
use daemon_kit::cli::{print, print_json};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::LEAST_CHANGE;
use tidemark_rules::{Advice, Change, Options, advise, worth_changing};

#[derive(Debug, Args)]
pub(super) struct AnalyzeArgs {
    /// Capture directory, or that of a run with one capture in it.
    capture: PathBuf,
    /// Start, seconds after the link's first interval in the capture.
    #[arg(long, conflicts_with = "from_ns")]
    from_s: Option<f64>,
    /// End, the same.
    #[arg(long, conflicts_with = "to_ns")]
    to_s: Option<f64>,
    /// Start on the switch's clock, as phases give it.
    #[arg(long)]
    from_ns: Option<u64>,
    /// End on the switch's clock.
    #[arg(long)]
    to_ns: Option<u64>,
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
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// One link of the capture over one span.
struct Link {
    id: LinkId,
    first_ns: u64,
    estimate: LinkEstimate,
    advice: Advice,
    /// Whether the advice is worth leaving the limit in force.
    change: Change,
    /// What is to be said of the limits within the capture.
    limits: Option<String>,
}

pub(super) fn analyze(args: &AnalyzeArgs, words: bool) -> anyhow::Result<()> {
    let targets = args.targets.targets()?;
    let asked = args.asked();
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
        let advice = advise(&measured, &targets, &Options::default());
        let change = worth_changing(&advice, &targets, LEAST_CHANGE);
        Link {
            id: e.id,
            first_ns: e.first_ns,
            estimate: e.estimate,
            advice,
            change,
            limits: e.limits,
        }
    });
    let links: Vec<Link> = links.collect();
    if let Some(file) = evidence {
        file.store()?;
    }
    if args.json {
        let links: Vec<Value> = links.iter().map(Link::json).collect();
        let all = json!({
            "capture": args.capture.display().to_string(), "targets": targets, "links": links,
        });
        return print_json(&all);
    }
    for link in &links {
        print(link.text(words, args.flows))?;
    }
    Ok(())
}

/// The estimate of one link over one span.
pub(super) struct Estimated {
    pub id: LinkId,
    first_ns: u64,
    pub estimate: LinkEstimate,
    /// What is to be said of the limits within the capture.
    pub limits: Option<String>,
}

/// The estimates of a capture's links, of all or of one node and port. Where no
/// span is asked for and the limit changed, each limit has a span of its own; a
/// span that is asked for is kept, and what it mixes is said.
///
/// # Errors
/// A capture that cannot be read, a link that it does not have, an empty span.
pub(super) fn estimated(
    capture: &Path,
    asked: Asked,
    (node, port): (Option<u32>, Option<u32>),
) -> anyhow::Result<Vec<Estimated>> {
    let Loaded {
        estimator,
        spans,
        notes,
    } = load(capture, asked)?;
    let mut all = Vec::new();
    for (&id, span) in &spans {
        if node.is_some_and(|n| n != id.node_id) || port.is_some_and(|p| p != id.port) {
            continue;
        }
        for part in span_of(asked, span)? {
            let mut estimate = estimator.estimate(id, part.from_ns, part.to_ns);
            estimate.caveats.extend(notes.iter().cloned());
            all.push(Estimated {
                id,
                first_ns: span.first_ns,
                estimate,
                limits: part.limits,
            });
        }
    }
    if all.is_empty() {
        anyhow::bail!("{}", no_such_link(capture, &spans));
    }
    Ok(all)
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

impl AnalyzeArgs {
    fn asked(&self) -> Asked {
        Asked {
            from_s: self.from_s,
            to_s: self.to_s,
            from_ns: self.from_ns,
            to_ns: self.to_ns,
        }
    }
}

impl Link {
    fn json(&self) -> Value {
        let mut v = json!(self.estimate);
        // The mean in front, as loss_rate is; its other forms beside it.
        v["utilisation_parts"] = v["utilisation"].take();
        v["utilisation"] = json!(self.estimate.utilisation.mean);
        v["capture_start_ns"] = json!(self.first_ns);
        v["from_s"] = json!((self.estimate.from_ns.saturating_sub(self.first_ns)) as f64 / 1e9);
        v["to_s"] = json!((self.estimate.to_ns.saturating_sub(self.first_ns)) as f64 / 1e9);
        v["rules"] = json!(self.advice.rules);
        let advice = Advice {
            sensitivity: self.advice.sensitivity.clone(),
            ..self.advice.without_rules()
        };
        v["advice"] = json!(advice);
        v["advice"]["change"] = json!(self.change);
        if let Some(limits) = &self.limits {
            v["limit_changes"] = json!(limits);
        }
        v
    }

    /// For people; with `words`, the advice without the tables.
    fn text(&self, words: bool, most_flows: usize) -> String {
        let (id, e) = (self.id, &self.estimate);
        let s = &e.estimates;
        let seconds = |ns: u64| ns.saturating_sub(self.first_ns) as f64 / 1e9;
        let mut lines = vec![format!(
            "link {id} {}: {:.3} s to {:.3} s, limit {}",
            e.port_name,
            seconds(e.from_ns),
            seconds(e.to_ns),
            e.limit_bytes
                .map_or("not reported".into(), |b| format!("{b} bytes"))
        )];
        lines.extend(self.limits.iter().map(|l| format!("  note: {l}")));
        lines.push(format!(
            "  utilisation {}, loss {}, delay p50 {} p99 {} max {} ms",
            e.utilisation.mean.map_or("-".into(), table::percent),
            table::percent(e.loss_rate),
            table::or_dash(e.delay_ms.p50),
            table::or_dash(e.delay_ms.p99),
            table::or_dash(e.delay_ms.max)
        ));
        let est = |name: &str, v: Option<&tidemark_estimators::Estimate>| {
            v.map_or_else(
                || format!("  {name:<12} -"),
                |v| {
                    format!(
                        "  {name:<12} {} ({} to {}), {}",
                        table::number(v.value),
                        table::number(v.low),
                        table::number(v.high),
                        v.evidence.label()
                    )
                },
            )
        };
        lines.push(est("N_b", Some(&s.n_b)));
        lines.push(est("T_e ms", s.t_e_ms.as_ref()));
        lines.push(est("C_e/C", Some(&s.c_e_share)));
        lines.push(est("alpha", Some(&s.alpha)));
        lines.push(est("loss burst", s.mean_loss_burst.as_ref()));
        lines.push(est("delta", s.delta.as_ref()));
        lines.push(format!(
            "  regime       {}: {}",
            s.regime.value.label(),
            s.regime.why
        ));
        lines.extend(e.caveats.iter().map(|c| format!("  note: {c}")));
        if !words {
            lines.extend(flows::listed(&e.flows, most_flows));
        }
        if !words {
            lines.push(table::rules(&self.advice.rules));
        }
        lines.push(table::advice(&self.advice));
        lines.push(format!(
            "worth a change: {}, {}",
            if self.change.worth { "yes" } else { "no" },
            self.change.why
        ));
        lines.join("\n")
    }
}
