// SPDX-License-Identifier: Apache-2.0
//! A capture too long for memory: `import` of reports that come through a pipe, then `analyze` of
//! the capture, each with its CPU time and its peak memory. Only on request: `-- long
//! [--reports=N]`, 200 million otherwise, takes some minutes and some gigabytes of disk.

use crate::data::{NODE, packet, patch};
use crate::import::{HEADERS, PORT_TABLE, frame};
use nix::sys::resource::{UsageWho, getrusage};
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;
use tidemark_pcap::{ETHERNET, Writer};

const FLOWS: u32 = 1000;
const REPORTS: u64 = 200_000_000;

/// Returns the CPU time of the children so far, in s, and the peak memory of one, in MiB.
fn children() -> (f64, i64) {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    let cpu_s = seconds(usage.user_time()) + seconds(usage.system_time());
    (cpu_s, usage.max_rss() / 1024)
}

fn print(what: &str, reports: u64, began: Instant, before_s: f64) {
    let (cpu_s, most_mib) = children();
    let cpu_s = cpu_s - before_s;
    println!(
        "{what}: {:.2} M/s a core ({cpu_s:.0} s of CPU, {:.0} s by the clock), at most {most_mib} MiB",
        reports as f64 / cpu_s / 1e6,
        began.elapsed().as_secs_f64()
    );
}

pub(crate) fn run(reports: Option<u64>) {
    let reports = reports.unwrap_or(REPORTS);
    let dir = tempfile::tempdir().unwrap();
    let nodes = dir.path().join("nodes.toml");
    std::fs::write(&nodes, format!("[nodes.{NODE}.ports.1]\n{PORT_TABLE}\n")).unwrap();
    let capture = dir.path().join("capture");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_tidemark-collector"));
    let controller = program.with_file_name("tidemark-controller");
    assert!(
        controller.exists(),
        "{} is missing: cargo build --release -p tidemark-controller",
        controller.display()
    );
    let (before_s, _) = children();
    let began = Instant::now();
    let mut import = Command::new(&program)
        .args(["import", "--pcap", "/dev/stdin", "--nodes"])
        .arg(&nodes)
        .arg("--out")
        .arg(&capture)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pipe = BufWriter::with_capacity(1 << 20, import.stdin.take().unwrap());
    let mut out = Writer::new(pipe, ETHERNET).unwrap();
    let mut frame = frame();
    for n in 0..reports {
        let p = packet(n, FLOWS);
        patch(&mut frame[HEADERS..], &p);
        out.write(p.egress_ns() + 30_000, &frame).unwrap();
    }
    drop(out.finish().unwrap());
    assert!(import.wait().unwrap().success());
    print("import of a pipe", reports, began, before_s);
    let (before_s, _) = children();
    let began = Instant::now();
    let mut analyze = Command::new(controller);
    let output = analyze.arg("analyze").arg(&capture).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    print("analyze of the capture", reports, began, before_s);
}
