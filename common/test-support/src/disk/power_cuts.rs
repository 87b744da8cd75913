// SPDX-License-Identifier: Apache-2.0
//! Power-cut scenarios for a store: the store works, the power goes, and the store
//! starts again with the same configuration.

use crate::disk::SimDisk;
use crate::disk::cut::Survival;
use crate::disk::faults::{Errors, Operation};
use crate::rng::Rng;

/// Returns the number of runs per model: `POWER_CUT_SEEDS` if set, otherwise `usual`.
pub fn seeds(usual: u64) -> u64 {
    let told = std::env::var("POWER_CUT_SEEDS").ok();
    told.and_then(|s| s.parse().ok()).unwrap_or(usual)
}

/// A store to test with power cuts.
pub trait Store {
    /// Starts the program on a disk with its present content.
    ///
    /// # Errors
    /// The program cannot start; says why.
    fn start(&mut self, disk: &SimDisk) -> Result<(), String>;

    /// Does a piece of work, and records which data is reported as stored.
    fn work(&mut self);

    /// Ends the program abruptly.
    fn kill(&mut self);
}

/// Power-cut scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Between two operations.
    AtRest,
    /// At any operation.
    AnyOperation,
    /// While bytes are written.
    WithinWrite,
    /// While a file is synced.
    AtSync,
    /// While a file is made, renamed or removed.
    AtName,
    /// After a rename, before the sync of its directory.
    BeforeDirectorySync,
    /// During the very first start.
    FirstStart,
    /// At any operation, and again while the program recovers.
    DuringRecovery,
    /// At any operation, and again in the next run.
    Twice,
    /// While the disk is full.
    FullDisk,
    /// After the disk was full and has room again.
    FullThenRoom,
    /// After operations have failed.
    AfterErrors,
    /// After a kill and another start: changes left pending by the first run are also lost.
    AfterKill,
}

enum Act {
    /// The power goes at a random operation of the following work.
    Arm(Option<Operation>),
    /// The power goes at a random operation of the following start or work.
    ArmStart,
    Work,
    Full,
    Room,
    Fail,
    Sound,
    Kill,
    Cut,
}

impl Model {
    /// All models.
    pub const ALL: [Self; 13] = [
        Self::AtRest,
        Self::AnyOperation,
        Self::WithinWrite,
        Self::AtSync,
        Self::AtName,
        Self::BeforeDirectorySync,
        Self::FirstStart,
        Self::DuringRecovery,
        Self::Twice,
        Self::FullDisk,
        Self::FullThenRoom,
        Self::AfterErrors,
        Self::AfterKill,
    ];

    fn acts(self) -> Vec<Act> {
        use Act::{Arm, ArmStart, Cut, Fail, Full, Kill, Room, Sound, Work};
        match self {
            Self::AtRest => vec![Work, Cut],
            Self::AnyOperation => vec![Work, Arm(None), Work, Cut],
            Self::WithinWrite => vec![Work, Arm(Some(Operation::Write)), Work, Cut],
            Self::AtSync => vec![Work, Arm(Some(Operation::Sync)), Work, Cut],
            Self::AtName => vec![Work, Arm(Some(Operation::Name)), Work, Cut],
            Self::BeforeDirectorySync => {
                vec![Work, Arm(Some(Operation::SyncDirectory)), Work, Cut]
            }
            Self::FirstStart => vec![ArmStart, Work, Cut],
            Self::DuringRecovery => vec![Work, Arm(None), Work, Cut, ArmStart, Work, Cut],
            Self::Twice => vec![Work, Arm(None), Work, Cut, Work, Arm(None), Work, Cut],
            Self::FullDisk => vec![Work, Full, Work, Cut],
            Self::FullThenRoom => vec![Work, Full, Work, Room, Work, Cut],
            Self::AfterErrors => vec![Work, Fail, Work, Sound, Work, Cut],
            Self::AfterKill => vec![Work, Kill, Work, Arm(None), Work, Cut],
        }
    }
}

/// One run of a model.
#[derive(Clone, Copy, Debug)]
pub struct PowerCut {
    /// The scenario.
    pub model: Model,
    /// Seed of all random choices.
    pub seed: u64,
}

impl PowerCut {
    /// Plays the scenario on a store, then starts the store once more on a working disk
    /// and leaves it running.
    ///
    /// # Errors
    /// The store does not start although the disk works.
    pub fn play(self, store: &mut impl Store) -> Result<SimDisk, String> {
        let mut rng = Rng::of(self.seed.wrapping_mul(31) + self.model as u64);
        let disk = SimDisk::new(rng.next_u64());
        let mut running = false;
        // Whether the disk may fail.
        let mut wrong = false;
        for act in self.model.acts() {
            match act {
                Act::Arm(operation) => {
                    disk.cut_after(rng.next_u64() % 40, operation);
                    wrong = true;
                }
                Act::ArmStart => {
                    disk.cut_after(rng.next_u64() % 12, None);
                    wrong = true;
                }
                Act::Work => {
                    if !running {
                        match store.start(&disk) {
                            Ok(()) => running = true,
                            Err(_) if wrong => store.kill(),
                            Err(e) => return Err(format!("it does not start: {e}")),
                        }
                    }
                    for _ in 0..rng.index(30) {
                        if running && disk.is_on() {
                            store.work();
                        }
                    }
                }
                Act::Full => {
                    disk.leave_room(rng.next_u64() % 3000);
                    wrong = true;
                }
                Act::Room => {
                    disk.set_capacity(None);
                    wrong = false;
                }
                Act::Fail => {
                    disk.set_errors(Errors {
                        write: 0.1,
                        sync: 0.2,
                        name: 0.1,
                    });
                    wrong = true;
                }
                Act::Sound => {
                    disk.set_errors(Errors::default());
                    wrong = false;
                }
                Act::Kill => {
                    store.kill();
                    disk.killed();
                    running = false;
                }
                Act::Cut => {
                    disk.cut();
                    store.kill();
                    disk.restart(Survival::ALL[rng.index(Survival::ALL.len())]);
                    disk.set_capacity(None);
                    running = false;
                    wrong = false;
                }
            }
        }
        store
            .start(&disk)
            .map_err(|e| format!("it does not start again: {e}"))?;
        Ok(disk)
    }
}
