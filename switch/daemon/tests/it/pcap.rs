// SPDX-License-Identifier: Apache-2.0
//! `tidemark-switch pcap` with the real program: queueing in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use tidemark_pcap::{ETHERNET, Frames, LINUX_SLL, Writer};

const FRAME_BYTES: usize = 1514;
/// Time of 1538 bytes at 10 Mb/s.
const SERVICE_NS: u64 = 1_230_400;
const DELAY_NS: u64 = 2_000_000;
const START_NS: u64 = 1_700_000_000_123_456_789;

fn capture(path: &Path, frames: &[(u64, Vec<u8>)]) {
    let mut w = Writer::new(std::fs::File::create(path).unwrap(), ETHERNET).unwrap();
    for (t, f) in frames {
        w.write(*t, f).unwrap();
    }
    w.finish().unwrap();
}

/// Returns time and bytes of every frame.
fn frames(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let mut frames = Frames::open(path).unwrap();
    let mut out = Vec::new();
    while let Some(f) = frames.next_frame().unwrap() {
        out.push((f.time_ns, f.data.to_vec()));
    }
    out
}

fn run(input: &Path, out: &Path, more: &[&str]) -> String {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let o = Command::new(env!("CARGO_BIN_EXE_tidemark-switch"))
        .arg("pcap")
        .arg("--program")
        .arg(manifest.join("../../p4src/build/tidemark.json"))
        .arg("--entries")
        .arg(manifest.join("tests/data/forward-and-report.txtpb"))
        .arg(format!("--in=1={}", input.display()))
        .arg("--port=2=rate=10mbit,delay=2ms,queue=8p")
        .args(more)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&o.stderr).into_owned();
    assert!(o.status.success(), "{text}");
    String::from_utf8(o.stdout).unwrap()
}

#[test]
fn queues_in_virtual_time_and_repeats_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.pcap");
    // Twelve at once: one in service, eight wait, three are refused; the last frame arrives
    // when all others are gone.
    let mut list: Vec<(u64, Vec<u8>)> = (0..12)
        .map(|i| (START_NS, common::tcp(1, 2, i, FRAME_BYTES)))
        .collect();
    let late = 1_000_000_000;
    list.push((START_NS + late, common::tcp(1, 2, 99, FRAME_BYTES)));
    capture(&input, &list);
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let summary = run(&input, &a, &[]);
    assert!(summary.contains("13 frames in"), "{summary}");
    assert!(
        summary.contains("port 2: 10 frames, 15140 bytes sent; 3 refused"),
        "{summary}"
    );
    let sent = frames(&a.join("port-2.pcap"));
    let times: Vec<u64> = sent.iter().map(|(t, _)| t - START_NS).collect();
    let mut want: Vec<u64> = (1..=9).map(|i| i * SERVICE_NS + DELAY_NS).collect();
    want.push(late + SERVICE_NS + DELAY_NS);
    assert_eq!(times, want);
    assert_eq!(sent[0].1, list[0].1);
    assert_eq!(sent[9].1, list[12].1);
    let reports = frames(&a.join("port-9.pcap"));
    assert_eq!(reports.len(), 10, "one for each packet that left");

    run(&input, &b, &[]);
    for name in ["port-2.pcap", "port-9.pcap"] {
        let read = |d: &Path| std::fs::read(d.join(name)).unwrap();
        assert!(read(&a) == read(&b), "{name} differs between runs");
    }
}

