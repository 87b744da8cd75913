// SPDX-License-Identifier: Apache-2.0
//! The sink on a disk that loses power in every way, with a server that fails in every way: spooled
//! rows reach the server, exactly once, and the same configuration starts again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use durable_fs::Disk as _;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use test_support::disk::{Model, Operation, PowerCut, SimDisk, Store, Survival, seeds};
use test_support::rng::Rng;
use tidemark_clickhouse::{ClickHouseConfig, ClickHouseSink, Loss, SinkSteps};
use tidemark_rows::{Event, EventRow, PostcardRow, ProbeRow};
use tidemark_simulate::database::{Batch, Fate, ModelDatabase};

/// Runs of each model.
const SEEDS: u64 = 200;
const SPOOL: &str = "/var/spool/clickhouse";

fn config() -> ClickHouseConfig {
    ClickHouseConfig {
        url: Some("http://model:1".into()),
        spool_dir: Some(PathBuf::from(SPOOL)),
        batch_ms: 100,
        retry_max_ms: 400,
        ..ClickHouseConfig::default()
    }
}

fn unix_s() -> u64 {
    1_800_000_000
}

fn postcard(order: u64) -> PostcardRow {
    PostcardRow {
        order,
        node_id: 10,
        egress_ns: 1_000_000 + order * 1000,
        ..PostcardRow::default()
    }
}

struct Spool {
    running: Option<(ClickHouseSink, SinkSteps)>,
    database: ModelDatabase,
    /// Whether the server works from now on.
    sound: Arc<AtomicBool>,
    now: Duration,
    starts: u64,
    order: u64,
    /// Batches in the spool, by the counters.
    spooled: BTreeMap<Batch, u64>,
    /// Rows that this start lost before they were spooled.
    lost_before: u64,
    /// Batches that the sink reported as lost.
    lost: BTreeMap<Batch, u64>,
    /// Batches that a power cut may lose, or lost while they were written.
    unsure: BTreeMap<Batch, u64>,
    disk: Option<SimDisk>,
}

impl Spool {
    fn new(seed: u64) -> Self {
        let sound = Arc::new(AtomicBool::new(false));
        let (rng, told) = (Mutex::new(Rng::of(seed)), Arc::clone(&sound));
        let fate = move || {
            let mut rng = rng.lock().unwrap();
            if told.load(Ordering::Relaxed) || rng.chance(0.6) {
                return Fate::Normal;
            }
            match rng.index(6) {
                0 => Fate::NoAnswer,
                1 => Fate::Lost,
                2 => Fate::Late(1 + rng.index(6) as u32),
                3 => Fate::TokenWithoutRows,
                4 => Fate::Busy,
                _ => Fate::Unreachable,
            }
        };
        Self {
            running: None,
            database: ModelDatabase::new(fate),
            sound,
            now: Duration::ZERO,
            starts: 0,
            order: 0,
            spooled: BTreeMap::new(),
            lost_before: 0,
            lost: BTreeMap::new(),
            unsure: BTreeMap::new(),
            disk: None,
        }
    }

    /// With a working server and disk, everything in the spool arrives.
    fn drain(&mut self) {
        self.sound.store(true, Ordering::Relaxed);
        let (sink, steps) = self.running.as_mut().unwrap();
        for _ in 0..200 {
            self.now += Duration::from_secs(1);
            steps.write(self.now);
            steps.insert(self.now);
        }
        let stats = sink.stats();
        assert_eq!(stats.spool_batches(), 0, "{:?}", stats.failure());
        assert_eq!(stats.lost_total(), self.lost_before, "nothing is given up");
        assert_eq!(stats.doubled(), 0);
        let stored = self.database.stored();
        for (batch, rows) in &self.spooled {
            assert_eq!(stored.get(batch), Some(rows), "{batch:?} was spooled");
        }
        for batch in self.lost.keys() {
            assert_eq!(stored.get(batch), None, "{batch:?} counts as lost");
        }
        for (batch, rows) in &stored {
            let sent = self.spooled.get(batch).or_else(|| self.unsure.get(batch));
            // Or a batch whose end was not seen, because the power was cut in its middle.
            assert!(
                sent.is_none_or(|sent| sent == rows),
                "{batch:?}: {rows} rows"
            );
        }
    }
}

impl Store for Spool {
    fn start(&mut self, disk: &SimDisk) -> Result<(), String> {
        self.starts += 1;
        self.now = Duration::ZERO;
        let capture = format!("s{}", self.starts);
        let server = self.database.shared();
        let started =
            ClickHouseSink::stepped(&config(), &disk.shared(), &server, &capture, unix_s, false);
        self.running = Some(started.map_err(|e| e.to_string())?);
        self.order = 0;
        self.lost_before = 0;
        self.disk = Some(disk.clone());
        Ok(())
    }

