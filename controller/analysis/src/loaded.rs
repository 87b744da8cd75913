// SPDX-License-Identifier: Apache-2.0
//! Passes a capture to an estimator as the collector would have done live.
//!
//! All records of the requested span are needed at once. Their memory is bounded: a longer capture
//! gets longer interval records, up to a tenth of a second; if it still does not fit, it is refused
//! with a remedy.

use crate::AnalysisError;
use crate::span::{Asked, Spans};
use std::path::Path;
use tidemark_capture::{CaptureError, Replay, locate};
use tidemark_estimators::{Estimator, EstimatorConfig, LinkId};
use tidemark_proto::telemetry::Update;

/// Maximum number of flow records in memory, about 0.2 KiB each.
const MAX_FLOW_INTERVALS: u64 = 5_000_000;
/// A link record, with two histograms, takes as much memory as this many flow records.
const LINK_INTERVAL_AS: u64 = 8;
/// The longest interval, ms: round trips should not be much shorter.
const LONGEST_INTERVAL_MS: u32 = 100;

/// A capture that has been read to its end.
pub struct Loaded {
    /// Estimator that holds the capture's interval records.
    pub estimator: Estimator,
    /// The span of each link.
    pub spans: Spans,
    /// Start of the capture, Unix time.
    pub started_unix_ms: u64,
    /// Remarks on missing rows and the like, in words.
    pub notes: Vec<String>,
}

/// Reads a capture, or the only one in a run's directory. Outside of the requested span, only the
/// links' spans are kept. `told` receives the number of rows read, and of all rows.
///
/// # Errors
/// The capture cannot be read, or does not fit.
pub fn load(
    path: &Path,
    asked: Asked,
    told: &mut dyn FnMut(u64, u64),
) -> Result<Loaded, AnalysisError> {
    load_within(path, asked, MAX_FLOW_INTERVALS, told)
}

fn load_within(
    path: &Path,
    asked: Asked,
    most: u64,
    told: &mut dyn FnMut(u64, u64),
) -> Result<Loaded, AnalysisError> {
    let path = &locate(path)?;
    let mut factor = 1;
    loop {
        let replay = Replay::open_widened(path, factor).map_err(AnalysisError::capture(path))?;
        let interval_ms = replay.info().interval_ms;
        match read(replay, asked, most, told).map_err(AnalysisError::capture(path))? {
            Read::All(mut loaded) => {
                if factor > 1 {
                    loaded.notes.push(format!(
                        "the capture is long: interval records are {interval_ms} ms long; a span of it is analysed more finely"
                    ));
                }
                return Ok(*loaded);
            }
            Read::TooMany { share } => {
                let longest = LONGEST_INTERVAL_MS / (interval_ms / factor).max(1);
                // Because flows have at most one record in each interval.
                let needed = (f64::from(factor) * 1.1 / share.max(1e-6)).ceil();
                let next = (needed as u32).clamp(factor + 1, longest.max(factor + 1));
                if next > longest {
                    return Err(AnalysisError::TooLong {
                        path: path.clone(),
                        times: 1.0 / share.max(1e-6),
                    });
                }
                factor = next;
            }
        }
    }
}

enum Read {
    All(Box<Loaded>),
    /// No more records fit after this share of the rows.
    TooMany {
        share: f64,
    },
}

fn read(
    mut replay: Replay,
    asked: Asked,
    most: u64,
    told: &mut dyn FnMut(u64, u64),
) -> Result<Read, CaptureError> {
    let config = EstimatorConfig {
        retention_s: 1e9,
        max_link_intervals: usize::MAX,
        max_flow_intervals: usize::MAX,
        max_all_link_intervals: usize::MAX,
        max_all_flow_intervals: usize::MAX,
        max_drops: usize::MAX,
        max_flows: usize::MAX,
        max_listed_flows: usize::MAX,
        max_events: usize::MAX,
        ..EstimatorConfig::default()
    };
    let history_ns = (config.history_s.max(0.0) * 1e9) as u64;
    let mut estimator = Estimator::new(config);
    estimator.set_nodes(&replay.info().nodes);
    let rows = replay.rows()?.max(1);
    let mut spans = Spans::new();
    let mut kept = 0;
    while let Some(update) = replay.next() {
        let mut update = update?;
        told(replay.rows_read(), rows);
        for interval in &update.link_intervals {
            let id = LinkId::new(interval.node_id, interval.port, interval.queue);
            spans.entry(id).or_default().extend(interval);
        }
        only_asked(&mut update, asked, &spans, history_ns);
        kept += update.flow_intervals.len() as u64;
        kept += LINK_INTERVAL_AS * update.link_intervals.len() as u64;
        if kept > most {
            return Ok(Read::TooMany {
                share: replay.rows_read() as f64 / rows as f64,
            });
        }
        estimator.push(&update);
    }
    Ok(Read::All(Box::new(Loaded {
        estimator,
        spans,
        started_unix_ms: (replay.meta().started_unix_ns / 1_000_000).max(0) as u64,
        notes: missing(&replay)?,
    })))
}

