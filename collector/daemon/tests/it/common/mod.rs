// SPDX-License-Identifier: Apache-2.0
//! A running collector, and data to give it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_tidemark-collector");

/// Ports that were free a moment ago.
pub(crate) fn free_ports() -> (u16, u16, u16) {
    let tcp = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (a, b) = (tcp(), tcp());
    let c = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    (
        a.local_addr().unwrap().port(),
        b.local_addr().unwrap().port(),
        c.local_addr().unwrap().port(),
    )
}

pub(crate) struct Collector {
    child: Child,
    pub grpc: u16,
    pub http: u16,
    pub udp: u16,
    pub capture: PathBuf,
    ended: bool,
}

impl Collector {
    /// Starts a collector with a capture in `dir` and waits until it is ready.
    pub(crate) fn start(dir: &Path) -> Self {
        Self::start_with(
            dir,
            "[nodes.10]\nname = \"s\"\n[nodes.10.ports.1]\ncapacity_bps = 100000000\n",
        )
    }

    /// Starts a collector with settings of the test's own.
    pub(crate) fn start_with(dir: &Path, settings: &str) -> Self {
        Self::start_on(dir, free_ports(), settings)
    }

    /// Starts a collector on given ports: gRPC, HTTP, UDP.
    pub(crate) fn start_on(dir: &Path, ports: (u16, u16, u16), settings: &str) -> Self {
        Self::start_with_grpc(dir, ports, &format!("{settings}\n[grpc]\n"))
    }

    /// Starts a collector with settings whose last table is `[grpc]`, without its address.
    pub(crate) fn start_with_grpc(dir: &Path, ports: (u16, u16, u16), settings: &str) -> Self {
        Self::start_as(&[BINARY], dir, ports, settings)
    }

    /// Starts a collector through another program, which executes it at last.
    pub(crate) fn start_under(prefix: &[&str], dir: &Path, settings: &str) -> Self {
        let command = [prefix, &[BINARY]].concat();
        Self::start_as(
            &command,
            dir,
            free_ports(),
            &format!("{settings}\n[grpc]\n"),
        )
    }

    fn start_as(
        command: &[&str],
        dir: &Path,
        (grpc, http, udp): (u16, u16, u16),
        settings: &str,
    ) -> Self {
        let listen = format!("[grpc]\nlisten = \"127.0.0.1:{grpc}\"\n");
        let settings = settings.replacen("[grpc]\n", &listen, 1);
        let config = dir.join("collector.toml");
        let capture = dir.join("capture");
        std::fs::write(
            &config,
            format!(
                "listen = [\"127.0.0.1:{udp}\"]\n\
                 http.listen = \"127.0.0.1:{http}\"\n\
                 capture = {{ dir = {capture:?}, rotate_s = 1 }}\n\
                 {settings}"
            ),
        )
        .unwrap();
        let mut child = Command::new(command[0])
            .args(&command[1..])
            .args(["run", "--config"])
            .arg(&config)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ready:") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "ended: {line}");
        }
        // Its pipe must not fill up.
        std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
        });
        Self {
            child,
            grpc,
            http,
            udp,
            capture,
            ended: false,
        }
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let mut s = TcpStream::connect((Ipv4Addr::LOCALHOST, self.http)).unwrap();
        write!(s, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        s.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 "), "{head}");
        body.to_owned()
    }

    pub(crate) fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.get("/status")).unwrap()
    }

    /// Waits until the status shows `found`.
    pub(crate) fn wait(&self, what: &str, found: impl Fn(&serde_json::Value) -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !found(&self.status()) {
            assert!(Instant::now() < end, "{what}: {}", self.status());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the status has all of these numbers (JSON pointer, value), and returns that
    /// status. The parts of the collector publish their numbers at different moments: one of them
    /// tells nothing about another.
    pub(crate) fn wait_numbers(&self, expected: &[(&str, u64)]) -> serde_json::Value {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let status = self.status();
            let other: Vec<_> = expected
                .iter()
                .map(|&(pointer, value)| (pointer, value, status.pointer(pointer)))
                .filter(|(_, value, found)| found.and_then(|f| f.as_u64()) != Some(*value))
                .collect();
            if other.is_empty() {
                return status;
            }
            assert!(Instant::now() < end, "not so: {other:?} in {status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Checks that the collector never had more memory than this.
    pub(crate) fn assert_memory_mib(&self, most_mib: u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        let mib = kib.parse::<u64>().unwrap() / 1024;
        println!("{mib} MiB at most");
        assert!(mib < most_mib, "{mib} MiB");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    pub(crate) fn wait_end(&mut self) -> ExitStatus {
        self.ended = true;
        self.child.wait().unwrap()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A v2.0 report as the P4 program sends it.
pub(crate) fn report(sequence: u32, ingress_ns: u64, dropped: bool, tcp_seq: u32) -> Vec<u8> {
    let mut b = Vec::new();
    let word = |b: &mut Vec<u8>, w: u32| b.extend_from_slice(&w.to_be_bytes());
    word(
        &mut b,
        2 << 28 | u32::from(dropped) << 22 | (sequence & 0x3f_ffff),
    );
    word(&mut b, 10);
    let inner = {
        let mut i = [0u8; 40];
        i[0] = 0x45;
        i[2..4].copy_from_slice(&1500u16.to_be_bytes());
        i[8] = 63;
        i[9] = 6;
        i[12..16].copy_from_slice(&[10, 0, 0, 1]);
        i[16..20].copy_from_slice(&[10, 0, 1, 1]);
        i[20..22].copy_from_slice(&40_000u16.to_be_bytes());
        i[22..24].copy_from_slice(&5001u16.to_be_bytes());
        i[24..28].copy_from_slice(&tcp_seq.to_be_bytes());
        i[32] = 0x50;
        i[33] = 0x10;
        i
    };
    let (bits, metadata_words, flags) = if dropped {
        (0x5801u32, 7u32, 0xa0u32)
    } else {
        (0x5c00, 8, 0x20)
    };
    word(
        &mut b,
        0x14 << 24 | (2 + metadata_words + 10) << 16 | metadata_words << 8 | flags,
    );
    word(&mut b, bits << 16 | 0x544d);
    word(&mut b, 0xc000 << 16);
    word(&mut b, 2 << 16 | 1);
    word(&mut b, 3028);
    b.extend_from_slice(&ingress_ns.to_be_bytes());
    if dropped {
        word(&mut b, 71 << 16);
    } else {
        b.extend_from_slice(&(ingress_ns + 250_000).to_be_bytes());
    }
    word(&mut b, 60_000);
    word(&mut b, 0);
    b.extend_from_slice(&inner);
    b
}
