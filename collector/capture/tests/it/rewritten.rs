// SPDX-License-Identifier: Apache-2.0
//! Tests that captures rewritten by other programs give the same rows. `fixtures/rewritten` has
//! one capture and each program's copy of it; `rewrite.py` there makes the copies.

use std::path::{Path, PathBuf};
use tidemark_capture::{AnyRow, Columns, Merged, Selection, TABLES};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/rewritten")
        .join(name)
}

/// Copies a program's rewritten capture; the programs do not write `capture.json`.
fn capture(name: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(
        fixture("original").join("capture.json"),
        dir.path().join("capture.json"),
    )
    .unwrap();
    copy(&fixture(name), dir.path());
    dir
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn rows(dir: &Path) -> Vec<AnyRow> {
    let mut merged = Merged::open(dir).unwrap();
    std::iter::from_fn(|| merged.next_row().unwrap()).collect()
}

/// Reads every value of a table, as columns.
fn cells(dir: &Path, table: &str) -> Vec<String> {
    let mut columns = Columns::open(dir, table, None, &Selection::default()).unwrap();
    let mut all = Vec::new();
    while let Some(batch) = columns.next_batch().unwrap() {
        all.extend(batch.columns.iter().map(|c| format!("{c:?}")));
    }
    all
}

fn gives_the_same(name: &str) {
    let (original, rewritten) = (capture("original"), capture(name));
    let expected = rows(original.path());
    assert!(expected.len() > 200);
    assert_eq!(rows(rewritten.path()), expected);
    for table in TABLES {
        assert_eq!(
            cells(rewritten.path(), table),
            cells(original.path(), table),
            "{table}"
        );
    }
}

macro_rules! programs {
    ($($test:ident $folder:literal;)*) => {$(
        #[test]
        fn $test() {
            gives_the_same($folder);
        }
    )*};
}
programs! {
    pyarrow_snappy "pyarrow";
    pandas_gzip_floats "pandas";
    polars_lz4_other_order "polars";
    duckdb_zstd "duckdb";
    duckdb_snappy_signed_and_decimal "duckdb-signed";
    spark_snappy_folders "spark";
}

/// A value that another program dropped is not read as 0.
#[test]
fn a_row_without_a_value_that_all_have_is_an_error() {
    let dir = capture("original");
    let path = dir.path().join("postcards-0000.parquet");
    std::fs::copy(fixture("node-missing.parquet"), &path).unwrap();
    let mut merged = Merged::open(dir.path()).unwrap();
    let error = loop {
        match merged.next_row() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a row without a node was read"),
            Err(error) => break error.to_string(),
        }
    };
    for part in ["postcards-0000.parquet", "node_id", "has no value in row 3"] {
        assert!(error.contains(part), "{error}");
    }
}

/// The header of a page claims an uncompressed size of gigabytes.
#[test]
fn a_page_that_unpacks_to_gigabytes_is_refused_with_the_limit() {
    let dir = capture("pyarrow");
    let path = dir.path().join("postcards-0000.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    // After the format's name: the type and the size, each a 32-bit field.
    assert_eq!(bytes[4], 0x15);
    let size = 4 + 2;
    assert_eq!(
        (bytes[size], bytes[size + 1] & 0x80, bytes[size + 2] & 0x80),
        (0x15, 0x80, 0)
    );
    // All later bytes move, but the header is refused before that matters.
    bytes.splice(size + 1..size + 3, [0xfe, 0xff, 0xff, 0xff, 0x0f]);
    std::fs::write(&path, bytes).unwrap();
    let mut merged = Merged::open(dir.path()).unwrap();
    let error = loop {
        match merged.next_row() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the file was read to its end"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("268435456 are the limit"), "{error}");
}
