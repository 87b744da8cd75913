// SPDX-License-Identifier: Apache-2.0
//! Tests the writer on a disk that loses power in every way: rows counted as
//! written are found once, and a restart with the same configuration works.

use super::postcard;
use durable_fs::Disk as _;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use test_support::disk::{Model, Operation, PowerCut, SimDisk, Store, Survival, seeds};
use tidemark_capture::{
    AnyRow, CaptureMeta, CaptureWriter, FORMAT, Merged, Replay, WriterOptions, WriterSteps,
};
use tidemark_pipeline::{Event, EventRow, ProbeRow};

/// Number of runs per model.
const SEEDS: u64 = 30;
const CONFIGURED: &str = "/data/captures/capture";

fn options() -> WriterOptions {
    WriterOptions {
        rotate_rows: 40,
        rotate_after: Duration::from_secs(2),
        ..WriterOptions::default()
    }
}

fn meta() -> CaptureMeta {
    CaptureMeta {
        format: FORMAT,
        ..CaptureMeta::default()
    }
}

/// A start of the writer, and which of its rows were acknowledged.
#[derive(Default)]
struct Start {
    dir: PathBuf,
    pushed: u64,
    /// Rows of which nothing is known yet.
    open: BTreeSet<u64>,
    written: BTreeSet<u64>,
    /// Number of rows counted as written while other rows were lost; which rows
    /// is unknown.
    counted: u64,
    /// Whether rows were lost while others were open, so that it is unknown which.
    vague: bool,
}

#[derive(Default)]
struct Capture {
    running: Option<(CaptureWriter, WriterSteps)>,
    now: Duration,
    starts: Vec<Start>,
}

/// Returns the orders of all rows that a reader finds.
fn found(disk: &SimDisk, dir: &Path) -> Vec<u64> {
    let shm = Path::new("/dev/shm");
    let to = match shm.is_dir() {
        true => tempfile::tempdir_in(shm),
        false => tempfile::tempdir(),
    };
    let to = to.unwrap();
    disk.export(dir, to.path()).unwrap();
    let mut merged = Merged::open(to.path()).unwrap();
    let mut orders = Vec::new();
    while let Some(row) = merged.next_row().unwrap() {
        let n = row.order();
        orders.push(n);
        match row {
            AnyRow::Postcard(r) => assert_eq!(*r, postcard(n)),
            AnyRow::Probe(r) => assert_eq!((&*r.host, r.row.snd_una), ("a", n as u32)),
            AnyRow::Event(_) => {}
        }
    }
    let replay = Replay::open(to.path()).unwrap();
    assert!(replay.meta().ended_unix_ns.is_none(), "it was not closed");
    for update in replay {
        update.unwrap();
    }
    orders
}

impl Capture {
    fn check(&self, disk: &SimDisk) {
        for start in &self.starts {
            let found = found(disk, &start.dir);
            let at = start.dir.display();
            assert!(
                found.windows(2).all(|w| w[0] < w[1]),
                "{at}: doubled: {found:?}"
            );
            assert!(found.iter().all(|n| *n < start.pushed));
            let all: BTreeSet<u64> = found.iter().copied().collect();
            let lost: Vec<_> = start.written.difference(&all).collect();
            assert!(
                lost.is_empty(),
                "{at}: rows that counted as written are lost: {lost:?}"
            );
            let others = (found.len() - start.written.len()) as u64;
            assert!(
                others >= start.counted,
                "{at}: {others} of {} others",
                start.counted
            );
        }
    }
}

impl Store for Capture {
    fn start(&mut self, disk: &SimDisk) -> Result<(), String> {
        self.check(disk);
        let dir = Path::new(CONFIGURED);
        let shared = disk.shared();
        let (writer, steps) = CaptureWriter::stepped_next(&shared, dir, &meta(), options())
            .map_err(|e| e.to_string())?;
        assert!(self.starts.iter().all(|s| s.dir != writer.dir()));
        self.starts.push(Start {
            dir: writer.dir().to_path_buf(),
            ..Start::default()
        });
        self.now = Duration::ZERO;
        self.running = Some((writer, steps));
        Ok(())
    }

    fn work(&mut self) {
        let (Some((writer, steps)), Some(start)) = (&mut self.running, self.starts.last_mut())
        else {
            return;
        };
        // Rows of one kind, so that they form one message: files are completed
        // between messages.
        let kind = start.pushed / 9 % 4;
        for _ in 0..9 {
            let order = start.pushed;
            let event = match order {
                0 => Event::Host {
                    host: 0,
                    name: "a".into(),
                },
                _ => Event::Watermark {
                    node_id: 1,
                    time_ns: order * 1000,
                },
            };
            match kind {
                0 => writer.event(&EventRow { order, event }),
                1 => writer.probe(&ProbeRow {
                    order,
                    snd_una: order as u32,
                    ..ProbeRow::default()
                }),
                _ => writer.postcard(&postcard(order)),
            }
            start.open.insert(order);
            start.pushed += 1;
        }
        writer.flush();
        if start.pushed % 5 == 0 {
            writer.write_meta();
        }
        let stats = writer.stats();
        let (written, lost) = (stats.written(), stats.lost());
        self.now += Duration::from_millis(300);
        steps.step(self.now).unwrap();
        start.vague |= stats.lost() > lost;
        let more = stats.written() - written;
        if start.vague {
            start.counted += more;
        } else if more > 0 {
            assert_eq!(more, start.open.len() as u64);
            start.written.append(&mut start.open);
        }
        // No row is open.
        if stats.written() + stats.lost() == start.pushed {
            start.open.clear();
            start.vague = false;
        }
    }

