// SPDX-License-Identifier: Apache-2.0
//! The collector program under a steady load: `make soak`, or
//! `cargo bench --locked -p tidemark-collector --bench soak -- SECONDS [RATE]`.
//!
//! Sends RATE reports a second (default one million, half of what loopback is
//! required to carry) for SECONDS, and shows every few seconds
//! what has been received, lost and used. Ends with an error when a report is
//! missing that no counter explains, or when memory still grows in the second
//! half.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

#[path = "collector/data.rs"]
mod data;

use data::{REPORT_BYTES, packet, patch, template};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const FLOWS: u32 = 1000;
const TOGETHER: usize = 48;
/// Growth of memory in the second half up to which it counts as flat.
const FLAT_KB: u64 = 16 * 1024;

struct Collector {
    child: Child,
    http: u16,
    udp: u16,
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Collector {
    fn start() -> Self {
        let tcp = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (a, b) = (tcp(), tcp());
        let c = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (grpc, http) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let udp = c.local_addr().unwrap();
        drop((a, b, c));
        let mut child = Command::new(env!("CARGO_BIN_EXE_tidemark-collector"))
            .args(["run", "--grpc", &grpc.to_string()])
            .args(["--http", &http.to_string(), "--listen", &udp.to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ready:") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "ended: {line}");
        }
        std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
        });
        Self {
            child,
            http: http.port(),
            udp: udp.port(),
        }
    }

    /// Returns the reports received, missing by number, and dropped by the kernel.
    fn counts(&self) -> (u64, u64, u64) {
        let mut s = TcpStream::connect((Ipv4Addr::LOCALHOST, self.http)).unwrap();
        write!(s, "GET /status HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        s.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let v: serde_json::Value = serde_json::from_str(body).unwrap();
        let n = |key: &str| v["reports"][key].as_u64().unwrap();
        (n("received"), n("lost"), n("kernel_drops"))
    }

    fn memory_kb(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|a| a == "--bench") {
        return ExitCode::SUCCESS;
    }
    let mut numbers = arguments.iter().filter_map(|a| a.parse::<u64>().ok());
    // `cargo bench` of everything is not meant to take ten minutes more.
    let Some(seconds) = numbers.next() else {
        println!("soak: say for how many seconds, as `make soak` does");
        return ExitCode::SUCCESS;
    };
    let rate = numbers.next().unwrap_or(1_000_000);
    let collector = Collector::start();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .connect((Ipv4Addr::LOCALHOST, collector.udp))
        .unwrap();
    let size = REPORT_BYTES as libc::c_int;
    // SAFETY: the option is read from a `c_int` that outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            libc::UDP_SEGMENT,
            (&raw const size).cast(),
            4,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    let mut buffer = template().repeat(TOGETHER);
    let start = Instant::now();
    let end = Duration::from_secs(seconds);
    let step = Duration::from_secs((seconds / 20).clamp(1, 30));
    let mut next = step;
    let mut sent = 0u64;
    let mut half_kb = None;
    println!("  time s        sent    received   lost  kernel drops  memory MiB");
    while start.elapsed() < end {
        let due = (start.elapsed().as_secs_f64() * rate as f64) as u64;
        while sent < due {
            for (n, report) in (sent..).zip(buffer.chunks_mut(REPORT_BYTES)) {
                patch(report, &packet(n, FLOWS));
            }
            socket.send(&buffer).unwrap();
            sent += TOGETHER as u64;
        }
        if start.elapsed() >= next {
            show(start.elapsed(), sent, &collector);
            next += step;
        }
        if half_kb.is_none() && start.elapsed() >= end / 2 {
            half_kb = Some(collector.memory_kb());
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let (received, _, drops) = collector.counts();
        if received + drops >= sent || Instant::now() > deadline {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    show(start.elapsed(), sent, &collector);
    let (received, lost, drops) = collector.counts();
    // Reports lost at the very end leave no gap before a later number.
    let unexplained = sent
        .saturating_sub(received)
        .saturating_sub(lost.max(drops));
    let grown_kb = collector.memory_kb().saturating_sub(half_kb.unwrap_or(0));
    println!(
        "{sent} sent, {received} received, {lost} missing by number, {drops} dropped by the kernel, \
         {unexplained} unexplained; memory grew by {grown_kb} kB in the second half"
    );
    if unexplained > 0 || (seconds >= 60 && grown_kb > FLAT_KB) {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn show(elapsed: Duration, sent: u64, c: &Collector) {
    let (received, lost, drops) = c.counts();
    println!(
        "{:8.1} {sent:11} {received:11} {lost:6} {drops:13} {:11.1}",
        elapsed.as_secs_f64(),
        c.memory_kb() as f64 / 1024.0
    );
}