    fn work(&mut self) {
        let Some((sink, steps)) = &mut self.running else {
            return;
        };
        let first = self.order;
        let rows = 3 + first % 40;
        let table = ["postcards", "tcp_probe", "events"][(first % 3) as usize];
        for order in first..first + rows {
            match table {
                "postcards" => sink.postcard(&postcard(order)),
                "tcp_probe" => sink.probe(&ProbeRow {
                    order,
                    ..ProbeRow::default()
                }),
                _ => sink.event(&EventRow {
                    order,
                    event: Event::Watermark {
                        node_id: 10,
                        time_ns: order,
                    },
                }),
            }
        }
        self.order += rows;
        sink.flush();
        let stats = sink.stats();
        let told = || {
            let lost = stats.lost(Loss::SpoolError);
            (lost, stats.spool_batches(), stats.unsynced_rows())
        };
        let before = told();
        self.now += Duration::from_millis(100);
        steps.write(self.now);
        let batch = (table.to_owned(), format!("s{}", self.starts), first);
        let after = told();
        let powered = self.disk.as_ref().is_some_and(SimDisk::is_on);
        let change = (after.0 - before.0, after.1 - before.1, after.2 - before.2);
        self.lost_before += change.0;
        let of = match change {
            (0, 1, 0) => &mut self.spooled,
            (0, 1, n) if n == rows => &mut self.unsure,
            (n, 0, 0) if n == rows && powered => &mut self.lost,
            (n, 0, 0) if n == rows => &mut self.unsure,
            other => panic!("{other:?} of {rows} rows"),
        };
        of.insert(batch, rows);
        steps.insert(self.now);
        assert_eq!(stats.lost(Loss::Rejected), 0);
    }

    fn kill(&mut self) {
        // A killed process runs no cleanup.
        if let Some((sink, steps)) = self.running.take() {
            std::mem::forget(sink);
            std::mem::forget(steps);
        }
    }
}

#[test]
fn no_spooled_row_is_lost_or_doubled() {
    let seeds = seeds(SEEDS);
    let mut spooled = 0;
    for model in Model::ALL {
        for seed in 0..seeds {
            let mut spool = Spool::new(seed);
            let played = PowerCut { model, seed }.play(&mut spool);
            played.unwrap_or_else(|e| panic!("{model:?}, seed {seed}: {e}"));
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| spool.drain()));
            assert!(checked.is_ok(), "{model:?}, seed {seed}");
            spooled += spool.spooled.len() as u64;
        }
    }
    assert!(spooled > seeds * 50, "{spooled}");
}

fn started(disk: &SimDisk, capture: &str, server: &ModelDatabase) -> (ClickHouseSink, SinkSteps) {
    let server = server.shared();
    ClickHouseSink::stepped(&config(), &disk.shared(), &server, capture, unix_s, false).unwrap()
}

fn spool_one(disk: &SimDisk, server: &ModelDatabase) -> (ClickHouseSink, SinkSteps) {
    let (mut sink, mut steps) = started(disk, "first", server);
    for order in 0..10 {
        sink.postcard(&postcard(order));
    }
    sink.flush();
    steps.write(Duration::from_secs(1));
    (sink, steps)
}

/// Neither the batch's bytes, nor its name, nor the directory's name were on disk.
#[test]
fn a_spooled_batch_survives_a_power_cut_at_once() {
    for how in Survival::ALL {
        let disk = SimDisk::new(1);
        let server = ModelDatabase::new(|| Fate::Normal);
        let (sink, _steps) = spool_one(&disk, &server);
        assert_eq!(sink.stats().spool_batches(), 1);
        disk.restart(how);
        let (sink, mut steps) = started(&disk, "second", &server);
        assert_eq!(sink.stats().spool_batches(), 1, "{how:?}");
        steps.insert(Duration::from_secs(1));
        assert_eq!(server.rows(), 10);
    }
}

/// The removal of a batch that the server had was lost, so the batch came back.
#[test]
fn a_batch_that_comes_back_is_not_inserted_again() {
    let disk = SimDisk::new(1);
    let server = ModelDatabase::new(|| Fate::Normal);
    let (sink, mut steps) = spool_one(&disk, &server);
    steps.insert(Duration::from_secs(1));
    assert_eq!(sink.stats().inserted(), 10);
    disk.restart(Survival::Nothing);
    let (sink, mut steps) = started(&disk, "second", &server);
    steps.insert(Duration::from_secs(1));
    let stats = sink.stats();
    assert_eq!((stats.found(), stats.doubled(), server.rows()), (1, 0, 10));
}

