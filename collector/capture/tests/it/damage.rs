// SPDX-License-Identifier: Apache-2.0
//! Tests that a damaged file either is an error that says where, or reads as before: it never
//! gives other numbers, and nothing panics.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use tidemark_capture::{
    CaptureError, CaptureMeta, CaptureWriter, Export, FORMAT, Moment, PacketSpan, Packets, Replay,
    Selection, TextFormat, WriterOptions, export, packets,
};
use tidemark_pipeline::{Event, EventRow, Join, PostcardRow, ProbeRow};
use tidemark_proto::telemetry::Update;

const FLIPS: u64 = 400;
const MS: u64 = 1_000_000;

/// Reproducible random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Writes a small capture of every table, two of them in two files, with constant and varying
/// columns, with and without missing values.
fn write(dir: &Path) {
    let meta = CaptureMeta {
        format: FORMAT,
        ..CaptureMeta::default()
    };
    let options = WriterOptions {
        wait_when_full: true,
        rotate_rows: 2048,
        ..WriterOptions::default()
    };
    let mut writer = CaptureWriter::create(dir, meta, options).unwrap();
    let mut random = Random(0x9e37_79b9);
    let names = ["a", "b"].into_iter().zip(0..);
    let hosts = names.map(|(name, host)| Event::Host {
        host,
        name: name.to_owned(),
    });
    let watermarks = (0..60).map(|n| Event::Watermark {
        node_id: 1,
        time_ns: n * MS,
    });
    let mut order = 0;
    let mut next = || {
        order += 1;
        order - 1
    };
    for event in hosts.chain(watermarks) {
        writer.event(&EventRow {
            order: next(),
            event,
        });
    }
    for n in 0..2400 {
        let ingress_ns = n * MS + random.below(MS);
        let dropped = random.below(20) == 0;
        writer.postcard(&PostcardRow {
            order: next(),
            rx_ns: ingress_ns + 5 * MS + random.below(1000),
            node_id: 1,
            sequence: n as u32,
            flow_id: 1 + random.below(5),
            port: 1 + random.below(2) as u32,
            ingress_ns,
            egress_ns: if dropped {
                0
            } else {
                ingress_ns + random.below(MS)
            },
            occupancy_bytes: random.below(100_000),
            ip_bytes: if random.below(3) == 0 { 1500 } else { 52 },
            dropped,
            join: Join::from_code(random.below(2) as u8),
            cwnd: 10,
            ..PostcardRow::default()
        });
        if n % 4 == 0 {
            writer.probe(&ProbeRow {
                order: next(),
                host: random.below(2) as u16,
                host_ns: n * MS,
                node_id: 1,
                port: 1,
                time_ns: n * MS,
                flow_id: 1 + random.below(5),
                snd_una: random.below(1 << 32) as u32,
                ..ProbeRow::default()
            });
        }
    }
    writer.finish(1).unwrap();
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|p| p.extension().is_some_and(|e| e == "parquet"))
        .collect();
    files.sort();
    files
}

/// Everything that programs read from a capture.
#[derive(Debug, PartialEq)]
enum Answer {
    Updates(u64, Vec<Update>),
    Text(Vec<u8>),
    Packets(Packets),
}

type Answers = Vec<Result<Answer, CaptureError>>;

/// Reads as `analyze` and `view` do, as `export` does, and as `view` does for a zoom.
fn read(dir: &Path) -> Answers {
    let updates = || {
        let replay = Replay::open(dir)?;
        let rows = replay.rows()?;
        Ok(Answer::Updates(rows, replay.collect::<Result<_, _>>()?))
    };
    let mut answers = vec![updates()];
    let part = Selection {
        from: Some(Moment::Seconds(0.5)),
        to: Some(Moment::Seconds(1.0)),
        flow_id: Some(2),
    };
    for table in ["postcards", "tcp_probe", "events"] {
        for selection in [Selection::default(), part] {
            let what = Export {
                table,
                format: TextFormat::Csv,
                selection,
            };
            let mut text = Vec::new();
            let exported = export(dir, &what, &mut text, |_, _| ());
            answers.push(exported.map(|_| Answer::Text(text)));
        }
    }
    let span = PacketSpan {
        node_id: 1,
        port: 2,
        queue: None,
        from_ns: 100 * MS,
        to_ns: 900 * MS,
        most: 100,
    };
    answers.push(packets(dir, &span).map(Answer::Packets));
    answers
}

