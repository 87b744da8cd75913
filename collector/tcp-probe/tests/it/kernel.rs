// SPDX-License-Identifier: Apache-2.0
//! Reads the real tracepoints of the running kernel while real TCP connections run over loopback.
//! Needs root (or CAP_PERFMON) and a mounted tracefs; otherwise fails and says what to do.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use tcp_probe::perf::{Clock, Filter, Missing, Options, PerfReader};
use tcp_probe::{Event, Sample};

fn open(options: &Options) -> PerfReader {
    PerfReader::open(options)
        .unwrap_or_else(|error| panic!("this test reads the kernel's tracepoints: {error}"))
}

/// Sends `bytes` from client to server over `listener`; returns both ends.
fn transfer(listener: &TcpListener, bytes: usize) -> (SocketAddr, SocketAddr) {
    let server = listener.local_addr().unwrap();
    let mut client = TcpStream::connect(server).unwrap();
    let local = client.local_addr().unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    let sender = std::thread::spawn(move || {
        client.write_all(&vec![0x5a; bytes]).unwrap();
        client
    });
    let mut left = bytes;
    let mut buffer = vec![0; 65_536];
    while left > 0 {
        let got = accepted.read(&mut buffer).unwrap();
        assert!(got > 0);
        left -= got;
    }
    // A byte back: its arrival gives a sample in which all data has been sent,
    // while acknowledgements that arrive after the close would give none.
    let mut client = sender.join().unwrap();
    accepted.write_all(&[1]).unwrap();
    client.read_exact(&mut buffer[..1]).unwrap();
    (local, server)
}

/// Only a failure waits this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Drains until `enough` holds.
fn drain_until(reader: &mut PerfReader, mut enough: impl FnMut(&[Event]) -> bool) -> Vec<Event> {
    let mut events = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    loop {
        reader.drain(|event| events.push(event));
        if enough(&events) {
            return events;
        }
        assert!(
            Instant::now() < deadline,
            "only {} events in {PATIENCE:?}, {:?}: {events:#?}",
            events.len(),
            reader.counts()
        );
        reader.poll(Duration::from_millis(20)).unwrap();
    }
}

fn samples_of(events: &[Event], local: SocketAddr) -> Vec<Sample> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Probe(sample) => Some(*sample),
            _ => None,
        })
        .filter(|s| (s.flow.src, s.flow.src_port) == (local.ip(), local.port()))
        .collect()
}

fn filtered_to(port: u16) -> Options {
    Options {
        filter: Filter {
            ports: vec![port],
            addresses: vec![],
        },
        ..Options::default()
    }
}

fn follows_a_transfer(address: &str) {
    const BYTES: usize = 300_000;
    let listener = TcpListener::bind((address.parse::<IpAddr>().unwrap(), 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut reader = open(&filtered_to(port));
    let before = Clock::MonoRaw.now_ns();
    let (client, server) = transfer(&listener, BYTES);
    let events = drain_until(&mut reader, |events| {
        let samples = samples_of(events, client);
        match (samples.first(), samples.last()) {
            (Some(first), Some(last)) => last.snd_nxt.wrapping_sub(first.snd_una) as usize >= BYTES,
            _ => false,
        }
    });
    let after = Clock::MonoRaw.now_ns();
    assert!(
        events.is_sorted_by_key(Event::time_ns),
        "events of several CPUs are out of order"
    );
    let sent = samples_of(&events, client);
    for sample in &sent {
        assert_eq!(sample.flow.dst, server.ip());
        assert_eq!(sample.flow.dst_port, server.port());
        assert_eq!(sample.flow.protocol, 6);
        assert!(
            (before..=after).contains(&sample.time_ns),
            "clock is not CLOCK_MONOTONIC_RAW"
        );
        assert!(sample.snd_nxt.wrapping_sub(sample.snd_una) as usize <= BYTES + 2);
        assert!((1..100_000).contains(&sample.snd_cwnd));
        assert_ne!(sample.sock_cookie, 0);
    }
    assert!(sent.iter().any(|s| s.srtt_us > 0 && s.srtt_us < 10_000_000));
    // The other end receives the data: its samples carry their length.
    let received: usize = samples_of(&events, server)
        .iter()
        .map(|sample| usize::from(sample.data_len))
        .sum();
    assert!(received > 0, "no data seen arriving at the server's socket");
    // Nothing but this connection passed the filter.
    for event in &events {
        let ports = (event.flow().src_port, event.flow().dst_port);
        assert!(
            ports.0 == port || ports.1 == port,
            "{ports:?} passed the filter"
        );
    }
    // Every new connection sets its congestion state.
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::CongState(e) if e.flow.dst == server.ip()))
    );
    assert_eq!(reader.counts().lost, 0);
    assert_eq!(reader.counts().malformed, 0);
}

