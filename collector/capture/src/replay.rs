// SPDX-License-Identifier: Apache-2.0
//! Replays the updates of a capture with the code that produced them live.

use crate::error::CaptureError;
use crate::integrity::Integrity;
use crate::meta::CaptureMeta;
use crate::reader::{AnyRow, Merged};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use tidemark_pipeline::Aggregator;
use tidemark_proto::telemetry::{CollectorInfo, CollectorStatus, Update};

/// Iterator over the updates of a capture: the same interval records, drops,
/// flows, events and clock mappings as were sent live. Live status messages are
/// not stored; one status with the totals ends the replay.
pub struct Replay {
    dir: PathBuf,
    meta: CaptureMeta,
    rows: Merged,
    aggregator: Aggregator,
    /// Updates that are complete but not yet returned.
    ready: VecDeque<Update>,
    seen: CollectorStatus,
    stage: Stage,
    /// `order` of the row that should come next.
    next_order: u64,
    rows_missing: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Rows,
    Status,
    End,
}

impl Replay {
    /// # Errors
    /// The directory holds no capture that this program can read.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, CaptureError> {
        Self::open_widened(dir, 1)
    }

    /// Like [`Replay::open`], but with interval records `factor` times as long as live.
    ///
    /// # Errors
    /// Same as [`Replay::open`].
    pub fn open_widened(dir: impl AsRef<Path>, factor: u32) -> Result<Self, CaptureError> {
        let dir = dir.as_ref();
        let mut meta = CaptureMeta::read(dir)?;
        meta.config.interval_ms = meta.config.interval_ms.saturating_mul(factor.max(1));
        Ok(Self {
            rows: Merged::open(dir)?,
            aggregator: Aggregator::of(&meta.config),
            ready: VecDeque::new(),
            dir: dir.to_path_buf(),
            meta,
            seen: CollectorStatus::default(),
            stage: Stage::Rows,
            next_order: 0,
            rows_missing: 0,
        })
    }

    /// Returns the capture's answer to `GetInfo`.
    pub fn info(&self) -> CollectorInfo {
        self.meta.info(&self.dir)
    }

    /// The contents of `capture.json`.
    pub fn meta(&self) -> &CaptureMeta {
        &self.meta
    }

    /// Number of rows that the capture should hold but does not: lost when written, or in files
    /// that are gone. If the capture was not closed, rows after the last one are unknown; see
    /// [`CaptureMeta::ended_unix_ns`]. No interval record covers the time of missing rows.
    /// `None` if rows were left out on purpose.
    pub fn rows_missing(&self) -> Option<u64> {
        (!self.meta.known_nodes_only).then_some(self.rows_missing)
    }

    /// Checks how far damage to the files would be noticed.
    ///
    /// # Errors
    /// Same as [`Integrity::of`].
    pub fn integrity(&self) -> Result<Integrity, CaptureError> {
        Integrity::of(&self.dir)
    }

    /// Number of rows of all tables read so far.
    pub fn rows_read(&self) -> u64 {
        self.rows.rows_read()
    }

    /// Returns the number of rows of all tables.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn rows(&self) -> Result<u64, CaptureError> {
        Merged::rows(&self.dir)
    }

    fn row(&mut self, row: AnyRow) {
        let order = row.order();
        let missing = order.saturating_sub(self.next_order);
        self.rows_missing += missing;
        if missing > 0 && !self.meta.known_nodes_only {
            self.aggregator.rows_missing();
        }
        self.next_order = order.saturating_add(1);
        match row {
            AnyRow::Postcard(r) => {
                self.seen.reports_received += 1;
                self.seen.capture_rows += 1;
                let lost = i64::from(r.lost_before);
                self.seen.reports_lost = self.seen.reports_lost.saturating_add_signed(lost);
                let candidate = r.join != tidemark_pipeline::Join::None;
                self.seen.join_candidates += u64::from(candidate);
                self.seen.join_matched += u64::from(r.join.matched());
                self.aggregator
                    .resume(&r, &mut |update| self.ready.push_back(update));
                self.aggregator
                    .postcard(&r, &mut |update| self.ready.push_back(update));
            }
            AnyRow::Probe(r) => {
                self.seen.probe_samples += 1;
                self.seen.capture_rows += 1;
                self.aggregator.probe(&r.row);
            }
            AnyRow::Event(r) => {
                self.seen.capture_rows += 1;
                self.aggregator
                    .event(&r, &mut |update| self.ready.push_back(update));
            }
        }
    }

    /// Returns the number of rows missing after the last row read, if the capture was closed.
    fn missing_at_end(&self) -> u64 {
        let closed = self.meta.stats.as_ref();
        let closed = closed.filter(|_| self.meta.ended_unix_ns.is_some());
        closed.map_or(0, |s| {
            let rows = s.postcard_rows + s.probe_rows + s.event_rows;
            rows.saturating_sub(self.next_order)
        })
    }

    /// Returns the totals: of the writer if it ended properly, otherwise of the rows.
    fn status(&self) -> CollectorStatus {
        let stats = self.meta.stats.as_ref();
        let of_pipeline = match stats.filter(|_| self.meta.ended_unix_ns.is_some()) {
            Some(stats) => CollectorStatus {
                capture_rows: self.seen.capture_rows,
                capture_rows_lost: self.meta.rows_lost,
                ..stats.collector_status()
            },
            None => self.seen.clone(),
        };
        let reception = self.meta.reception;
        CollectorStatus {
            nodes_of_hops_alone: self.meta.nodes_of_hops_alone.clone(),
            datagrams_received: reception.map(|r| r.datagrams),
            datagrams_malformed: reception.map(|r| r.malformed),
            kernel_drops: reception.map(|r| r.kernel_drops),
            probe_lost: reception.map(|r| r.probe_lost),
            ..of_pipeline
        }
    }
}

impl Iterator for Replay {
    type Item = Result<Update, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Some(Ok(update));
            }
            if self.stage != Stage::Rows {
                break;
            }
            match self.rows.next_row() {
                Ok(Some(row)) => self.row(row),
                Ok(None) => {
                    self.rows_missing += self.missing_at_end();
                    self.stage = Stage::Status;
                    self.aggregator
                        .finish(&mut |update| self.ready.push_back(update));
                }
                Err(e) => {
                    self.stage = Stage::End;
                    return Some(Err(e));
                }
            }
        }
        if self.stage == Stage::Status {
            self.stage = Stage::End;
            return Some(Ok(Update {
                status: Some(self.status()),
                ..Update::default()
            }));
        }
        None
    }
}
