// SPDX-License-Identifier: Apache-2.0
//! Tests that a replay produces the updates that were sent live.

use crate::{
    CaptureError, CaptureMeta, CaptureWriter, FORMAT, Integrity, Merged, NamedProbe, Reception,
    Replay, Rows, WriterOptions,
};
use int_report::{FlowKey, Inner, InnerKind, Report};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;
use tcp_probe::{CongStateEvent, RetransmitEvent, Sample};
use tidemark_pipeline::{
    Config, Event, EventRow, NodeConfig, Pipeline, PostcardRow, ProbeRow, Sink, VecSink,
};
use tidemark_proto::telemetry::{CollectorStatus, Update};

const MS: u64 = 1_000_000;

/// Sink that writes to a capture and to memory.
struct Tee {
    capture: CaptureWriter,
    memory: VecSink,
}

impl Sink for Tee {
    fn postcard(&mut self, row: &PostcardRow) {
        self.capture.postcard(row);
        self.memory.postcard(row);
    }
    fn probe(&mut self, row: &ProbeRow) {
        self.capture.probe(row);
        self.memory.probe(row);
    }
    fn event(&mut self, row: &EventRow) {
        self.capture.event(row);
        self.memory.event(row);
    }
    fn update(&mut self, update: Update) {
        self.memory.update(update);
    }
}

fn key(src: u8) -> FlowKey {
    FlowKey {
        src: IpAddr::V4(Ipv4Addr::new(10, 0, 0, src)),
        dst: IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)),
        src_port: 40_000,
        dst_port: 5001,
        protocol: 6,
    }
}

fn headers(src: u8, seq: u32) -> [u8; 40] {
    let mut b = [0u8; 40];
    b[0] = 0x45;
    b[2..4].copy_from_slice(&1040u16.to_be_bytes());
    b[9] = 6;
    b[12..16].copy_from_slice(&[10, 0, 0, src]);
    b[16..20].copy_from_slice(&[10, 0, 1, 1]);
    b[20..22].copy_from_slice(&40_000u16.to_be_bytes());
    b[22..24].copy_from_slice(&5001u16.to_be_bytes());
    b[24..28].copy_from_slice(&seq.to_be_bytes());
    b[32] = 0x50;
    b[33] = 0x10;
    b
}

fn config() -> Config {
    Config {
        nodes: [(10, NodeConfig::default()), (11, NodeConfig::default())].into(),
        local_host: Some("a".into()),
        ..Config::default()
    }
}

fn meta() -> CaptureMeta {
    CaptureMeta {
        format: FORMAT,
        instance: "test".into(),
        config: config(),
        ..CaptureMeta::default()
    }
}

/// Writes a capture of postcards, in files of about `rotate_rows` rows.
pub(crate) fn store(dir: &Path, rotate_rows: usize, rows: impl Iterator<Item = PostcardRow>) {
    let options = WriterOptions {
        wait_when_full: true,
        rotate_rows,
        ..WriterOptions::default()
    };
    let mut writer = CaptureWriter::create(dir, meta(), options).unwrap();
    rows.for_each(|row| writer.postcard(&row));
    writer.finish(1).unwrap();
}

/// Sends reordered packets, drops, losses, silence, samples, events and a node restart.
fn traffic<S: Sink>(p: &mut Pipeline<S>) {
    let mut random = 1u64;
    let mut next = move |n: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % n
    };
    let mut sequence = [0u32; 2];
    let mut seq = [100u32; 8];
    let mut now = 5_000 * MS;
    for i in 0..20_000u64 {
        now += next(200_000);
        if i % 4_000 == 3_999 {
            for _ in 0..100 {
                now += 20 * MS;
                p.advance(now);
            }
        }
        let node = next(2) as usize;
        let src = next(8) as usize;
        let dropped = next(50) == 0;
        let restarted = if i > 15_000 { 4_500 * MS } else { 0 };
        let ingress = now + 777 * MS - restarted - next(3 * MS);
        sequence[node] += 1 + u32::from(next(500) == 0);
        let again = next(30) == 0;
        if !again {
            seq[src] = seq[src].wrapping_add(1000);
        }
        let bytes = headers(src as u8, seq[src]);
        let report = Report {
            version: 2,
            node_id: 10 + node as u32,
            sequence: sequence[node],
            sequence_bits: 22,
            dropped,
            ingress_port: Some(1),
            egress_port: Some(1 + next(2) as u32),
            queue_id: Some(3 * (src as u8 % 2)),
            queue_occupancy: Some(next(60_000) as u32),
            ingress_ts: Some(ingress),
            egress_ts: (!dropped).then_some(ingress + next(5 * MS)),
            drop_reason: dropped.then_some(71),
            limit: Some(60_000),
            inner: Inner::new(&bytes, InnerKind::Ipv4),
            first_in_datagram: true,
            ..Report::default()
        };
        p.push_report(IpAddr::V4(Ipv4Addr::LOCALHOST), &report, now);
        let host = if src < 4 { "a" } else { "b" };
        if next(3) == 0 && src != 7 {
            let sample = Sample {
                time_ns: now,
                flow: key(src as u8),
                data_len: 0,
                snd_nxt: seq[src].wrapping_add(1000),
                snd_una: seq[src].wrapping_sub(3000),
                snd_cwnd: 10 + next(20) as u32,
                ssthresh: 20,
                snd_wnd: 65_535,
                srtt_us: 10_000 + next(5000) as u32,
                rcv_wnd: 65_535,
                sock_cookie: src as u64,
            };
            p.push_event(host, tcp_probe::Event::Probe(sample));
        }
        if next(100) == 0 {
            let (time_ns, flow) = (now, key(src as u8));
            p.push_event(
                host,
                tcp_probe::Event::Retransmit(RetransmitEvent { time_ns, flow }),
            );
            let state = CongStateEvent {
                time_ns,
                flow,
                state: 3,
            };
            p.push_event(host, tcp_probe::Event::CongState(state));
        }
    }
    p.finish();
}

