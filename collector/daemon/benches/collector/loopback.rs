// SPDX-License-Identifier: Apache-2.0
//! The whole path over loopback UDP: socket, receiving thread, engine thread with its pipeline,
//! stream and packet memory, all on one core; the sender on another. The sender keeps at most a
//! fixed number of datagrams in flight, so that nothing is lost and the figure is what both
//! together sustain; a lost report ends the benchmark. The CPU time next to it is that of the
//! receiving side alone, which other work on the machine disturbs less.

use crate::data::{NODE, REPORT_BYTES, config, packet, patch, set_part, template};
use crate::figure::{Row, pin, process_cpu, thread_cpu, wait};
use int_report::{decode, parse_inner};
use std::collections::BTreeSet;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use tcp_probe::perf::Clock;
use tidemark_collector::config::ReceiveConfig;
use tidemark_collector::engine::{Engine, EngineSink, SharedSnapshot};
use tidemark_collector::hub::Hub;
use tidemark_collector::packets::{Bounds, PacketMemory};
use tidemark_collector::receive::{ReceivePath, Received, ReportReceiver};
use tidemark_collector::shards::ReportSender;
use tidemark_collector::source::SourceCounters;
use tidemark_pipeline::Pipeline;

const FLOWS: u32 = 1000;
const RUN_TIME: Duration = Duration::from_millis(1000);
/// Maximum number of datagrams in flight.
const WINDOW: u64 = 16_384;
/// Datagrams per system call of the sender.
const TOGETHER: usize = 48;
pub(crate) const RECEIVER_CORE: usize = 0;
/// Core of the first sender.
const SENDER_CORE: usize = 1;
const MAX_SENDERS: libc::c_long = 2;

pub(crate) fn coalesced() -> Row {
    Row::median_with_cpu(
        "loopback, GRO-able reports, whole path on one core",
        2e6,
        || whole_path(true, ReceivePath::Socket),
    )
}

pub(crate) fn single() -> Row {
    Row::median_with_cpu(
        "loopback, single datagrams, whole path on one core",
        0.7e6,
        || whole_path(false, ReceivePath::Socket),
    )
}

pub(crate) fn single_by_ring() -> Row {
    Row::median_with_cpu(
        "loopback, single datagrams by a ring, whole path on one core",
        0.7e6,
        || whole_path(false, ReceivePath::Ring),
    )
}

pub(crate) fn baseline() -> Row {
    Row::median_with_cpu(
        "baseline: one recv, one line to a file, per report",
        0.0,
        lines,
    )
}

struct Sender {
    stop: Arc<AtomicBool>,
    /// Threads, which return the datagrams sent and the CPU time used.
    threads: Vec<std::thread::JoinHandle<(u64, Duration)>>,
}

impl Sender {
    /// Stops the threads; returns the datagrams sent and the CPU time of all.
    fn stop(self) -> (u64, Duration) {
        self.stop.store(true, Ordering::Relaxed);
        let all = self.threads.into_iter().map(|t| t.join().unwrap());
        all.fold((0, Duration::ZERO), |a, b| (a.0 + b.0, a.1 + b.1))
    }
}

/// Sends until stopped; `done` returns how many reports have been received. Single datagrams cost
/// more to send than to receive: if there is a third core, it also sends, and each sender has its
/// own sequence numbers.
fn send(to: SocketAddr, coalesce: bool, done: impl Fn() -> u64 + Send + Sync + 'static) -> Sender {
    let stop = Arc::new(AtomicBool::new(false));
    let total = Arc::new(AtomicU64::new(0));
    let done = Arc::new(done);
    // All cores, not only the one that this thread may use.
    // SAFETY: takes no pointer.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    let senders = if coalesce {
        1
    } else {
        (cores - 1).clamp(1, MAX_SENDERS) as usize
    };
    let start = |number: usize| {
        let (stop, total, done) = (Arc::clone(&stop), Arc::clone(&total), Arc::clone(&done));
        std::thread::spawn(move || {
            pin(SENDER_CORE + number);
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(to).unwrap();
            if coalesce {
                data_segments(&socket);
            }
            let mut buffer = template().repeat(TOGETHER);
            let mut sent = 0u64;
            while !stop.load(Ordering::Relaxed) {
                if total.load(Ordering::Relaxed) - done() > WINDOW {
                    std::thread::yield_now();
                    continue;
                }
                for (n, report) in (sent..).zip(buffer.chunks_mut(REPORT_BYTES)) {
                    patch(report, &packet(n, FLOWS));
                    set_part(report, number as u32);
                }
                total.fetch_add(TOGETHER as u64, Ordering::Relaxed);
                if coalesce {
                    socket.send(&buffer).unwrap();
                } else {
                    send_each(&socket, &mut buffer);
                }
                sent += TOGETHER as u64;
            }
            (sent, thread_cpu())
        })
    };
    let threads = (0..senders).map(start).collect();
    Sender { stop, threads }
}

/// Makes the kernel cut each message sent into datagrams.
pub(crate) fn data_segments(socket: &UdpSocket) {
    set(
        socket,
        libc::SOL_UDP,
        libc::UDP_SEGMENT,
        REPORT_BYTES as libc::c_int,
    );
}