/// Returns the errors, each of which must name the file; all other answers must be unchanged.
fn check(dir: &Path, file: &Path, whole: &Answers, what: &str) -> Vec<String> {
    let mut said = Vec::new();
    for (answer, before) in read(dir).into_iter().zip(whole) {
        match answer {
            Ok(answer) => assert!(
                answer == *before.as_ref().unwrap(),
                "{what}: other numbers, and no error"
            ),
            Err(e) => {
                let e = e.to_string();
                assert!(e.contains(file.to_str().unwrap()), "{what}: {e}");
                said.push(e);
            }
        }
    }
    said
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let whole = read(dir.path());
    assert!(whole.iter().all(Result::is_ok));
    let files = files(dir.path());
    assert_eq!(files.len(), 5);
    let all: Vec<Vec<u8>> = files.iter().map(|f| std::fs::read(f).unwrap()).collect();
    let bytes: usize = all.iter().map(Vec::len).sum();
    let mut random = Random(38);
    let anywhere = (0..FLIPS).map(|_| random.below(8 * bytes as u64) as usize);
    // Also flip each bit of a footer's length and name.
    let end = all[0].len() * 8;
    let end = end - 8 * 8..end;
    let (mut errors, all_bits) = (0, FLIPS + end.len() as u64);
    for place in anywhere.chain(end) {
        let (mut file, mut bit) = (0, place);
        while bit >= 8 * all[file].len() {
            bit -= 8 * all[file].len();
            file += 1;
        }
        let mut damaged = all[file].clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&files[file], damaged).unwrap();
        let what = format!("bit {bit} of {}", files[file].display());
        errors += u64::from(!check(dir.path(), &files[file], &whole, &what).is_empty());
        std::fs::write(&files[file], &all[file]).unwrap();
    }
    // Only the format's name at the start of a file is never read.
    assert!(errors >= all_bits - 4, "{errors}");
}

/// Returns the column chunks of a file: name, offset, length.
fn chunks(file: &Path) -> Vec<(String, u64, u64)> {
    let reader = SerializedFileReader::new(std::fs::File::open(file).unwrap()).unwrap();
    let group = reader.metadata().row_group(0);
    let chunks = group.columns().iter().map(|chunk| {
        let (start, length) = chunk.byte_range();
        (chunk.column_path().string(), start, length)
    });
    chunks.collect()
}

#[test]
fn the_error_names_file_row_group_column_and_page() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let whole = read(dir.path());
    let file = dir.path().join("postcards-0000.parquet");
    let good = std::fs::read(&file).unwrap();
    for (column, start, length) in chunks(&file) {
        for (at, page) in [
            // The end of the last page, and the length of the first.
            (start + length - 1, "page "),
            (start + 4, ""),
        ] {
            let mut bytes = good.clone();
            bytes[at as usize] ^= 4;
            std::fs::write(&file, bytes).unwrap();
            let said = check(dir.path(), &file, &whole, &column);
            assert!(said.len() >= 3, "analyze and two exports: {said:?}");
            let place = format!("row group 0, column {column}: {page}");
            assert!(said.iter().all(|e| e.contains(&place)), "{said:?}");
        }
    }
    std::fs::write(&file, &good).unwrap();
    assert!(read(dir.path()).iter().all(Result::is_ok));
}

#[test]
fn pages_that_changed_places_and_lost_ends_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let whole = read(dir.path());
    let file = dir.path().join("postcards-0000.parquet");
    let good = std::fs::read(&file).unwrap();
    let chunks = chunks(&file);
    // Two columns whose chunks have the same length but differ.
    let of = |c: &(String, u64, u64)| &good[c.1 as usize..(c.1 + c.2) as usize];
    let pairs = chunks.iter().enumerate().flat_map(|(i, a)| {
        let others = chunks[i + 1..].iter();
        others.map(move |b| (a, b))
    });
    let mut swapped = 0;
    for (a, b) in pairs.filter(|(a, b)| a.2 == b.2 && of(a) != of(b)) {
        let mut bytes = good.clone();
        bytes[a.1 as usize..(a.1 + a.2) as usize].copy_from_slice(of(b));
        bytes[b.1 as usize..(b.1 + b.2) as usize].copy_from_slice(of(a));
        std::fs::write(&file, bytes).unwrap();
        let said = check(dir.path(), &file, &whole, "swapped");
        assert!(said.iter().all(|e| e.contains(&a.0)), "{said:?}");
        assert!(!said.is_empty());
        swapped += 1;
    }
    assert!(swapped > 0);
    for length in (0..good.len())
        .step_by(97)
        .chain(good.len() - 30..good.len())
    {
        std::fs::write(&file, &good[..length]).unwrap();
        let said = check(dir.path(), &file, &whole, "cut off");
        assert!(said.len() >= 3, "{length} bytes: {said:?}");
    }
}

fn copy_of(from: &Path) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
    }
    dir
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Also for a capture without checksums, of which it cannot be known whether its numbers
    /// are right.
    #[test]
    fn nothing_panics(
        file in 0usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        near_the_end in any::<bool>(),
    ) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dir = copy_of(&root.join("tests/fixtures/capture-63e1e1a"));
        let file = &files(dir.path())[file];
        let mut bytes = std::fs::read(file).unwrap();
        let from = if near_the_end { bytes.len().saturating_sub(6000) } else { 0 };
        for (index, value) in changes {
            let place = from + index.index(bytes.len() - from);
            bytes[place] = value;
        }
        std::fs::write(file, bytes).unwrap();
        let _ = read(dir.path());
    }
}