fn without_status(updates: Vec<Update>) -> Vec<Update> {
    updates.into_iter().filter(|u| u.status.is_none()).collect()
}

#[test]
fn a_replay_gives_what_was_sent_live() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("capture");
    let capture = CaptureWriter::create(
        &dir,
        meta(),
        WriterOptions {
            rotate_rows: 3000,
            wait_when_full: true,
            ..WriterOptions::default()
        },
    )
    .unwrap();
    let tee = Tee {
        capture,
        memory: VecSink::default(),
    };
    let mut p = Pipeline::new(config(), tee).unwrap();
    traffic(&mut p);
    let stats = p.stats();
    assert!(stats.reports_lost > 10 && stats.join_by_sequence > 1000 && stats.join_by_time > 10);
    let mut tee = p.into_sink();
    tee.capture.meta_mut().stats = Some(stats.clone());
    tee.capture.meta_mut().reception = Some(Reception {
        datagrams: 70,
        malformed: 3,
        kernel_drops: 131_289,
        probe_lost: 452_549,
    });
    let written = tee.capture.finish(1).unwrap();
    assert_eq!(written.lost(), 0);
    let m = &tee.memory;
    let rows = m.postcards.len() + m.probes.len() + m.events.len();
    assert_eq!(written.written(), rows as u64);
    assert!(
        m.events
            .iter()
            .any(|e| matches!(e.event, Event::Restart { .. }))
    );
    assert!(
        m.events
            .iter()
            .any(|e| matches!(e.event, Event::Watermark { .. }))
    );

    let replay = Replay::open(&dir).unwrap();
    assert_eq!(replay.info().instance, "test");
    assert_eq!(replay.info().nodes.len(), 2);
    let mut replayed: Vec<Update> = replay.map(Result::unwrap).collect();
    let status = replayed.last().unwrap().status.clone().unwrap();
    assert_eq!(status.reports_received, stats.reports);
    assert_eq!(status.join_matched, stats.join_matched());
    let losses = |s: CollectorStatus| (s.datagrams_malformed, s.kernel_drops, s.probe_lost);
    assert_eq!(losses(status), (Some(3), Some(131_289), Some(452_549)));
    // A capture older than these counts does not claim that they are 0.
    let file = dir.join("capture.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json.as_object_mut().unwrap().remove("reception").unwrap();
    std::fs::write(&file, json.to_string()).unwrap();
    let older = Replay::open(&dir).unwrap().map(Result::unwrap).last();
    assert_eq!(losses(older.unwrap().status.unwrap()), (None, None, None));
    replayed = without_status(replayed);
    let live = without_status(tee.memory.updates);
    assert_eq!(replayed.len(), live.len());
    for (r, l) in replayed.iter().zip(&live) {
        assert_eq!(r, l);
    }
    assert!(live.iter().map(|u| u.link_intervals.len()).sum::<usize>() > 1000);
    let flows = || live.iter().flat_map(|u| &u.flow_intervals);
    let probed = |queue| {
        flows()
            .filter(|f| f.queue == queue && f.probe.is_some())
            .count()
    };
    assert!(probed(0) > 100 && probed(3) > 100);
}

