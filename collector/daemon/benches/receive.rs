// SPDX-License-Identifier: Apache-2.0
//! Reports per second over loopback UDP, received, decoded and their inner
//! packet read, beside one `recv` and one formatted line per report (how the
//! predecessor works) in the same run.
//!
//! The sender runs in a thread of its own and keeps at most a fixed number of
//! datagrams under way, so that nothing is lost and the figure is what both
//! together sustain. `cargo bench -p tidemark-collector --bench receive` prints
//! the median of five runs of each.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use int_report::encode::{encode, postcard};
use int_report::{decode, parse_inner};
use tidemark_collector::receive::{Batch, Options, ReportReceiver};

const RUNS: usize = 5;
const RUN_TIME: Duration = Duration::from_millis(700);
/// Reports that the sender lets be under way.
const WINDOW: u64 = 16_384;
/// Datagrams that the sender gives to the kernel at once.
const TOGETHER: usize = 32;

fn main() {
    // `cargo test --benches` and such: only the bench command measures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let figures = [
        (
            "coalesced (UDP_SEGMENT, UDP_GRO)",
            median(|| receiver(true)),
        ),
        ("single datagrams (recvmmsg)", median(|| receiver(false))),
        ("baseline: recv + line per report", median(baseline)),
    ];
    let base = figures[2].1;
    println!(
        "{:34} {:>11} {:>6} {:>22} {:>6}",
        "loopback UDP, median of 5", "reports/s", "ratio", "per receiver's CPU-s", "ratio"
    );
    for (name, figure) in figures {
        println!(
            "{name:34} {:11.0} {:6.1} {:22.0} {:6.1}",
            figure.per_second,
            figure.per_second / base.per_second,
            figure.per_cpu_second,
            figure.per_cpu_second / base.per_cpu_second
        );
    }
}

#[derive(Clone, Copy)]
struct Figure {
    per_second: f64,
    /// Of the receiving thread: the sender costs as much again and more.
    per_cpu_second: f64,
}

fn median(run: impl Fn() -> Figure) -> Figure {
    let runs: Vec<Figure> = (0..RUNS).map(|_| run()).collect();
    let middle = |of: fn(&Figure) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[RUNS / 2]
    };
    Figure {
        per_second: middle(|figure| figure.per_second),
        per_cpu_second: middle(|figure| figure.per_cpu_second),
    }
}

/// What a receiver has done, and the CPU time of its thread until then.
#[derive(Default)]
struct Progress {
    reports: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Progress {
    fn add(&self, reports: u64) {
        // Now and then: reading the clock is a system call.
        let before = self.reports.fetch_add(reports, Ordering::Relaxed);
        if before >> 14 != (before + reports) >> 14 {
            let mut time = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
            let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            self.cpu_ns.store(ns, Ordering::Relaxed);
        }
    }

    fn reports(&self) -> u64 {
        self.reports.load(Ordering::Relaxed)
    }
}

/// One report of 92 bytes.
fn payload() -> Vec<u8> {
    let packet = [
        0x45, 0, 5, 0xdc, 0, 0, 0x40, 0, 0x3f, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x40, 0x13,
        0x89, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0x20, 0, 0, 0, 0, 0,
    ];
    encode(&[postcard(10, 1, (2, 1), &packet)]).unwrap()
}

/// Sends until told to stop; `done` is how many reports have been taken in.
struct Sender {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<u64>,
}

fn send(to: SocketAddr, coalesce: bool, done: &Arc<Progress>) -> Sender {
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, done) = (Arc::clone(&stop), Arc::clone(done));
    let thread = std::thread::spawn(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(to).unwrap();
        let one = payload();
        if coalesce {
            let size = one.len() as libc::c_int;
            let result = unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_UDP,
                    libc::UDP_SEGMENT,
                    (&raw const size).cast(),
                    4,
                )
            };
            assert_eq!(result, 0);
        }
        let mut buffer = one.repeat(TOGETHER);
        let mut sent = 0u64;
        while !stopped.load(Ordering::Relaxed) {
            if sent - done.reports() > WINDOW {
                std::thread::yield_now();
                continue;
            }
            for (n, report) in buffer.chunks_mut(one.len()).enumerate() {
                let word = 2 << 28 | ((sent + n as u64) as u32 & 0x3f_ffff);
                report[..4].copy_from_slice(&word.to_be_bytes());
            }
            if coalesce {
                socket.send(&buffer).unwrap();
            } else {
                send_each(&socket, &mut buffer, one.len());
            }
            sent += TOGETHER as u64;
        }
        sent
    });
    Sender { stop, thread }
}