fn set(socket: &UdpSocket, level: libc::c_int, name: libc::c_int, value: libc::c_int) {
    // SAFETY: the option is read from a `c_int` that outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            4,
        )
    };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Sends many separate datagrams with one system call.
fn send_each(socket: &UdpSocket, buffer: &mut [u8]) {
    let mut vectors: Vec<libc::iovec> = buffer
        .chunks_mut(REPORT_BYTES)
        .map(|part| libc::iovec {
            iov_base: part.as_mut_ptr().cast(),
            iov_len: part.len(),
        })
        .collect();
    let mut headers: Vec<libc::mmsghdr> = vectors
        .iter_mut()
        .map(|vector| {
            // SAFETY: zero is a valid header: null pointers with lengths of 0.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header
        })
        .collect();
    let count = headers.len() as libc::c_uint;
    // SAFETY: every header points to a vector, and this to a part of `buffer`.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, 0) };
    assert_eq!(sent, TOGETHER as libc::c_int);
}

/// Returns reports per second, and the CPU time per report of the receiver and of the sender.
fn whole_path(coalesce: bool, path: ReceivePath) -> (f64, [f64; 2]) {
    pin(RECEIVER_CORE);
    let listen = ["127.0.0.1:0".parse().unwrap()];
    let options = ReceiveConfig {
        path,
        ..ReceiveConfig::default()
    };
    let receiver = ReportReceiver::bind(&listen, &options).unwrap();
    assert_eq!(receiver.counters().paths[0].path, path, "a ring needs root");
    let to = receiver.addresses()[0];
    let counters = receiver.counters();
    let hub = Arc::new(Hub::new(65_536));
    let bounds = Bounds {
        keep_s: 10,
        max_packets: 4_000_000,
        max_answer: 200_000,
    };
    let packets = Arc::new(PacketMemory::new(bounds, BTreeSet::new()));
    let sources = Arc::new(SourceCounters::default());
    let sink = EngineSink::new(vec![Box::new(packets)], hub, sources, None);
    let settings = tidemark_pipeline::Config {
        join: false,
        local_host: None,
        ..config()
    };
    let pipeline = Pipeline::new(settings, sink).unwrap();
    let engine = Engine::new(
        pipeline,
        "local".into(),
        Clock::MonoRaw,
        SharedSnapshot::default(),
    );
    let (sender, inputs) = sync_channel(256);
    let engine = std::thread::spawn(move || engine.run(&inputs));
    let running = receiver
        .start(|_| {
            let engines = vec![sender.clone()];
            let mut sender = ReportSender::new(engines, tidemark_pipeline::NodeShards::new([], 1));
            move |batch: &Received<'_>| sender.send(batch)
        })
        .unwrap();
    drop(sender);
    let seen = Arc::clone(&counters);
    let start = Instant::now();
    let cpu_before = process_cpu();
    let sending = send(to, coalesce, move || seen.totals().datagrams);
    std::thread::sleep(RUN_TIME);
    let (sent, sender_cpu) = sending.stop();
    assert!(
        wait(Duration::from_secs(5), || counters.totals().datagrams
            >= sent),
        "reports were lost"
    );
    running.stop();
    let stats = engine.join().unwrap().unwrap();
    let elapsed = start.elapsed().as_secs_f64();
    assert_eq!((stats.reports, stats.reports_lost), (sent, 0));
    assert_eq!(counters.totals().kernel_drops, 0);
    let cpu = process_cpu() - cpu_before - sender_cpu;
    let each = |cpu: Duration| cpu.as_nanos() as f64 / sent as f64;
    (sent as f64 / elapsed, [each(cpu), each(sender_cpu)])
}

fn lines() -> (f64, [f64; 2]) {
    pin(RECEIVER_CORE);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // The default buffer does not hold the window.
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 32 << 20);
    socket
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let to = socket.local_addr().unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let (counted, stopped) = (Arc::clone(&done), Arc::clone(&stop));
    let reader = std::thread::spawn(move || {
        // Writes to a file like the predecessor's, flushed after each report.
        let mut out = tempfile::tempfile().unwrap();
        let mut buffer = [0; 2048];
        while !stopped.load(Ordering::Relaxed) {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else {
                continue;
            };
            let _ = decode(&buffer[..length], |r| {
                let Ok(inner) = parse_inner(&r.inner) else {
                    return;
                };
                assert_eq!(r.node_id, NODE);
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
    let seen = Arc::clone(&done);
    let start = Instant::now();
    let cpu_before = process_cpu();
    let sending = send(to, false, move || seen.load(Ordering::Relaxed));
    std::thread::sleep(RUN_TIME);
    let (sent, sender_cpu) = sending.stop();
    assert!(
        wait(Duration::from_secs(5), || done.load(Ordering::Relaxed)
            >= sent),
        "reports were lost"
    );
    let elapsed = start.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    reader.join().unwrap();
    let cpu = process_cpu() - cpu_before - sender_cpu;
    let each = |cpu: Duration| cpu.as_nanos() as f64 / sent as f64;
    (sent as f64 / elapsed, [each(cpu), each(sender_cpu)])
}
