// SPDX-License-Identifier: Apache-2.0
//! `analyze` and `advise`: run the live estimators over a capture.

use super::evidence::EvidenceFile;
use super::{draw::PictureArgs, flows, table, targets::TargetArgs};
use clap::Args;
use daemon_kit::cli::{NothingRead, Progress, Usage, print, print_json};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tidemark_analysis::{
    AnalysisError, Asked, Estimated, Link, Which, load, marks_of_run, targets_of_run,
};
use tidemark_capture::locate;
use tidemark_picture::About;
use tidemark_proto::ShownPort;

/// Flags for the span to analyze.
#[derive(Clone, Copy, Debug, Args)]
struct SpanArgs {
    /// Start, in seconds after the link's first interval in the capture.
    #[arg(long, conflicts_with = "from_ns")]
    from_s: Option<f64>,
    /// End, in seconds after the link's first interval in the capture.
    #[arg(long, conflicts_with = "to_ns")]
    to_s: Option<f64>,
    /// Start on the switch's clock, in ns, as phases give it.
    #[arg(long)]
    from_ns: Option<u64>,
    /// End on the switch's clock, in ns.
    #[arg(long)]
    to_ns: Option<u64>,
}

impl SpanArgs {
    fn asked(self) -> Asked {
        Asked {
            from_s: self.from_s,
            to_s: self.to_s,
            from_ns: self.from_ns,
            to_ns: self.to_ns,
        }
    }
}

/// Flags that select links of a run.
#[derive(Debug, Args)]
pub(super) struct WhichArgs {
    /// Only this node.
    #[arg(long)]
    node: Option<u32>,
    /// Only this port, or `unknown` for reports that do not name their port.
    #[arg(long)]
    port: Option<ShownPort>,
    /// Only this queue of a port.
    #[arg(long)]
    queue: Option<u32>,
}

impl WhichArgs {
    pub(super) fn which(&self) -> Which {
        Which {
            node: self.node,
            port: self.port.map(|p| p.0),
            queue: self.queue,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct AnalyzeArgs {
    /// Directory of a capture, or of a run that contains one capture.
    capture: PathBuf,
    #[command(flatten)]
    span: SpanArgs,
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    targets: TargetArgs,
    /// File with the results of other limits under the same traffic: read if it exists, and
    /// extended by the result of this capture.
    #[arg(long)]
    evidence: Option<PathBuf>,
    /// Number of flows to list, those bottlenecked here first; JSON lists all of them.
    #[arg(long, default_value_t = 40, value_name = "N")]
    flows: usize,
    /// Print every rule with its formula and source, and how the advice was reached.
    #[arg(long)]
    wide: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    picture: PictureArgs,
}

pub(super) fn analyze(args: &AnalyzeArgs, words: bool) -> anyhow::Result<()> {
    let asked = args.span.asked();
    let of_run = targets_of_run(&args.capture, &locate(&args.capture)?);
    let targets = args.targets.targets_over(of_run.unwrap_or_default())?;
    let estimated = estimated(&args.capture, asked, args.which.which())?;
    let mut evidence = args
        .evidence
        .as_deref()
        .map(EvidenceFile::open)
        .transpose()?;
    let links = estimated.into_iter().map(|e| {
        let mut measured = e.estimate.measured();
        if let Some(file) = evidence.as_mut().filter(|_| !e.mixes_limits) {
            measured.tried = file.exchange(e.id, &measured);
        }
        e.concluded(&measured, &targets)
    });
    let links: Vec<Link> = links.collect();
    if let Some(file) = evidence {
        file.store()?;
    }
    let drawn = links.iter().map(|l| (about(&l.of), &l.verdict));
    args.picture.draw(&drawn.collect::<Vec<_>>(), args.json)?;
    if args.json {
        let links: Vec<Value> = links.iter().map(Link::json).collect();
        let all = json!({
            "capture": args.capture.display().to_string(), "targets": targets, "links": links,
        });
        return print_json(&all);
    }
    for link in &links {
        print(text(link, (words, args.wide), args.flows))?;
    }
    Ok(())
}

/// Estimates the selected links of a capture; shows the progress in the terminal.
pub(super) fn estimated(
    capture: &Path,
    asked: Asked,
    which: Which,
) -> anyhow::Result<Vec<Estimated>> {
    let mut progress = Progress::new("rows", true);
    let mut read = 0;
    let loaded = load(capture, asked, &mut |done, rows| {
        read = done;
        progress.tick(done, Some(done as f64 / rows as f64));
    });
    let loaded = loaded.map_err(in_flags)?;
    progress.end(read);
    let marks = marks_of_run(capture, &locate(capture)?);
    tidemark_analysis::estimated(&loaded, capture, &marks, asked, which).map_err(in_flags)
}

/// Converts the error, and names the flags that it is about.
pub(super) fn in_flags(e: AnalysisError) -> anyhow::Error {
    match e {
        AnalysisError::Span(what) => Usage::new(what).into(),
        AnalysisError::TooLong { .. } => Usage::new(format!("{e} (--from-s, --to-s)")).into(),
        AnalysisError::Nothing(_) => NothingRead::new(e.to_string()).into(),
        other => other.into(),
    }
}

/// Describes the source of an estimate, for its picture.
fn about(of: &Estimated) -> About {
    let phase = of.phase.as_ref().map(|p| format!("phase {p}"));
    tidemark_picture::about(of.id, Some(&of.estimate), phase, of.from_unix_ms())
}

/// Formats the result as text; with `words`, without the table of flows.
fn text(link: &Link, (words, wide): (bool, bool), most_flows: usize) -> String {
    let (id, e) = (link.of.id, &link.of.estimate);
    let s = &e.estimates;
    let seconds = |ns: u64| ns.saturating_sub(link.of.first_ns) as f64 / 1e9;
    let phase = link.of.phase.as_ref();
    let phase = phase.map_or(String::new(), |p| format!(" phase {p}"));
    let mut lines = table::verdict(&link.verdict);
    lines.push(format!(
        "link {id} {}{phase}: {:.3} s to {:.3} s, limit {}",
        e.port_name,
        seconds(e.from_ns),
        seconds(e.to_ns),
        e.limit_bytes
            .map_or("not reported".into(), |b| format!("{b} bytes"))
    ));
    lines.extend(link.of.limits.iter().map(|l| format!("  note: {l}")));
    let drawn = e.utilisation.sampling_error;
    let drawn = drawn.map_or(String::new(), |by| format!(" (± {})", table::percent(by)));
    lines.push(format!(
        "  utilisation {}, loss {}, delay p50 {} p99 {} max {} ms",
        format_args!(
            "{}{drawn}",
            table::dash_or(e.utilisation.mean, table::percent)
        ),
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
    lines.extend(table::expected(&link.advice));
    lines.extend(table::rules_that_hold(&link.verdict));
    if wide {
        lines.extend([
            table::rules(&link.advice.rules),
            table::advice(&link.advice),
        ]);
    }
    lines.join("\n")
}