/// One datagram of `length` bytes after the other, with one system call.
fn send_each(socket: &UdpSocket, buffer: &mut [u8], length: usize) {
    let mut vectors: Vec<libc::iovec> = buffer
        .chunks_mut(length)
        .map(|part| libc::iovec {
            iov_base: part.as_mut_ptr().cast(),
            iov_len: part.len(),
        })
        .collect();
    let mut headers: Vec<libc::mmsghdr> = vectors
        .iter_mut()
        .map(|vector| {
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header
        })
        .collect();
    let count = headers.len() as libc::c_uint;
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, 0) };
    assert_eq!(sent, TOGETHER as libc::c_int);
}

/// Lets the sender run for a while; returns what it came to. Panics when one
/// is missing at the end.
fn measure(sender: Sender, done: &Progress) -> Figure {
    let start = Instant::now();
    std::thread::sleep(RUN_TIME);
    let reports = done.reports() as f64;
    let figure = Figure {
        per_second: reports / start.elapsed().as_secs_f64(),
        per_cpu_second: reports * 1e9 / done.cpu_ns.load(Ordering::Relaxed) as f64,
    };
    sender.stop.store(true, Ordering::Relaxed);
    let sent = sender.thread.join().unwrap();
    let deadline = Instant::now() + Duration::from_secs(2);
    while done.reports() < sent {
        assert!(Instant::now() < deadline, "reports were lost");
        std::thread::sleep(Duration::from_millis(1));
    }
    figure
}

fn receiver(coalesce: bool) -> Figure {
    let receiver = ReportReceiver::bind(&Options {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        ..Options::default()
    })
    .unwrap();
    let to = receiver.addresses()[0];
    let counters = receiver.counters();
    let done = Arc::new(Progress::default());
    let running = receiver
        .start(|_| {
            let done = Arc::clone(&done);
            move |batch: &Batch<'_>| {
                let mut reports = 0;
                for (_, payload) in batch.datagrams() {
                    let _ = decode(payload, |report| {
                        if parse_inner(&report.inner).is_ok_and(|inner| inner.dst_port == 5001) {
                            reports += 1;
                        }
                    });
                }
                done.add(reports);
            }
        })
        .unwrap();
    let figure = measure(send(to, coalesce, &done), &done);
    running.stop();
    assert_eq!(counters.totals().kernel_drops, 0);
    figure
}

fn baseline() -> Figure {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // The default buffer does not hold the window.
    let wanted: libc::c_int = 32 << 20;
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            (&raw const wanted).cast(),
            4,
        )
    };
    assert_eq!(result, 0, "this benchmark needs root");
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let to = socket.local_addr().unwrap();
    let done = Arc::new(Progress::default());
    let stop = Arc::new(AtomicBool::new(false));
    let (counted, stopped) = (Arc::clone(&done), Arc::clone(&stop));
    let reader = std::thread::spawn(move || {
        let mut out = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .unwrap();
        let mut buffer = [0; 2048];
        while !stopped.load(Ordering::Relaxed) {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                continue;
            };
            let _ = decode(&buffer[..length], |r| {
                let Ok(inner) = parse_inner(&r.inner) else {
                    return;
                };
                let line = format!(
                    "{} {} {} {:?} {:?} {:?} {:?} {}\n",
                    from.ip(),
                    r.node_id,
                    r.sequence,
                    r.queue_occupancy,
                    r.ingress_ts,
                    r.egress_ts,
                    r.drop_reason,
                    inner.flow_key()
                );
                out.write_all(line.as_bytes()).unwrap();
                counted.add(1);
            });
        }
    });
    let figure = measure(send(to, false, &done), &done);
    stop.store(true, Ordering::Relaxed);
    reader.join().unwrap();
    figure
}
