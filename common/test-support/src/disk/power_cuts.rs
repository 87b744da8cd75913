// SPDX-License-Identifier: Apache-2.0
//! Ways to lose power, played on a store: it works, the power goes, it starts
//! again with the same configuration.

use crate::disk::SimDisk;
use crate::disk::cut::Survival;
use crate::disk::faults::{Errors, Operation};
use crate::rng::Rng;

/// Runs of each model: the usual number, or that of `POWER_CUT_SEEDS`.
pub fn seeds(usual: u64) -> u64 {
    let told = std::env::var("POWER_CUT_SEEDS").ok();
    told.and_then(|s| s.parse().ok()).unwrap_or(usual)
}

/// A store that loses power.
pub trait Store {
    /// The program starts on a disk, with what is there.
    ///
    /// # Errors
    /// It cannot, and why.
    fn start(&mut self, disk: &SimDisk) -> Result<(), String>;

    /// It does a piece of work, and notes what it was told is stored.
    fn work(&mut self);

    /// It is gone.
    fn kill(&mut self);
}

/// A way to lose power.
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
    /// In the very first start.
    FirstStart,
    /// And again while the program starts with what is left.
    DuringRecovery,
    /// And again in the next run.
    Twice,
    /// While the disk is full.
    FullDisk,
    /// After the disk was full, and has room again.
    FullThenRoom,
    /// After operations have failed.
    AfterErrors,
    /// After a kill and another start: what the first one left pending is lost too.
    AfterKill,
}

enum Act {
    /// The power goes soon, in the work that follows.
    Arm(Option<Operation>),
    /// Or before it: in the start.
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
    /// Every model.
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
    /// The way.
    pub model: Model,
    /// Everything else.
    pub seed: u64,
}

impl PowerCut {
    /// Plays it on a store, and starts the store once more, on a sound disk. The
    /// store is running then.
    ///
    /// # Errors
    /// The store does not start although nothing is wrong with the disk.
    pub fn play(self, store: &mut impl Store) -> Result<SimDisk, String> {
        let mut rng = Rng::of(self.seed.wrapping_mul(31) + self.model as u64);
        let disk = SimDisk::new(rng.next_u64());
        let mut running = false;
        // Something is wrong with the disk.
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
