// SPDX-License-Identifier: Apache-2.0
//! State file and audit log on a disk that loses power at any point: what the disk acknowledged is
//! there, once, and both files can be read again.

use super::audit::{Audit, Change, Origin, Outcome};
use super::state_file::{Saved, SavedLink, StateFile};
use std::path::Path;
use test_support::disk::{Errors, Model, Operation, PowerCut, SimDisk, Store, Survival, seeds};

/// Number of runs of each model.
const SEEDS: u64 = 300;

fn play<S: Store + Default>(check: impl Fn(&mut S)) {
    for model in Model::ALL {
        for seed in 0..seeds(SEEDS) {
            let mut store = S::default();
            let played = PowerCut { model, seed }.play(&mut store);
            played.unwrap_or_else(|e| panic!("{model:?}, seed {seed}: {e}"));
            check(&mut store);
            store.work();
            check(&mut store);
        }
    }
}

#[derive(Default)]
struct LogStore {
    audit: Option<Audit>,
    tried: u64,
    /// Records that the log acknowledged.
    recorded: Vec<u64>,
}

impl LogStore {
    const PATH: &str = "/log/audit.jsonl";

    fn found(audit: &Audit) -> Vec<u64> {
        audit.recent().iter().map(|c| c.unix_ms).collect()
    }

    /// Checks the log at a start, when all that is known comes from the file.
    fn check(&self, audit: &Audit) {
        let found = Self::found(audit);
        for n in &self.recorded {
            let times = found.iter().filter(|f| *f == n).count();
            assert_eq!(times, 1, "record {n} is there {times} times: {found:?}");
        }
        assert!(found.is_sorted() && found.iter().all(|n| *n < self.tried));
    }
}

impl Store for LogStore {
    fn start(&mut self, disk: &SimDisk) -> Result<(), String> {
        durable_fs::make_directories(disk, Path::new("/log")).map_err(|e| e.to_string())?;
        let audit = Audit::open_on(disk, Some(Path::new(Self::PATH)));
        let audit = audit.map_err(|e| e.to_string())?;
        self.check(&audit);
        self.audit = Some(audit);
        Ok(())
    }

    fn work(&mut self) {
        let Some(audit) = &self.audit else { return };
        let n = self.tried;
        self.tried += 1;
        let change = Change {
            unix_ms: n,
            node: 1,
            port: 2,
            queue: 0,
            origin: Origin::Auto,
            outcome: Outcome::Set,
            before: None,
            limit: None,
            // Also lines longer than a sector.
            reason: "x".repeat(n as usize % 5 * 300),
            error: None,
            expected: None,
            measured_before: None,
            measured_after: None,
        };
        if audit.record(change).is_ok() {
            self.recorded.push(n);
        }
    }

    fn kill(&mut self) {
        self.audit = None;
    }
}

#[test]
fn no_recorded_change_is_lost_or_doubled() {
    play(|store: &mut LogStore| {
        assert!(store.audit.is_some());
    });
}

#[derive(Default)]
struct StateStore {
    file: Option<StateFile>,
    tried: u64,
    stored: u64,
}

impl StateStore {
    fn saved(n: u64) -> Saved {
        // More than a sector, so that it can be torn.
        let link = |port| SavedLink {
            node: 1,
            port,
            changed_unix_ms: Some(n),
            ..SavedLink::default()
        };
        Saved {
            version: StateFile::VERSION,
            links: (0..6).map(link).collect(),
            ..Saved::default()
        }
    }
}

impl Store for StateStore {
    fn start(&mut self, disk: &SimDisk) -> Result<(), String> {
        durable_fs::make_directories(disk, Path::new("/state")).map_err(|e| e.to_string())?;
        let file = StateFile::on(
            std::sync::Arc::new(disk.clone()),
            Path::new("/state/s.json"),
        );
        let saved = file.load().map_err(|e| format!("{e:#}"))?;
        let n = saved.links.first().and_then(|l| l.changed_unix_ms);
        let n = n.unwrap_or(0);
        assert!(
            (self.stored..=self.tried).contains(&n),
            "{n}: {} was stored",
            self.stored
        );
        assert!(n == 0 || saved == Self::saved(n));
        self.file = Some(file);
        Ok(())
    }

    fn work(&mut self) {
        let Some(file) = &self.file else { return };
        self.tried += 1;
        if file.store(&Self::saved(self.tried)).is_ok() {
            self.stored = self.tried;
        }
    }

    fn kill(&mut self) {
        self.file = None;
    }
}

#[test]
fn no_stored_state_is_lost() {
    play(|store: &mut StateStore| {
        assert!(store.file.is_some());
    });
}

fn opened(disk: &SimDisk) -> Audit {
    Audit::open_on(disk, Some(Path::new("/audit.jsonl"))).unwrap()
}

fn change(n: u64) -> Change {
    let line = include_str!("../../tests/fixtures/control-63e1e1a/audit.jsonl");
    let first = line.lines().next().unwrap();
    Change {
        unix_ms: n,
        ..serde_json::from_str(first).unwrap()
    }
}

/// The file was synced, but its name was not: a power cut lost all of it.
#[test]
fn a_new_log_survives_its_first_power_cut() {
    let disk = SimDisk::new(1);
    let audit = opened(&disk);
    audit.record(change(7)).unwrap();
    disk.restart(Survival::Nothing);
    assert_eq!(LogStore::found(&opened(&disk)), [7]);
}

/// The line that was cut short was ended at the start, but the disk had no room for that.
#[test]
fn a_controller_starts_while_the_disk_of_a_torn_log_is_full() {
    let disk = SimDisk::new(1);
    torn(&disk);
    disk.leave_room(0);
    let audit = opened(&disk);
    audit.record(change(3)).unwrap_err();
    disk.set_capacity(None);
    audit.record(change(4)).unwrap();
    assert_eq!(LogStore::found(&opened(&disk)), [1, 4]);
}

/// Leaves record 1, and a part of record 2 at the power cut.
fn torn(disk: &SimDisk) {
    let audit = opened(disk);
    audit.record(change(1)).unwrap();
    disk.cut_after(0, Some(Operation::Write));
    audit.record(change(2)).unwrap_err();
    disk.restart(Survival::Everything);
}

/// A failed sync of the record after a torn line lost the newline between them, and the record
/// became a part of that line.
#[test]
fn the_end_of_a_torn_line_is_on_the_disk_before_the_next_record() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        torn(&disk);
        let audit = opened(&disk);
        disk.fail_once(Operation::Sync);
        audit.record(change(3)).unwrap_err();
        audit.record(change(4)).unwrap();
        disk.restart(Survival::Mixed);
        assert_eq!(LogStore::found(&opened(&disk)), [1, 4], "seed {seed}");
    }
}

/// Bytes left by a failed sync do not become a record when the next sync succeeds.
#[test]
fn a_record_after_a_failed_sync_stands_alone() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let audit = opened(&disk);
        audit.record(change(1)).unwrap();
        disk.set_errors(Errors {
            sync: 1.0,
            ..Errors::default()
        });
        audit.record(change(2)).unwrap_err();
        disk.set_errors(Errors::default());
        audit.record(change(3)).unwrap();
        disk.restart(Survival::Mixed);
        assert_eq!(LogStore::found(&opened(&disk)), [1, 3], "seed {seed}");
    }
}