#[test]
fn follows_a_transfer_over_ipv4() {
    follows_a_transfer("127.0.0.1");
}

#[test]
fn follows_a_transfer_over_ipv6() {
    follows_a_transfer("::1");
}

/// As on Linux 5.10 to 5.18: the other tracepoints of this kernel, without congestion states.
#[test]
fn a_kernel_without_congestion_states_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    for event in ["tcp_probe", "tcp_retransmit_skb"] {
        let there = format!("/sys/kernel/tracing/events/tcp/{event}/format");
        let format = std::fs::read(&there)
            .unwrap_or_else(|error| panic!("this test reads {there} as root: {error}"));
        let copy = dir.path().join("events/tcp").join(event);
        std::fs::create_dir_all(&copy).unwrap();
        std::fs::write(copy.join("format"), format).unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut reader = open(&Options {
        tracefs: Some(dir.path().to_path_buf()),
        ..filtered_to(listener.local_addr().unwrap().port())
    });
    assert_eq!(reader.missing(), [Missing::CongStates]);
    let (client, _) = transfer(&listener, 100_000);
    let events = drain_until(&mut reader, |e| !samples_of(e, client).is_empty());
    assert!(!events.iter().any(|e| matches!(e, Event::CongState(_))));
}

#[test]
fn address_filter_leaves_others_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut options = filtered_to(port);
    options.filter.addresses = vec!["192.0.2.0/24".parse().unwrap()];
    let mut reader = open(&options);
    transfer(&listener, 50_000);
    let deadline = Instant::now() + Duration::from_secs(10);
    while reader.counts().filtered < 5 {
        assert!(Instant::now() < deadline, "nothing was filtered");
        assert_eq!(
            reader.drain(|event| panic!("passed the filter: {event:?}")),
            0
        );
        reader.poll(Duration::from_millis(20)).unwrap();
    }
}