/// Nine enter, and wait for up to 9.8 ms: CoDel drops the first that waits for 5 ms after one
/// that waited for 1 ms, and the next one passes.
#[test]
fn a_managed_queue_drops_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.pcap");
    let list: Vec<(u64, Vec<u8>)> = (0..9)
        .map(|i| (START_NS, common::tcp(1, 2, i, FRAME_BYTES)))
        .collect();
    capture(&input, &list);
    let out = folder.path().join("out");
    let summary = run(&input, &out, &["--aqm=2=codel:target=1ms,interval=5ms"]);
    let said = "port 2: 1 frames dropped and 0 marked by queue management";
    assert!(summary.contains(said), "{summary}");
    let sent = frames(&out.join("port-2.pcap"));
    let ids: Vec<u8> = sent.iter().map(|(_, f)| f[41]).collect();
    // The service of the sixth to wait begins at 7.4 ms.
    assert_eq!(ids, [0, 1, 2, 3, 4, 5, 7, 8]);
    let reports = frames(&out.join("port-9.pcap"));
    assert_eq!(reports.len(), 9, "one for each, the dropped one too");
    let drops: Vec<_> = reports.iter().filter(|(_, f)| f[53] & 0x80 != 0).collect();
    assert_eq!(drops.len(), 1);
    assert_eq!(drops[0].1[62 + 17], 73, "its reason");
    assert_eq!(drops[0].0 - START_NS, 6 * SERVICE_NS);
}

#[test]
fn refused_entries_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.pcap");
    capture(&input, &[]);
    let entries = folder.path().join("bad.txtpb");
    std::fs::write(
        &entries,
        "updates { type: INSERT entity { table_entry { table_id: 4242 } } }",
    )
    .unwrap();
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../p4src/build/tidemark.json");
    let o = Command::new(env!("CARGO_BIN_EXE_tidemark-switch"))
        .arg("pcap")
        .arg("--program")
        .arg(program)
        .arg("--entries")
        .arg(&entries)
        .arg(format!("--in=1={}", input.display()))
        .arg("--out")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    assert!(!o.status.success());
    let text = String::from_utf8_lossy(&o.stderr);
    assert!(text.contains("update 1") && text.contains("4242"), "{text}");
}

/// Input is refused if it has frames that would be missing from the output.
#[test]
fn what_is_no_whole_ethernet_capture_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.pcap");
    let refused = |bytes: &[u8], reason: &str| {
        std::fs::write(&input, bytes).unwrap();
        let program =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../p4src/build/tidemark.json");
        let o = Command::new(env!("CARGO_BIN_EXE_tidemark-switch"))
            .args(["pcap", "--program"])
            .arg(program)
            .arg(format!("--in=1={}", input.display()))
            .arg("--out")
            .arg(folder.path().join("out"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&o.stderr);
        assert!(!o.status.success());
        assert!(text.contains("in.pcap") && text.contains(reason), "{text}");
    };
    let of = |link: u32| {
        let mut w = Writer::new(Vec::new(), link).unwrap();
        w.write(START_NS, &[0; 60]).unwrap();
        w.finish().unwrap()
    };
    refused(b"not a capture at all, is it", "is not a pcap or pcapng");
    refused(&of(LINUX_SLL), "link type 113");
    let mut cut = of(ETHERNET);
    // The frame had 70 bytes on the wire.
    cut[36] = 70;
    refused(&cut, "snap length");
}

/// Like the capture of a switch that was stopped: whole frames are used, the rest is reported.
#[test]
fn a_capture_may_end_within_a_frame() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.pcap");
    let out = folder.path().join("out");
    capture(
        &input,
        &[(START_NS, vec![0; 60]), (START_NS + 1, vec![0; 60])],
    );
    let whole = std::fs::read(&input).unwrap();
    std::fs::write(&input, &whole[..whole.len() - 1]).unwrap();
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../p4src/build/tidemark.json");
    let o = Command::new(env!("CARGO_BIN_EXE_tidemark-switch"))
        .args(["pcap", "--program"])
        .arg(program)
        .arg(format!("--in=1={}", input.display()))
        .arg("--out")
        .arg(&out)
        .output()
        .unwrap();
    let (text, log) = (
        String::from_utf8_lossy(&o.stdout),
        String::from_utf8_lossy(&o.stderr),
    );
    assert!(
        o.status.success() && text.starts_with("1 frames in"),
        "{text}{log}"
    );
    assert!(log.contains("in.pcap: ends within a frame"), "{log}");
}