/// Drops the records that no estimate of the requested span needs.
fn only_asked(update: &mut Update, asked: Asked, spans: &Spans, history_ns: u64) {
    if !asked.given() {
        return;
    }
    let is_needed = |id: LinkId, start_ns: u64| {
        let first_ns = spans.get(&id).map_or(start_ns, |span| span.first_ns);
        let (from_ns, to_ns) = asked.about(first_ns);
        start_ns >= from_ns.saturating_sub(history_ns) && start_ns < to_ns
    };
    let Update {
        flow_intervals,
        link_intervals,
        drops,
        ..
    } = update;
    flow_intervals.retain(|r| is_needed(LinkId::new(r.node_id, r.port, r.queue), r.start_ns));
    link_intervals.retain(|r| is_needed(LinkId::new(r.node_id, r.port, r.queue), r.start_ns));
    drops.retain(|d| is_needed(LinkId::new(d.node_id, d.port, d.queue), d.time_ns));
}

/// Describes the rows that a capture lacks and the files that could not be checked, after it was
/// read to its end.
///
/// # Errors
/// The files cannot be read again.
pub fn missing(replay: &Replay) -> Result<Vec<String>, CaptureError> {
    let is_closed = replay.meta().ended_unix_ns.is_some();
    let mut notes = replay.integrity()?.notes(is_closed);
    if !is_closed {
        notes.push(
            "the capture was not closed: its collector still runs, or was killed; its last seconds may be missing"
                .to_owned(),
        );
    }
    if let Some(rows @ 1..) = replay.rows_missing() {
        notes.push(format!(
            "{rows} rows of the capture are missing: lost when it was written, or files are gone"
        ));
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_capture::{CaptureMeta, CaptureWriter, FORMAT, WriterOptions};
    use tidemark_pipeline::PostcardRow;

    const FLOWS: u64 = 5;
    const SECONDS: u64 = 4;

    /// Writes a packet of each flow every 10 ms.
    fn capture(dir: &Path) {
        capture_without(dir, 0);
    }

    /// Writes a capture that lacks `rows` rows of its second half.
    fn capture_without(dir: &Path, rows: u64) {
        let meta = CaptureMeta {
            format: FORMAT,
            ..CaptureMeta::default()
        };
        let options = WriterOptions {
            wait_when_full: true,
            ..WriterOptions::default()
        };
        let mut writer = CaptureWriter::create(dir, meta, options).unwrap();
        for n in 0..SECONDS * 100 * FLOWS {
            let ingress_ns = 1_000_000_000 + n * 10_000_000 / FLOWS;
            writer.postcard(&PostcardRow {
                order: if n < SECONDS * 50 * FLOWS {
                    n
                } else {
                    n + rows
                },
                node_id: 1,
                port: 2,
                flow_id: 1 + n % FLOWS,
                ingress_ns,
                egress_ns: ingress_ns + 1000,
                ip_bytes: 1500,
                ..PostcardRow::default()
            });
        }
        writer.finish(1).unwrap();
    }

    #[test]
    fn a_capture_that_has_a_gap_or_was_not_closed_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("capture");
        capture_without(&path, 7);
        let loaded = load_within(&path, Asked::default(), u64::MAX, &mut |_, _| ()).unwrap();
        assert_eq!(loaded.notes.len(), 1, "{:?}", loaded.notes);
        assert!(loaded.notes[0].starts_with("7 rows of the capture are missing"));
        // As a killed collector leaves it.
        let meta = path.join("capture.json");
        let text = std::fs::read_to_string(&meta).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json["ended_unix_ns"] = serde_json::Value::Null;
        std::fs::write(&meta, json.to_string()).unwrap();
        let loaded = load_within(&path, Asked::default(), u64::MAX, &mut |_, _| ()).unwrap();
        assert_eq!(loaded.notes.len(), 2, "{:?}", loaded.notes);
        assert!(loaded.notes[0].starts_with("the capture was not closed"));
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_does_not_fit_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("capture");
        capture(&path);
        let all = SECONDS * 100 * (FLOWS + LINK_INTERVAL_AS);
        let id = LinkId {
            node_id: 1,
            port: 2,
            queue: 0,
        };
        let whole = Asked::default();
        let arrivals = |loaded: &Loaded| {
            let span = &loaded.spans[&id];
            loaded
                .estimator
                .estimate(id, span.first_ns, span.last_ns)
                .arrivals
        };
        let fine = load_within(&path, whole, all, &mut |_, _| ()).unwrap();
        assert_eq!(fine.notes, Vec::<String>::new());
        let coarse = load_within(&path, whole, all / 3, &mut |_, _| ()).unwrap();
        assert!(
            coarse.notes[0].contains("interval records are 40 ms long"),
            "{:?}",
            coarse.notes
        );
        assert_eq!(arrivals(&coarse), arrivals(&fine));
        assert_eq!(arrivals(&fine), SECONDS * 100 * FLOWS);
        let Err(error) = load_within(&path, whole, all / 30, &mut |_, _| ()) else {
            panic!("it does not fit");
        };
        assert!(format!("{error:#}").contains("ask for a span"), "{error:#}");
        // A part of it fits: its last second, with one more second of history before it.
        let last = Asked {
            from_s: Some(3.9),
            ..Asked::default()
        };
        assert!(load_within(&path, last, all, &mut |_, _| ()).is_ok());
    }
}