/// Keeps every CPU from being idle: a thread on each, at the lowest priority.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn start() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().unwrap().get();
        let all_run = Arc::new(Barrier::new(cpus + 1));
        for cpu in 0..cpus {
            let (ends, all_run) = (ends.clone(), all_run.clone());
            std::thread::spawn(move || {
                keep_busy_on(cpu);
                all_run.wait();
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        all_run.wait();
        Self(ends)
    }
}

fn keep_busy_on(cpu: usize) {
    // SAFETY: a set of CPUs may be all zero, and is given with its size; 0 is this thread.
    unsafe {
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut cpus);
        // If this CPU is not allowed, the thread is busy on another one.
        libc::sched_setaffinity(0, size_of_val(&cpus), &raw const cpus);
        assert_eq!(libc::setpriority(libc::PRIO_PROCESS, 0, 19), 0);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_retransmission_is_seen() {
    // Some virtual machines record nothing that interrupts an idle CPU
    // (`Counts::unrecorded`), as the timer of a retransmission does.
    let _busy = Busy::start();
    // A filter at the receiver drops every segment: the kernel sends the data again.
    let drops_all = socket2::SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, 0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let mut reader = open(&filtered_to(server.port()));
    let mut client = TcpStream::connect(server).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    socket2::SockRef::from(&accepted)
        .attach_filter(&[drops_all])
        .unwrap();
    client.write_all(&[0x5a; 1_000]).unwrap();
    let is_retransmission = |event: &Event| {
        matches!(event, Event::Retransmit(again)
            if again.flow.dst == server.ip() && again.flow.dst_port == server.port())
    };
    drain_until(&mut reader, |events| events.iter().any(is_retransmission));
}

#[test]
fn a_ring_that_overflows_counts_what_it_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut options = filtered_to(port);
    options.ring_bytes = 4096;
    options.wakeup_bytes = 1024;
    let mut reader = open(&options);
    // Many small exchanges fill one page (about 25 samples) many times over;
    // the notice of the loss needs a later record with room, hence the repeats.
    let deadline = Instant::now() + Duration::from_secs(20);
    while reader.counts().lost == 0 {
        assert!(
            Instant::now() < deadline,
            "nothing was lost in a ring of one page"
        );
        for _ in 0..20 {
            transfer(&listener, 100_000);
        }
        reader.drain(|_| {});
    }
    assert_eq!(reader.counts().malformed, 0);
}

/// Records left in the rings come out at the end, and losses that no record shows yet, because none
/// has found room since, are counted: no event is missing (if no CPU is idle, see
/// `Counts::unrecorded`).
#[test]
fn the_end_gives_all_that_is_left() {
    let _busy = Busy::start();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut reader = open(&filtered_to(port));
    let (client, _) = transfer(&listener, 200_000);
    let mut events = Vec::new();
    reader.finish(|event| events.push(event));
    assert!(!samples_of(&events, client).is_empty());
    assert_eq!(reader.counts().unrecorded, 0);
    // Stopped: nothing more comes.
    transfer(&listener, 200_000);
    assert_eq!(reader.finish(|_| {}), 0);

    let mut small = open(&Options {
        ring_bytes: 4096,
        wakeup_bytes: 1024,
        ..filtered_to(port)
    });
    for _ in 0..20 {
        transfer(&listener, 500_000);
    }
    small.finish(|_| {});
    assert!(small.counts().lost > 0, "{:?}", small.counts());
    assert_eq!(small.counts().unrecorded, 0);
    assert_eq!(small.counts().malformed, 0);
}

#[test]
fn every_clock_is_the_one_it_says() {
    for clock in [
        Clock::MonoRaw,
        Clock::Mono,
        Clock::Tai,
        Clock::Boot,
        Clock::Real,
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut options = filtered_to(listener.local_addr().unwrap().port());
        options.clock = clock;
        let mut reader = open(&options);
        let before = clock.now_ns();
        transfer(&listener, 50_000);
        let events = drain_until(&mut reader, |events| events.len() >= 4);
        let after = clock.now_ns();
        for event in events {
            assert!(
                (before - 1_000_000..=after + 1_000_000).contains(&event.time_ns()),
                "{clock}: {event:?}"
            );
        }
    }
}

/// Number of perf events of this process, as the kernel lists its descriptors.
fn perf_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.to_string_lossy().contains("perf_event"))
        .count()
}

#[test]
fn nothing_is_left_when_the_reader_is_dropped() {
    // In a process of its own: the other tests hold perf events too.
    const CHILD: &str = "TCP_PROBE_DROP_TEST";
    if std::env::var_os(CHILD).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "kernel::nothing_is_left_when_the_reader_is_dropped",
                "--nocapture",
            ])
            .env(CHILD, "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let mapped = || {
        std::fs::read_to_string("/proc/self/maps")
            .unwrap()
            .matches("perf_event")
            .count()
    };
    let reader = open(&Options::default());
    let cpus = reader.fds().count();
    assert!(cpus > 0);
    // Three tracepoints, on every CPU.
    assert_eq!(perf_descriptors(), cpus * 3);
    assert_eq!(mapped(), cpus);
    drop(reader);
    assert_eq!(perf_descriptors(), 0);
    assert_eq!(mapped(), 0);
}