#[test]
fn rows_come_back_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("capture");
    let capture = CaptureWriter::create(&dir, meta(), WriterOptions::default()).unwrap();
    let tee = Tee {
        capture,
        memory: VecSink::default(),
    };
    let mut p = Pipeline::new(config(), tee).unwrap();
    traffic(&mut p);
    let tee = p.into_sink();
    tee.capture.finish(1).unwrap();
    let mut merged = Merged::open(&dir).unwrap();
    let (mut postcards, mut probes, mut events) = (Vec::new(), Vec::new(), Vec::new());
    let mut order = 0;
    while let Some(row) = merged.next_row().unwrap() {
        let n = match row {
            crate::AnyRow::Postcard(r) => {
                postcards.push(*r);
                r.order
            }
            crate::AnyRow::Probe(r) => {
                probes.push(r.row);
                assert!(matches!(&*r.host, "a" | "b"));
                r.row.order
            }
            crate::AnyRow::Event(r) => {
                let n = r.order;
                events.push(*r);
                n
            }
        };
        assert_eq!(n, order);
        order += 1;
    }
    // The file stores host names instead of indices.
    for p in &mut probes {
        p.host = 0;
    }
    let mut expected = tee.memory.probes;
    for p in &mut expected {
        p.host = 0;
    }
    assert_eq!(probes, expected);
    assert_eq!(postcards, tee.memory.postcards);
    assert_eq!(events, tee.memory.events);
}

#[test]
fn a_directory_in_use_is_refused_and_a_stranger_named() {
    let dir = tempfile::tempdir().unwrap();
    let e = Replay::open(dir.path()).err().unwrap().to_string();
    assert!(e.contains("capture.json"), "{e}");
    let w = CaptureWriter::create(dir.path(), meta(), WriterOptions::default()).unwrap();
    drop(w);
    let e = CaptureWriter::create(dir.path(), meta(), WriterOptions::default())
        .err()
        .unwrap();
    assert!(e.to_string().contains("already"), "{e}");
    std::fs::write(dir.path().join("capture.json"), "{\"format\": 99}").unwrap();
    let e = Replay::open(dir.path()).err().unwrap().to_string();
    assert!(e.contains("99"), "{e}");
}

#[test]
fn a_full_queue_loses_rows_and_counts_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut w = CaptureWriter::create(
        dir.path(),
        meta(),
        WriterOptions {
            rotate_after: Duration::from_secs(60),
            ..WriterOptions::default()
        },
    )
    .unwrap();
    let mut pushed = 0;
    let row = PostcardRow::default();
    for order in 0..8_000_000 {
        w.postcard(&PostcardRow { order, ..row });
        pushed += 1;
        if order == 4_000_000 {
            // A name that finds the queue full is sent again.
            let (host, name) = (0, "a".to_owned());
            let event = Event::Host { host, name };
            w.event(&EventRow { order, event });
            pushed += 1;
        }
        if order > 4_000_000 && order % 500 == 0 {
            w.probe(&ProbeRow::default());
            pushed += 1;
        }
    }
    let stats = w.finish(0).unwrap();
    assert_eq!(stats.written() + stats.lost(), pushed);
    let mut probes = Rows::<NamedProbe>::open(dir.path()).unwrap();
    while let Some(probe) = probes.peek().unwrap() {
        assert_eq!(&*probe.host, "a");
        probes.take();
    }
    let replay = Replay::open(dir.path()).unwrap();
    assert_eq!(replay.meta().rows_lost, stats.lost());
}