    fn kill(&mut self) {
        let Some((writer, steps)) = self.running.take() else {
            return;
        };
        let stats = writer.stats();
        if let Some(start) = self.starts.last() {
            let known = start.written.len() as u64 + start.counted;
            assert_eq!(stats.written(), known, "a power cut writes nothing");
        }
        // A killed process does not run its destructors.
        std::mem::forget(writer);
        std::mem::forget(steps);
    }
}

#[test]
fn no_written_row_is_lost_or_doubled() {
    let seeds = seeds(SEEDS);
    let mut written = 0;
    for model in Model::ALL {
        for seed in 0..seeds {
            let mut capture = Capture::default();
            let played = PowerCut { model, seed }.play(&mut capture);
            let disk = played.unwrap_or_else(|e| panic!("{model:?}, seed {seed}: {e}"));
            capture.check(&disk);
            written += capture
                .starts
                .iter()
                .map(|s| s.written.len())
                .sum::<usize>();
        }
    }
    assert!(written as u64 > seeds * 100, "{written}");
}

fn started(disk: &SimDisk) -> (CaptureWriter, WriterSteps) {
    let dir = Path::new(CONFIGURED);
    CaptureWriter::stepped_next(&disk.shared(), dir, &meta(), options()).unwrap()
}

/// Regression: the files were synced, but not their directory's name, so that a power
/// cut lost the whole capture.
#[test]
fn a_new_capture_survives_its_first_power_cut() {
    let disk = SimDisk::new(1);
    let (mut writer, mut steps) = started(&disk);
    writer.postcard(&postcard(0));
    writer.flush();
    steps.step(Duration::from_secs(9)).unwrap();
    assert_eq!(writer.stats().written(), 1);
    disk.restart(Survival::Nothing);
    assert_eq!(found(&disk, Path::new(CONFIGURED)), [0]);
}

/// Regression: a file got its name, the sync of the name failed, and its rows counted
/// as lost although they were there.
#[test]
fn rows_that_count_as_lost_are_not_found() {
    let disk = SimDisk::new(1);
    let (mut writer, mut steps) = started(&disk);
    let stats = writer.stats();
    writer.postcard(&postcard(0));
    writer.flush();
    // Make the sync of the directory fail.
    let mut operations = disk.operations();
    steps.step(Duration::from_secs(1)).unwrap();
    operations = disk.operations() - operations;
    assert!(operations < 3, "the file is not complete yet");
    disk.fail_once(Operation::SyncDirectory);
    steps.step(Duration::from_secs(9)).unwrap();
    assert_eq!((stats.written(), stats.lost()), (0, 1));
    assert!(stats.failure().is_some());
    assert!(found(&disk, Path::new(CONFIGURED)).is_empty());
    writer.postcard(&postcard(1));
    writer.flush();
    steps.step(Duration::from_secs(20)).unwrap();
    assert_eq!((stats.written(), stats.failure()), (1, None));
}

/// Regression: a file that was given up could not be removed, so that readers found rows
/// that counted as lost.
#[test]
fn a_file_that_counts_as_lost_is_removed_later() {
    let disk = SimDisk::new(1);
    let (mut writer, mut steps) = started(&disk);
    let stats = writer.stats();
    writer.postcard(&postcard(0));
    writer.flush();
    steps.step(Duration::from_secs(1)).unwrap();
    disk.fail_once(Operation::SyncDirectory);
    disk.fail_once(Operation::Name);
    steps.step(Duration::from_secs(9)).unwrap();
    assert_eq!((stats.written(), stats.lost()), (0, 1));
    let dir = Path::new(CONFIGURED);
    assert_eq!(found(&disk, dir), [0], "it could be removed");
    writer.postcard(&postcard(1));
    writer.flush();
    writer.close();
    steps.end(Duration::from_secs(20)).unwrap();
    assert_eq!((stats.written(), stats.lost()), (1, 1));
    assert_eq!(found(&disk, dir), [1]);
}

/// Regression: if only `capture.json` could not be written and no rows came, it failed forever.
#[test]
fn a_capture_without_rows_recovers_too() {
    let disk = SimDisk::new(1);
    let (mut writer, mut steps) = started(&disk);
    let stats = writer.stats();
    disk.leave_room(0);
    writer.write_meta();
    steps.step(Duration::from_secs(1)).unwrap();
    assert!(stats.failure().is_some());
    disk.set_capacity(None);
    writer.write_meta();
    steps.step(Duration::from_secs(9)).unwrap();
    assert_eq!(stats.failure(), None);
    writer.close();
    steps.end(Duration::from_secs(10)).unwrap();
    writer.finish(5).unwrap();
    let text = disk
        .read(&Path::new(CONFIGURED).join("capture.json"))
        .unwrap();
    let meta: CaptureMeta = serde_json::from_slice(&text).unwrap();
    assert_eq!(meta.ended_unix_ns, Some(5));
}