/// A full disk loses new rows, reports it, and accepts rows again once there is room.
#[test]
fn a_disk_that_was_full_goes_on() {
    let disk = SimDisk::new(1);
    let server = ModelDatabase::new(|| Fate::Unreachable);
    let (mut sink, mut steps) = spool_one(&disk, &server);
    let stats = sink.stats();
    disk.leave_room(20);
    sink.postcard(&postcard(10));
    sink.flush();
    steps.write(Duration::from_secs(2));
    assert_eq!(stats.lost(Loss::SpoolError), 1);
    assert!(stats.spool_failure().unwrap().contains(SPOOL));
    let files = disk.list(Path::new(SPOOL)).unwrap();
    assert!(
        files.iter().all(|f| !f.name.ends_with(".open")),
        "{files:?}"
    );
    disk.set_capacity(None);
    sink.postcard(&postcard(11));
    sink.flush();
    steps.write(Duration::from_secs(3));
    assert_eq!((stats.spool_failure(), stats.spool_batches()), (None, 2));
}

/// A name that may not last was passed on as if it did; then its batch counted as lost, but was
/// stored if the file could not be removed.
#[test]
fn a_batch_whose_name_cannot_be_synced_is_inserted_and_not_lost() {
    let disk = SimDisk::new(1);
    let server = ModelDatabase::new(|| Fate::Normal);
    let (mut sink, mut steps) = started(&disk, "first", &server);
    sink.postcard(&postcard(0));
    sink.flush();
    disk.fail_once(Operation::SyncDirectory);
    disk.fail_once(Operation::Name);
    steps.write(Duration::from_secs(1));
    let stats = sink.stats();
    let told = || (stats.lost_total(), stats.unsynced_rows(), server.rows());
    assert!(stats.spool_failure().unwrap().contains(SPOOL));
    assert_eq!(told(), (0, 1, 0));
    // Its file cannot be removed: the next start finds it, and its rows are stored.
    steps.insert(Duration::from_secs(1));
    assert_eq!(told(), (0, 0, 1));
    drop((sink, steps));
    disk.killed();
    let (sink, mut steps) = started(&disk, "second", &server);
    steps.insert(Duration::from_secs(1));
    assert_eq!((sink.stats().found(), server.rows()), (1, 1));
}

/// A batch that could not be read counted as lost, but the next start inserted it.
#[test]
fn a_batch_that_cannot_be_read_is_put_aside_or_left_for_the_next_start() {
    for stuck in [false, true] {
        let disk = SimDisk::new(1);
        let server = ModelDatabase::new(|| Fate::Normal);
        drop(spool_one(&disk, &server));
        disk.killed();
        let (sink, mut steps) = started(&disk, "second", &server);
        for _ in 0..5 {
            disk.fail_once(Operation::Read);
        }
        if stuck {
            disk.fail_once(Operation::Name);
        }
        for s in 1..10 {
            steps.insert(Duration::from_secs(s));
        }
        let (lost, left) = if stuck { (0, 1) } else { (10, 0) };
        let stats = sink.stats();
        assert_eq!((stats.lost_total(), stats.spool_batches()), (lost, left));
        drop((sink, steps));
        disk.killed();
        let (_sink, mut steps) = started(&disk, "third", &server);
        steps.insert(Duration::from_secs(1));
        assert_eq!(server.rows() + lost, 10, "stored or lost, stuck: {stuck}");
    }
}

/// If killed between token and rows a second time, also under the other token, the server seemed to
/// refuse the batch permanently.
#[test]
fn a_server_killed_twice_at_the_same_point_gets_its_rows() {
    let disk = SimDisk::new(1);
    let mut calls = 0;
    // Which engine, first attempt; which, count, token, count, other token; ...
    let server = ModelDatabase::new(move || {
        calls += 1;
        match calls {
            2 | 7 => Fate::TokenWithoutRows,
            _ => Fate::Normal,
        }
    });
    let (sink, mut steps) = spool_one(&disk, &server);
    for s in 1..10 {
        steps.insert(Duration::from_secs(s));
    }
    let stats = sink.stats();
    assert_eq!((stats.inserted(), stats.lost_total()), (10, 0));
    assert_eq!((server.rows(), stats.doubled()), (10, 0));
}
