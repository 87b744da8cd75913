// SPDX-License-Identifier: Apache-2.0
//! Disks, database, and the counters of each start about stored rows.

use crate::controller::{Controller, DIR};
use crate::database::{Fate, ModelDatabase};
use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use test_support::disk::SimDisk;
use test_support::rng::Rng;
use tidemark_control::Change;

/// Random number streams of the disks and the database.
const PARTS: [u64; 3] = [500, 501, 502];

const SOUND: u8 = 0;
const AWAY: u8 = 1;
const UNSURE: u8 = 2;

/// Counters of one start of the collector about its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    /// Directory of the capture.
    pub(crate) dir: PathBuf,
    /// Name of the capture in the database.
    pub(crate) capture: String,
    /// Digest of each row, by its order.
    pub(crate) rows: Vec<u64>,
    /// Rows counted as written, and as lost.
    pub(crate) written: u64,
    pub(crate) written_lost: u64,
    /// All rows before this order count as written.
    pub(crate) written_before: u64,
    /// Rows spooled on disk for the database, and rows lost before.
    pub(crate) spooled: u64,
    pub(crate) spooled_lost: u64,
    /// Spooled rows that a power cut may lose, and those that one may have lost.
    pub(crate) unsynced: u64,
    pub(crate) maybe_taken: u64,
    /// Batches that a repeated attempt found stored.
    pub(crate) found: u64,
    /// Whether it could end properly.
    pub(crate) closed: bool,
}

/// Records of the controller's log, by its own counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogBooks {
    pub(crate) recorded: Vec<Change>,
    /// Records, including intents, that the log could not write.
    pub(crate) not_written: u64,
}

impl LogBooks {
    /// Saves the counters of a controller that has ended.
    pub(crate) fn end(&mut self, c: &Controller) {
        self.recorded = c.core.audit.recent();
        self.not_written = c.core.audit.health().not_written;
    }
}

/// Disks, database and counters.
pub(crate) struct Storage {
    pub(crate) collector_disk: SimDisk,
    pub(crate) controller_disk: SimDisk,
    pub(crate) database: ModelDatabase,
    state: Arc<AtomicU8>,
    /// Whether the collector's disk works.
    pub(crate) sound: bool,
    pub(crate) books: Vec<Books>,
    pub(crate) log: LogBooks,
}

impl Storage {
    /// # Errors
    /// None: the disk is new.
    pub(crate) fn new(seed: u64) -> Result<Self> {
        let mut of = PARTS.map(|part| Rng::of_part(seed, part));
        let controller_disk = SimDisk::new(of[1].next_u64());
        durable_fs::make_directories(&controller_disk, Path::new(DIR))
            .context("the controller's directory")?;
        let state = Arc::new(AtomicU8::new(SOUND));
        let (told, rng) = (Arc::clone(&state), Mutex::new(of[2].clone()));
        let fate = move || {
            let mut rng = rng.lock();
            match told.load(Ordering::Relaxed) {
                AWAY => Fate::Unreachable,
                UNSURE => match rng.index(7) {
                    0 => Fate::Normal,
                    1 => Fate::Lost,
                    2 => Fate::Late(1 + rng.index(5) as u32),
                    3 => Fate::TokenWithoutRows,
                    4 => Fate::Busy,
                    _ => Fate::NoAnswer,
                },
                _ => Fate::Normal,
            }
        };
        Ok(Self {
            collector_disk: SimDisk::new(of[0].next_u64()),
            controller_disk,
            database: ModelDatabase::new(fate),
            state,
            sound: true,
            books: Vec::new(),
            log: LogBooks::default(),
        })
    }

    /// Makes the database unreachable, or lose calls and answers.
    pub(crate) fn database_fails(&self, away: bool) {
        let state = if away { AWAY } else { UNSURE };
        self.state.store(state, Ordering::Relaxed);
    }

    /// Makes the database answer again.
    pub(crate) fn database_is_sound(&self) {
        self.state.store(SOUND, Ordering::Relaxed);
    }
}
