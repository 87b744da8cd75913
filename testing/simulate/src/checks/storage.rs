// SPDX-License-Identifier: Apache-2.0
//! Checks that no acknowledged row or record is lost or duplicated; losses are counted.

use super::Checks;
use crate::controller::Controller;
use crate::parts::storage::{Books, LogBooks, Storage};
use crate::stores::{Stores, postcard_digest, probe_digest};
use std::path::Path;
use tidemark_capture::{AnyRow, CaptureError, CaptureMeta, Merged};
use tidemark_clickhouse::SinkStats;
use tidemark_control::Change;

/// Reads the rows of a capture by their order, with a digest of each; none for an event.
fn read(dir: &Path) -> Result<Vec<(u64, Option<u64>)>, CaptureError> {
    let mut merged = Merged::open(dir)?;
    let mut rows = Vec::new();
    while let Some(row) = merged.next_row()? {
        rows.push(match row {
            AnyRow::Postcard(r) => (r.order, Some(postcard_digest(&r))),
            AnyRow::Probe(r) => (r.row.order, Some(probe_digest(&r.row))),
            AnyRow::Event(r) => (r.order, None),
        });
    }
    Ok(rows)
}

impl Checks {
    /// Checks running stores.
    pub(crate) fn stores(&mut self, stores: Option<&Stores>) {
        let Some(b) = stores.map(Stores::books) else {
            return;
        };
        let handed = b.rows.len() as u64;
        self.require(
            b.written + b.written_lost <= handed && b.spooled + b.spooled_lost <= handed,
            "what fell out is counted",
            || {
                format!(
                    "{handed} rows; capture: {} written, {} lost; database: {} spooled, {} lost",
                    b.written, b.written_lost, b.spooled, b.spooled_lost
                )
            },
        );
    }

    /// Checks all captures at the end.
    pub(crate) fn captures(&mut self, storage: &Storage, scratch: &Path) {
        for (i, b) in storage.books.iter().enumerate() {
            let to = scratch.join(format!("capture-{i}"));
            let read = || -> anyhow::Result<_> {
                storage.collector_disk.export(&b.dir, &to)?;
                Ok((CaptureMeta::read(&to)?, read(&to)?))
            };
            match read() {
                Ok((meta, rows)) => self.capture(b, &meta, &rows),
                Err(e) => {
                    let at = b.dir.display();
                    self.fail("no acknowledged row lost", format!("{at}: {e}"));
                }
            }
        }
    }

    fn capture(&mut self, b: &Books, meta: &CaptureMeta, rows: &[(u64, Option<u64>)]) {
        let (at, found, handed) = (b.dir.display(), rows.len() as u64, b.rows.len() as u64);
        self.tally.written += found;
        self.tally.fell_out += b.written_lost;
        let sorted = rows.windows(2).all(|w| w[0].0 < w[1].0);
        self.require(sorted, "no acknowledged row doubled", || {
            format!("{at}: rows twice, or out of order")
        });
        let first = rows.iter().zip(0..).find(|((order, _), n)| order != n);
        let whole = first.map_or(found, |(_, n)| n);
        self.require(
            found >= b.written && whole >= b.written_before,
            "no acknowledged row lost",
            || {
                format!(
                    "{at}: {} rows counted as written, the first {} without a gap; {found} are there, {whole} without a gap",
                    b.written, b.written_before
                )
            },
        );
        let other = rows.iter().find(|(order, digest)| {
            let handed = b.rows.get(*order as usize);
            handed.is_none() || digest.is_some_and(|d| handed != Some(&d))
        });
        self.require(other.is_none(), "rows as they were", || {
            format!("{at}: row {other:?} is none that was given")
        });
        if !b.closed {
            return;
        }
        self.require(
            meta.ended_unix_ns.is_some() && meta.rows_lost == b.written_lost,
            "what fell out is counted",
            || {
                format!(
                    "{at}: {} rows lost, capture.json says {}",
                    b.written_lost, meta.rows_lost
                )
            },
        );
        self.require(
            found == b.written && found + b.written_lost == handed,
            "what fell out is counted",
            || {
                format!(
                    "{at}: {handed} rows, {} written, {} lost, {found} found",
                    b.written, b.written_lost
                )
            },
        );
    }

    /// Checks the spool after it had enough time to drain.
    pub(crate) fn spool_drained(&mut self, s: &SinkStats) {
        self.tally.found += s.found();
        let empty = s.spool_batches() == 0 && s.lost_total() == 0 && s.doubled() == 0;
        self.require(empty, "no acknowledged row lost", || {
            format!(
                "{} batches left, {} rows lost, {} doubled: {:?}",
                s.spool_batches(),
                s.lost_total(),
                s.doubled(),
                s.failure()
            )
        });
    }

    /// Checks the database when the spool is empty.
    pub(crate) fn database(&mut self, storage: &Storage) {
        let stored = storage.database.stored();
        for b in &storage.books {
            let of = stored.iter().filter(|((_, c, _), _)| *c == b.capture);
            let rows: u64 = of.map(|(_, rows)| rows).sum();
            self.tally.inserted += rows;
            self.tally.fell_out += b.spooled_lost;
            self.tally.found += b.found;
            let (name, handed) = (&b.capture, b.rows.len() as u64);
            self.require(rows >= b.spooled, "no acknowledged row lost", || {
                format!("{name}: {} rows were spooled, {rows} are stored", b.spooled)
            });
            self.require(rows <= handed, "no acknowledged row doubled", || {
                format!("{name}: {handed} rows were given, {rows} are stored")
            });
            let told = rows + b.spooled_lost;
            let counted = told <= handed && told + b.maybe_taken >= handed;
            self.require(!b.closed || counted, "what fell out is counted", || {
                format!(
                    "{name}: {handed} rows, {rows} stored, {} lost, {} taken by a power cut at most",
                    b.spooled_lost, b.maybe_taken
                )
            });
        }
        let unreadable = storage.database.unreadable();
        self.require(unreadable == 0, "no acknowledged row lost", || {
            format!("{unreadable} batches were no blocks")
        });
    }

    /// Checks at a controller's start that the log has the previous one's records.
    pub(crate) fn log_read(&mut self, c: &Controller, before: &LogBooks) {
        let found = c.core.audit.recent();
        // Measured values may change in the last digit when written as text.
        let key = |c: &Change| (c.unix_ms, c.node, c.port, c.origin, c.outcome, c.limit);
        let there = |r: &&Change| found.iter().any(|f| key(f) == key(r));
        let kept = before.recorded.iter().filter(there).count();
        let missing = (before.recorded.len() - kept) as u64;
        self.require(
            missing <= before.not_written,
            "no acknowledged record lost",
            || {
                format!(
                    "{missing} records are missing, {} were not written",
                    before.not_written
                )
            },
        );
        let most = before.recorded.len();
        self.require(found.len() <= most, "no record doubled", || {
            format!("{} records are there, {most} were made", found.len())
        });
    }
}
