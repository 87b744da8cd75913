// SPDX-License-Identifier: Apache-2.0
//! Every figure of the collector's speed in one run, each the median of five:
//! `cargo bench --locked -p tidemark-collector --bench collector [-- WORD... --json=FILE]`
//! (`make bench-collector`); with words, only the rows whose name has one; `--json=FILE`
//! keeps every run of every row.
//!
//! "Per core" rows count the CPU time of all threads that take part, on one core, so that a busy
//! machine disturbs little. The loopback rows count wall-clock time: everything that receives
//! shares one core, the sender has another. `docs/benchmarks/README.md` names the figures to reach.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod data;
mod encoding;
mod figure;
mod import;
mod long;
mod loopback;
mod memory;
mod pipeline;
mod probe;
mod reference;
mod shards;
mod store;

use figure::Row;
use std::collections::BTreeMap;

/// Rows with a target, as a fraction of the steps of [`reference`] in the same run.
const WANTED_OF_REFERENCE: [(&str, f64); 3] =
    [("join", 0.027), ("join-10k", 0.016), ("join-100k", 0.013)];

/// Same allocator as in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` and such: only the bench command measures.
    if !arguments.iter().any(|a| a == "--bench") {
        return;
    }
    let words: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| name.contains(w.as_str()));
    Row::head();
    let json = arguments.iter().find_map(|a| a.strip_prefix("--json="));
    let mut rows = Vec::new();
    let mut steps_per_s = None;
    for (name, run) in [
        ("decode", pipeline::decode as fn() -> Row),
        ("join", pipeline::join),
        ("join-10k", pipeline::join_ten_thousand),
        ("join-100k", pipeline::join_hundred_thousand),
        ("shards", shards::two),
        ("parquet", pipeline::parquet),
        ("encode", encoding::encode),
        ("import", import::pcap),
        ("gro", loopback::coalesced),
        ("single", loopback::single),
        ("single-by-ring", loopback::single_by_ring),
        ("baseline", loopback::baseline),
        ("ring", probe::ring),
        ("text", probe::text),
        ("text-naive", probe::text_naive),
    ] {
        if wanted(name) {
            figure::pin(loopback::RECEIVER_CORE);
            let of_reference = WANTED_OF_REFERENCE.iter().find(|w| w.0 == name);
            let wanted = of_reference
                .map(|(_, part)| part * *steps_per_s.get_or_insert_with(reference::steps_per_s));
            let mut row = run();
            if let (Some(wanted), Some(steps)) = (wanted, steps_per_s) {
                row.target = wanted;
                row.note = format!("{:.3} of the memory-bound loop", row.value / steps);
            }
            figure::unpin();
            row.print();
            rows.push((name, row));
        }
    }
    if let Some(file) = json {
        let by_name: BTreeMap<_, _> = rows.iter().map(|(name, row)| (name, row)).collect();
        std::fs::write(file, serde_json::to_vec_pretty(&by_name).unwrap()).unwrap();
    }
    let per_core = |name: &str| rows.iter().find(|r| r.0 == name).map(|r| r.1.value);
    if let Some(base) = per_core("baseline") {
        for name in ["gro", "single"] {
            if let Some(value) = per_core(name) {
                println!("ratio to the baseline, {name}: {:.1}", value / base);
            }
        }
    }
    let cpu = |name: &str| rows.iter().find(|r| r.0 == name)?.1.cpu_ns;
    if let Some(base) = cpu("baseline") {
        for name in ["gro", "single"] {
            if let Some(value) = cpu(name) {
                println!("the same by CPU time, {name}: {:.1}", base / value);
            }
        }
    }
    if let (Some(ring), Some(socket)) = (cpu("single-by-ring"), cpu("single")) {
        println!(
            "CPU of a report by a ring, over that by a socket: {:.2}",
            ring / socket
        );
    }
    if let (Some(text), Some(naive)) = (per_core("text"), per_core("text-naive")) {
        println!("ratio to the naive text parser: {:.1}", text / naive);
    }
    if wanted("bytes") {
        store::bytes_per_postcard();
    }
    if wanted("memory") {
        memory::with_many_flows();
    }
    if words.iter().any(|w| *w == "long") {
        let reports = arguments.iter().find_map(|a| a.strip_prefix("--reports="));
        long::run(reports.map(|n| n.parse().expect("--reports: a whole number")));
    }
}
