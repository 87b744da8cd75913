// SPDX-License-Identifier: Apache-2.0
//! A disk that is really full: a small file system in memory. Needs root, to mount
//! it; fails without.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{Collector, report};
use nix::sys::signal::Signal;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tidemark_capture::{CaptureMeta, Rows};
use tidemark_pipeline::PostcardRow;

/// A file system of a few MB.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Self {
        std::fs::create_dir(at).unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "tidemark-test"])
            .arg(at)
            .status()
            .unwrap();
        assert!(done.success(), "this test needs root, to mount a tmpfs");
        Self(at.to_path_buf())
    }

    /// Fills all remaining space.
    fn fill(&self) {
        let mut ballast = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.0.join("ballast"))
            .unwrap();
        for block in [65_536, 4096] {
            while ballast.write_all(&vec![1; block]).is_ok() {}
        }
    }

    fn make_room(&self) {
        std::fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Sends reports without end, one after the other.
struct Sender {
    socket: UdpSocket,
    sequence: u32,
    udp: u16,
}

impl Sender {
    /// Sends until `come` returns true.
    fn until(&mut self, what: &str, mut come: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(90);
        while !come() {
            assert!(Instant::now() < end, "{what}");
            for _ in 0..200 {
                self.sequence += 1;
                let at = 1_000_000_000 + u64::from(self.sequence) * 200_000;
                let payload = report(self.sequence, at, false, self.sequence * 1460);
                self.socket
                    .send_to(&payload, (Ipv4Addr::LOCALHOST, self.udp))
                    .unwrap();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn health(http: u16) -> String {
    let mut s = TcpStream::connect((Ipv4Addr::LOCALHOST, http)).unwrap();
    write!(s, "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    s.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_full_disk_is_told_and_used_again() {
    let top = tempfile::tempdir().unwrap();
    let disk = Small::mount(&top.path().join("small"));
    let spool = disk.0.join("spool");
    // A database that cannot be reached: everything waits in the spool.
    let settings = format!(
        "[nodes.10]\nname = \"s\"\n[nodes.10.ports.1]\ncapacity_bps = 100000000\n\
         [clickhouse]\nurl = \"http://127.0.0.1:9\"\nspool_dir = {spool:?}\n\
         batch_ms = 200\nfinish_s = 0\n"
    );
    let mut c = Collector::start_with(&disk.0, &settings);
    let mut sender = Sender {
        socket: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(),
        sequence: 0,
        udp: c.udp,
    };
    let capture = |c: &Collector, key: &str| c.status()["capture"][key].clone();
    sender.until("rows are written", || {
        capture(&c, "rows").as_u64() > Some(0)
    });
    assert!(health(c.http).contains(" 200 "));

    disk.fill();
    sender.until("both stores say that the disk is full", || {
        let said = health(c.http);
        said.contains(" 503 ")
            && said.contains("cannot be written")
            && said.contains("the spool does not take rows")
    });
    let said = health(c.http);
    assert!(
        said.contains("No space left") && said.contains("rows lost"),
        "{said}"
    );

    let written = capture(&c, "rows").as_u64();
    disk.make_room();
    sender.until("both stores go on", || {
        capture(&c, "rows").as_u64() > written && health(c.http).contains(" 200 ")
    });
    let said = health(c.http);
    assert!(
        said.contains("rows lost"),
        "what fell out is not forgotten: {said}"
    );

    c.signal(Signal::SIGTERM);
    assert!(c.wait_end().success());
    let meta = CaptureMeta::read(&c.capture).unwrap();
    assert!(meta.ended_unix_ns.is_some() && meta.rows_lost > 0);
    let (mut found, mut orders) = (0u64, Vec::new());
    let mut rows = Rows::<PostcardRow>::open(&c.capture).unwrap();
    while rows.peek().unwrap().is_some() {
        orders.push(rows.take().unwrap().order);
        found += 1;
    }
    assert!(orders.is_sorted() && found > 0);
    let received = meta.stats.unwrap().reports;
    assert!(found < received, "the rows of a full disk are missing");
    assert!(
        std::fs::read_dir(&spool).unwrap().count() > 1,
        "batches wait"
    );
}
