// SPDX-License-Identifier: Apache-2.0
//! Bytes per joined postcard on the runs with known truth.

use std::path::Path;
use test_support::golden::{GOLDEN_RUNS, Run, shared_runs};
use tidemark_collector::import::{ImportOptions, import};

/// Total size, in bytes, of the files in `dir` whose names start with `prefix`.
pub(crate) fn size(dir: &Path, prefix: &str) -> u64 {
    std::fs::read_dir(dir)
        .unwrap()
        .map(Result::unwrap)
        .filter(|e| e.file_name().to_string_lossy().starts_with(prefix))
        .map(|e| e.metadata().unwrap().len())
        .sum()
}

pub(crate) fn bytes_per_postcard() {
    let golden = tempfile::tempdir().unwrap();
    let runs = shared_runs("ns3").unwrap_or_else(|_| {
        let write = |name| {
            let folder = golden.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            Run::golden(name).unwrap().write(&folder).unwrap();
            folder
        };
        GOLDEN_RUNS.map(write).into()
    });
    println!("\nbytes per postcard in Parquet (at most 14)");
    let (mut all_bytes, mut all_rows) = (0, 0);
    for run in runs {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("capture");
        let report = import(&ImportOptions {
            pcap: run.join("reports.pcap.gz"),
            tcp_probe: vec![run.join("tcp_probe.txt.gz").as_path().into()],
            out: out.clone(),
            ..ImportOptions::default()
        })
        .unwrap();
        let bytes = size(&out, "postcards-");
        let rows = report.pipeline.postcard_rows;
        println!(
            "  {:24} {:6.2}",
            run.file_name().unwrap().to_string_lossy(),
            bytes as f64 / rows as f64
        );
        all_bytes += bytes;
        all_rows += rows;
    }
    println!("  {:24} {:6.2}", "all", all_bytes as f64 / all_rows as f64);
}
