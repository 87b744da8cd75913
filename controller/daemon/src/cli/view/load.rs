// SPDX-License-Identifier: Apache-2.0
//! Loads a capture into a core: replays its records in order, estimates second by second as a live
//! controller does, and finally estimates the whole run as `analyze` does.

use super::clock::RunClock;
use super::counts::Counts;
use crate::core::phases::{Counted, Phase, PhaseLink};
use crate::core::{Concluded, Core, Recording, time};
use anyhow::Context as _;
use daemon_kit::cli::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidemark_advice::{Verdict, advise};
use tidemark_analysis::{Asked, Mark, Spans, missing, name_of_part, span_of};
use tidemark_capture::Replay;
use tidemark_estimators::LinkId;
use tidemark_rules::Options;

/// Maximum number of estimates over time of one run.
const MOST_ESTIMATES: u64 = 3600;
const SECOND_NS: u64 = 1_000_000_000;

/// The core to load into, its clock, and the marks found next to the capture.
pub(super) struct Load {
    pub core: Arc<Core>,
    pub clock: Arc<RunClock>,
    pub marks: Vec<Mark>,
}

#[derive(Default)]
struct Run {
    spans: Spans,
    counts: Counts,
    notes: Vec<String>,
}

/// Results of one link over one span.
struct Whole {
    first_ns: u64,
    counted: Counted,
    shown: Concluded,
}

impl Load {
    /// Loads the whole capture; returns the message to print at the end.
    pub(super) fn all(&self, mut replay: Replay) -> anyhow::Result<String> {
        let run = self.records(&mut replay)?;
        self.phases(&run)?;
        self.conclude(&run)?;
        let Some(recording) = self.core.recording() else {
            anyhow::bail!("no run is shown");
        };
        recording.read(|r| {
            r.share = 1.0;
            r.notes.clone_from(&run.notes);
        });
        self.core.announce(time::now().unix_ms);
        let seconds = recording.reading().seconds;
        let links = run.spans.len();
        Ok(format!(
            "read: {seconds:.1} s, {links} {} of {}",
            if links == 1 { "link" } else { "links" },
            recording.capture.display()
        ))
    }

    fn records(&self, replay: &mut Replay) -> anyhow::Result<Run> {
        let recording = self.core.recording().context("no run is shown")?;
        let context = || recording.capture.display().to_string();
        let rows = replay.rows().with_context(context)?.max(1);
        let every_ns = estimate_every_ns(recording);
        self.core.connected(0, replay.info());
        let (mut run, mut next_ns) = (Run::default(), every_ns);
        let mut restarted = BTreeSet::new();
        let mut progress = Progress::new("rows", true);
        while let Some(update) = replay.next() {
            let update = update.with_context(context)?;
            for i in &update.link_intervals {
                let id = LinkId::new(i.node_id, i.port, i.queue);
                run.spans.entry(id).or_default().extend(i);
            }
            run.counts.add(&update);
            let read = replay.rows_read();
            progress.tick(read, Some(read as f64 / rows as f64));
            let elapsed_ns = self.clock.advance(&update);
            restarted.extend(self.core.take(0, &update));
            if elapsed_ns >= next_ns {
                next_ns = elapsed_ns + every_ns;
                recording.read(|r| {
                    r.share = (read as f64 / rows as f64).min(0.999);
                    r.seconds = elapsed_ns as f64 / 1e9;
                });
                self.core.estimate_links(time::now().unix_ms);
            }
        }
        progress.end(replay.rows_read());
        recording.read(|r| r.seconds = self.clock.now().monotonic_ns as f64 / 1e9);
        run.notes = missing(replay)?;
        run.notes.extend(restarted.iter().map(|node| {
            format!(
                "the clock of node {node} restarted within the run: what was before is not shown; \
                 `tidemark-collector export` has its rows"
            )
        }));
        if let Some(said) = self.core.read(|s| s.feeds.first().and_then(out_of_memory)) {
            run.notes.push(said);
        }
        Ok(run)
    }

    /// Adds the phases that the run's record names, or else one phase per limit.
    fn phases(&self, run: &Run) -> anyhow::Result<()> {
        let nodes: BTreeSet<u32> = run.spans.keys().map(|id| id.node_id).collect();
        let place = |id: LinkId| nodes.iter().position(|n| *n == id.node_id).unwrap_or(0);
        for mark in &self.marks {
            let spans = run.spans.keys();
            let spans = spans.filter_map(|&id| Some((id, mark.span_ns(place(id), nodes.len())?)));
            self.phase(&mark.name, spans.collect(), run);
        }
        if !self.marks.is_empty() {
            return Ok(());
        }
        let mut by_limit: Vec<BTreeMap<LinkId, (u64, u64)>> = Vec::new();
        for (&id, span) in &run.spans {
            for (i, part) in span_of(Asked::default(), span)?.iter().enumerate() {
                if by_limit.len() <= i {
                    by_limit.push(BTreeMap::new());
                }
                by_limit[i].insert(id, (part.from_ns, part.to_ns));
            }
        }
        let several = by_limit.len() > 1;
        for (i, spans) in by_limit.into_iter().enumerate() {
            self.phase(&name_of_part(i, several), spans, run);
        }
        Ok(())
    }

