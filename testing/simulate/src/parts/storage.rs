// SPDX-License-Identifier: Apache-2.0
//! The disks, the database, and what each start was told is stored.

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

/// Streams of random numbers of the disks and the database.
const PARTS: [u64; 3] = [500, 501, 502];

const SOUND: u8 = 0;
const AWAY: u8 = 1;
const UNSURE: u8 = 2;

/// Rows of one start of the collector, as it counts them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    /// Directory of its capture.
    pub(crate) dir: PathBuf,
    /// Its name in the database.
    pub(crate) capture: String,
    /// Digest of each row, by its order.
    pub(crate) rows: Vec<u64>,
    /// Rows that count as written, and as lost.
    pub(crate) written: u64,
    pub(crate) written_lost: u64,
    /// Rows before this order count as written, all of them.
    pub(crate) written_before: u64,
    /// Rows that were on the disk for the database, and that fell out before.
    pub(crate) spooled: u64,
    pub(crate) spooled_lost: u64,
    /// Rows there that a power cut may take, and that one may have taken.
    pub(crate) unsynced: u64,
    pub(crate) maybe_taken: u64,
    /// Batches that a repeated attempt found stored already.
    pub(crate) found: u64,
    /// It could end.
    pub(crate) closed: bool,
}

/// Records of the controller's log, as it counts them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogBooks {
    pub(crate) recorded: Vec<Change>,
    /// Records that the log has not taken, intents too.
    pub(crate) not_written: u64,
}

impl LogBooks {
    /// A start of the controller has ended.
    pub(crate) fn end(&mut self, c: &Controller) {
        self.recorded = c.core.audit.recent();
        self.not_written = c.core.audit.health().not_written;
    }
}

/// Disks and database.
pub(crate) struct Storage {
    pub(crate) collector_disk: SimDisk,
    pub(crate) controller_disk: SimDisk,
    pub(crate) database: ModelDatabase,
    state: Arc<AtomicU8>,
    /// The collector's disk is sound.
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

    /// The database is away, or loses calls and answers.
    pub(crate) fn database_fails(&self, away: bool) {
        let state = if away { AWAY } else { UNSURE };
        self.state.store(state, Ordering::Relaxed);
    }

    /// It answers again.
    pub(crate) fn database_is_sound(&self) {
        self.state.store(SOUND, Ordering::Relaxed);
    }
}
