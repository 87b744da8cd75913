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
/// Datagrams that the kernel takes as one when it cuts them itself.
const COALESCED: usize = 32;

fn main() {
    // `cargo test --benches` and such: only the bench command measures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let rates = [
        (
            "coalesced (UDP_SEGMENT, UDP_GRO)",
            median(|| receiver(true)),
        ),
        ("single datagrams (recvmmsg)", median(|| receiver(false))),
        ("baseline: recv + line per report", median(baseline)),
    ];
    let base = rates[2].1;
    println!(
        "{:36} {:>12} {:>8}",
        "loopback UDP, median of 5", "reports/s", "ratio"
    );
    for (name, rate) in rates {
        println!("{name:36} {rate:12.0} {:8.1}", rate / base);
    }
}

fn median(run: impl Fn() -> f64) -> f64 {
    let mut rates: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    rates.sort_by(f64::total_cmp);
    rates[RUNS / 2]
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

fn send(to: SocketAddr, coalesce: bool, done: &Arc<AtomicU64>) -> Sender {
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, done) = (Arc::clone(&stop), Arc::clone(done));
    let thread = std::thread::spawn(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(to).unwrap();
        let one = payload();
        let each = if coalesce { COALESCED } else { 1 };
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
        let mut buffer = one.repeat(each);
        let mut sent = 0u64;
        while !stopped.load(Ordering::Relaxed) {
            if sent - done.load(Ordering::Relaxed) > WINDOW {
                std::thread::yield_now();
                continue;
            }
            for (n, report) in buffer.chunks_mut(one.len()).enumerate() {
                let word = 2 << 28 | ((sent + n as u64) as u32 & 0x3f_ffff);
                report[..4].copy_from_slice(&word.to_be_bytes());
            }
            socket.send(&buffer).unwrap();
            sent += each as u64;
        }
        sent
    });
    Sender { stop, thread }
}

/// Lets the sender run for a while; returns reports per second. Panics when one
/// is missing at the end.
fn measure(sender: Sender, done: &AtomicU64) -> f64 {
    let start = Instant::now();
    std::thread::sleep(RUN_TIME);
    let rate = done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    sender.stop.store(true, Ordering::Relaxed);
    let sent = sender.thread.join().unwrap();
    let deadline = Instant::now() + Duration::from_secs(2);
    while done.load(Ordering::Relaxed) < sent {
        assert!(Instant::now() < deadline, "reports were lost");
        std::thread::sleep(Duration::from_millis(1));
    }
    rate
}

fn receiver(coalesce: bool) -> f64 {
    let receiver = ReportReceiver::bind(&Options {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        ..Options::default()
    })
    .unwrap();
    let to = receiver.addresses()[0];
    let counters = receiver.counters();
    let done = Arc::new(AtomicU64::new(0));
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
                done.fetch_add(reports, Ordering::Relaxed);
            }
        })
        .unwrap();
    let rate = measure(send(to, coalesce, &done), &done);
    running.stop();
    assert_eq!(counters.totals().kernel_drops, 0);
    rate
}

fn baseline() -> f64 {
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
    let done = Arc::new(AtomicU64::new(0));
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
                counted.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    let rate = measure(send(to, false, &done), &done);
    stop.store(true, Ordering::Relaxed);
    reader.join().unwrap();
    rate
}