    fn phase(&self, name: &str, spans: BTreeMap<LinkId, (u64, u64)>, run: &Run) {
        let (mut links, mut counted) = (BTreeMap::new(), Counted::default());
        let mut unix_ms: Option<(u64, u64)> = None;
        for (id, (from_ns, to_ns)) in spans {
            let Some(whole) = self.over(id, (from_ns, to_ns), run) else {
                continue;
            };
            counted.add(whole.counted);
            let at = |ns| self.unix_ms_of(id, ns);
            unix_ms.get_or_insert((at(from_ns), at(to_ns)));
            let targets = self.core.read(|s| s.targets_of(id));
            let Concluded {
                estimate,
                advice,
                measured,
            } = whole.shown;
            let verdict = Verdict::by(&advice, &measured, &targets).with_curve(&measured);
            let concluded = (Arc::new(advice), Arc::new(verdict));
            let (span, estimate) = ((from_ns, to_ns), estimate);
            let link = PhaseLink::of_span(span, whole.first_ns, whole.counted, estimate, concluded);
            links.insert(id, link);
        }
        if let Some(unix_ms) = unix_ms {
            self.core
                .add_phase(Phase::of_run(name, unix_ms, counted, links));
        }
    }

    /// Shows the estimate of every link over the run's last phase, or its last limit.
    fn conclude(&self, run: &Run) -> anyhow::Result<()> {
        let nodes: BTreeSet<u32> = run.spans.keys().map(|id| id.node_id).collect();
        for (&id, span) in &run.spans {
            let place = nodes.iter().position(|n| *n == id.node_id).unwrap_or(0);
            let named = self
                .marks
                .last()
                .and_then(|m| m.span_ns(place, nodes.len()));
            let parts = span_of(Asked::default(), span)?;
            let Some(last) = named.or(parts.last().map(|p| (p.from_ns, p.to_ns))) else {
                continue;
            };
            if let Some(whole) = self.over(id, last, run) {
                self.core.conclude(id, whole.shown);
            }
        }
        Ok(())
    }

    /// Estimates a link over a span, as `analyze` does.
    fn over(&self, id: LinkId, (from_ns, to_ns): (u64, u64), run: &Run) -> Option<Whole> {
        let mut estimate = self
            .core
            .with_feed(id, |f| f.estimate(id, from_ns, to_ns))?;
        estimate.caveats.extend(run.notes.iter().cloned());
        let measured = estimate.measured();
        let targets = self.core.read(|s| s.targets_of(id));
        let advice = advise(&measured, &targets, &Options::default());
        Some(Whole {
            first_ns: run.spans.get(&id)?.first_ns,
            counted: run.counts.within(id, from_ns, to_ns),
            shown: Concluded {
                estimate: Arc::new(estimate),
                advice,
                measured,
            },
        })
    }

    fn unix_ms_of(&self, id: LinkId, time_ns: u64) -> u64 {
        let now = self.core.now();
        let ago_ns = self
            .core
            .with_feed(id, |f| f.now_ns(id, now).saturating_sub(time_ns));
        now.unix_ms.saturating_sub(ago_ns.unwrap_or(0) / 1_000_000)
    }
}

/// Returns the time between estimates: a second, or more if the run lasts hours.
fn estimate_every_ns(recording: &Recording) -> u64 {
    let ended = recording.ended_unix_ms.unwrap_or(recording.started_unix_ms);
    let length_ms = ended.saturating_sub(recording.started_unix_ms);
    SECOND_NS * (length_ms / 1000).div_ceil(MOST_ESTIMATES).max(1)
}

/// Describes the records that did not fit into memory, if any.
fn out_of_memory(feed: &crate::core::feed::Feed) -> Option<String> {
    let e = feed.evicted();
    let records = e.link_intervals + e.flow_intervals + e.drops + e.events;
    (records > 0).then(|| {
        format!(
            "the run is larger than what is kept in memory: estimates and distributions lack {records} of \
             its oldest records; `tidemark-controller analyze --from-s --to-s` has all"
        )
    })
}
