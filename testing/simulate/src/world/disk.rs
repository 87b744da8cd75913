// SPDX-License-Identifier: Apache-2.0
//! Disks and database: how they fail, and how the programs react.

use super::state::World;
use crate::collector::Collector;
use crate::fault::Kind;
use crate::stores::{self, Stores};
use std::time::Duration;
use test_support::disk::{Errors, Survival};
use tidemark_clickhouse::ClickHouseSink;
use tidemark_pipeline::Config;

/// How long the last start may insert remaining batches, s.
const DRAIN_S: u64 = 600;

impl World {
    /// Starts the collector's stores; `None` if the disk prevents it.
    pub(super) fn start_stores(&mut self, instance: u64, config: &Config) -> Option<Stores> {
        let database = self.storage.database.shared();
        let disk = &self.storage.collector_disk;
        match Stores::start(instance, config, disk, &database, self.now_ns) {
            Ok(stores) => Some(stores),
            Err(e) => {
                self.checks
                    .require(!self.storage.sound, "starts again", || format!("{e:#}"));
                None
            }
        }
    }

    /// Ends the stores with their collector.
    pub(super) fn end_stores(&mut self, collector: &mut Collector, properly: bool) {
        let (now_ns, unix_ns) = (self.now_ns, self.unix_ns());
        let Some(stores) = collector.pipeline.sink_mut().stores.take() else {
            return;
        };
        let disk = &self.storage.collector_disk;
        let books = if properly {
            let books = stores.end(now_ns, unix_ns);
            disk.killed();
            books
        } else {
            if disk.is_on() {
                // Killed first: nothing in its memory may be written any more.
                disk.killed();
            }
            stores.kill()
        };
        self.storage.books.push(books);
    }

    /// Cuts the power of the collector's and controller's machine.
    pub(super) fn power_cut(&mut self, i: usize) {
        let r = &mut self.fault_rngs[i];
        let mut how = || Survival::ALL[r.index(Survival::ALL.len())];
        let (first, second) = (how(), how());
        self.storage.collector_disk.cut();
        self.end_collector(false);
        self.storage.collector_disk.restart(first);
        for b in &mut self.storage.books {
            b.maybe_taken = b.unsynced;
        }
        // Reads the controller's log before the machine is gone.
        self.end_controller();
        self.storage.controller_disk.restart(second);
    }

    /// Makes the disk nearly full, fail now and then, or slow.
    pub(super) fn disk_fails(&mut self, i: usize) {
        self.storage.sound = false;
        let r = &mut self.fault_rngs[i];
        let disk = &self.storage.collector_disk;
        let room = r.between(0, 100_000);
        match r.index(3) {
            0 => {
                disk.leave_room(room);
                self.storage.controller_disk.leave_room(room / 100);
            }
            1 => disk.set_errors(Errors {
                write: 0.05,
                sync: 0.2,
                name: 0.05,
            }),
            _ => {
                disk.set_slow(r.between(1_000, 20_000));
                disk.leave_room(room);
            }
        }
    }

    pub(super) fn disk_is_sound(&mut self) {
        if self.any_active(|k| matches!(k, Kind::DiskFull)) {
            return;
        }
        let s = &mut self.storage;
        s.sound = true;
        s.collector_disk.set_errors(Errors::default());
        s.collector_disk.set_slow(0);
        for disk in [&s.collector_disk, &s.controller_disk] {
            disk.set_capacity(None);
        }
    }

    pub(super) fn database_is_sound(&mut self) {
        if !self.any_active(|k| matches!(k, Kind::DatabaseDown(_))) {
            self.storage.database_is_sound();
        }
    }

    /// Checks that a repaired disk and database are used again this long after the faults.
    /// Operations begun on a slow disk are waited for, as they end slowly.
    pub(super) fn check_stores_live(&mut self, live_ns: u64) {
        let Some(c) = &self.collector else { return };
        let Some(stores) = &c.pipeline.sink().stores else {
            return;
        };
        if self.now_ns < stores.slow_until_ns() + live_ns {
            return;
        }
        let failures = stores.failures();
        self.checks
            .require(failures.is_empty(), "stores work again", || {
                failures.join("; ")
            });
    }

    /// Inserts the rest of the spool into the database, then compares the counters with the stored
    /// rows.
    pub(super) fn finish_storage(&mut self) {
        let server = self.storage.database.shared();
        let disk = self.storage.collector_disk.shared();
        let last = ClickHouseSink::stepped(
            &stores::clickhouse(),
            &disk,
            &server,
            "last",
            stores::unix_s,
            false,
        );
        let (sink, mut steps) = match last {
            Ok(started) => started,
            Err(e) => return self.checks.fail("starts again", e.to_string()),
        };
        for s in 0..DRAIN_S {
            steps.insert(Duration::from_secs(s));
        }
        self.checks.spool_drained(&sink.stats());
        self.checks.captures(&self.storage, &self.dir);
        self.checks.database(&self.storage);
    }
}