#[test]
fn a_disk_that_fails_is_tried_again_and_what_fell_out_is_counted() {
    let root = tempfile::tempdir().unwrap();
    let (dir, away) = (root.path().join("capture"), root.path().join("away"));
    let options = WriterOptions {
        rotate_after: Duration::from_millis(20),
        ..WriterOptions::default()
    };
    let mut w = CaptureWriter::create_next(&dir, meta(), options).unwrap();
    let stats = w.stats();
    let mut pushed = 0u64;
    let mut push_until = |w: &mut CaptureWriter, done: &dyn Fn() -> bool| {
        let end = std::time::Instant::now() + Duration::from_secs(60);
        while !done() {
            assert!(std::time::Instant::now() < end, "{stats:?}");
            w.postcard(&PostcardRow {
                order: pushed,
                ..PostcardRow::default()
            });
            w.flush();
            pushed += 1;
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    push_until(&mut w, &|| stats.written() > 0);
    std::fs::rename(&dir, &away).unwrap();
    push_until(&mut w, &|| stats.failure().is_some());
    std::fs::rename(&away, &dir).unwrap();
    let written = stats.written();
    push_until(&mut w, &|| stats.written() > written);
    assert_eq!(stats.failure(), None);
    w.finish(0).unwrap();
    assert!(stats.lost() > 0);
    assert_eq!(stats.written() + stats.lost(), pushed);
    // Every row counted as written is there, and every missing one is counted as lost.
    let mut rows = Rows::<PostcardRow>::open(&dir).unwrap();
    let mut found = 0;
    while rows.peek().unwrap().is_some() {
        rows.take();
        found += 1;
    }
    assert_eq!(stats.written(), found);
    let mut replay = Replay::open(&dir).unwrap();
    for update in replay.by_ref() {
        update.unwrap();
    }
    assert_eq!(replay.rows_missing(), Some(stats.lost()));
    assert_eq!(replay.meta().rows_lost, stats.lost());
}

#[test]
fn a_program_started_again_writes_beside_what_is_there() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("capture");
    for expected in ["capture", "capture-2", "capture-3"] {
        let w = CaptureWriter::create_next(&dir, meta(), WriterOptions::default()).unwrap();
        assert_eq!(w.dir(), root.path().join(expected));
        w.finish(0).unwrap();
    }
    let again = CaptureWriter::create(&dir, meta(), WriterOptions::default());
    assert!(matches!(again, Err(CaptureError::Exists(_))));
}

#[test]
fn two_programs_do_not_write_to_one_directory() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("capture");
    let start = || CaptureWriter::create_next(&dir, meta(), WriterOptions::default());
    // Of two simultaneous starts, one gets the directory.
    let both = std::thread::scope(|s| {
        let other = s.spawn(start);
        [start(), other.join().unwrap()]
    });
    let (has, not): (Vec<_>, Vec<_>) = both.into_iter().partition(Result::is_ok);
    assert_eq!((has.len(), not.len()), (1, 1));
    for refused in not.into_iter().chain([start()]) {
        let e = refused.err().unwrap();
        assert!(matches!(e, CaptureError::InUse(_)), "{e}");
    }
    for writer in has {
        writer.unwrap().finish(0).unwrap();
    }
    // The next start uses another directory.
    assert_eq!(start().unwrap().dir(), root.path().join("capture-2"));
}

#[test]
fn a_link_in_the_directory_is_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("capture");
    let victim = root.path().join("victim");
    std::fs::write(&victim, "untouched").unwrap();
    std::fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink(&victim, dir.join("postcards-0000.parquet.open")).unwrap();
    let mut w = CaptureWriter::create(&dir, meta(), WriterOptions::default()).unwrap();
    w.postcard(&PostcardRow::default());
    let stats = w.stats();
    let _ = w.finish(0);
    assert_eq!((stats.written(), stats.lost()), (0, 1));
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
}

#[test]
fn what_damage_would_not_be_noticed_in_is_said() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("capture");
    let mut w = CaptureWriter::create(&dir, meta(), WriterOptions::default()).unwrap();
    w.postcard(&PostcardRow::default());
    w.finish(1).unwrap();
    let sound = Integrity::of(&dir).unwrap();
    assert_eq!((sound.files, sound.unchecked, sound.left_open), (1, 0, 0));
    assert_eq!(sound.notes(true), Vec::<String>::new());
    // A file of an earlier version: without the block before the footer.
    let file = dir.join("postcards-0000.parquet");
    let bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(8).rposition(|w| w == b"CHECKSUM").unwrap();
    let stripped = [&bytes[..at], b"unmarked", &bytes[at + 8..]].concat();
    std::fs::write(&file, stripped).unwrap();
    std::fs::write(dir.join("events-0001.parquet.open"), "half").unwrap();
    let found = Integrity::of(&dir).unwrap();
    assert_eq!((found.files, found.unchecked, found.left_open), (1, 1, 1));
    let notes = found.notes(true);
    assert!(notes[0].starts_with("not checked for damage: 1 of the capture's 1 files"));
    assert!(notes[1].starts_with("1 files of the capture were never completed"));
    assert_eq!(found.notes(false).len(), 1, "it may be growing");
}

/// A row of a later version, with a column that the capture lacks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Later {
    order: u64,
    later: u32,
}

impl crate::table::Stored for Later {
    const TABLE: &'static str = "postcards";
    const ADDED: &'static [&'static str] = &["later"];

    fn order(&self) -> u64 {
        self.order
    }

    fn columns() -> Vec<crate::table::Column<Self>> {
        crate::table::columns! { Later;
            "order" U64 Delta |r| Some(r.order), |w, v| w.order = v.unwrap_or_default();
            "later" U32 Delta |r| Some(r.later), |w, v| w.later = v.unwrap_or_default();
        }
    }
}

#[test]
fn a_column_that_came_later_has_its_default() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open = Rows::<Later>::open(&root.join("tests/fixtures/capture-63e1e1a")).unwrap();
    let mut rows = Vec::new();
    while open.peek().unwrap().is_some() {
        rows.extend(open.take());
    }
    assert!(!rows.is_empty());
    assert!(rows.iter().all(|r| r.later == 0));
    assert!(rows.windows(2).all(|w| w[0].order < w[1].order));
}
