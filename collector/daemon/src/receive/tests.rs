// SPDX-License-Identifier: Apache-2.0
//! Real sockets over loopback.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Mutex;

use super::*;

const LISTEN: [SocketAddr; 1] = [SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)];

fn options(shards: usize) -> ReceiveConfig {
    ReceiveConfig {
        shards,
        buffer_bytes: 4 << 20,
        ..ReceiveConfig::default()
    }
}

const PATHS: [ReceivePath; 2] = [ReceivePath::Socket, ReceivePath::Ring];

/// Binds a receiver with the given path; a ring needs root (CAP_NET_RAW).
fn bind(listen: &str, path: ReceivePath, shards: usize) -> ReportReceiver {
    let options = ReceiveConfig {
        path,
        ..options(shards)
    };
    let receiver = ReportReceiver::bind(&[listen.parse().unwrap()], &options).unwrap();
    let paths = &receiver.counters().paths;
    assert_eq!(paths[0].path, path, "{paths:?}; this test needs root");
    receiver
}

/// Datagrams that all threads saw: shard, exporter, source port, payload.
type Seen = Arc<Mutex<Vec<(usize, IpAddr, u16, Vec<u8>)>>>;

fn start(receiver: ReportReceiver) -> (Running, Seen) {
    let seen = Seen::default();
    let running = receiver
        .start(|shard| {
            let seen = Arc::clone(&seen);
            move |batch: &Received<'_>| {
                let mut seen = seen.lock().unwrap();
                for message in batch.messages {
                    for payload in message.datagrams() {
                        seen.push((
                            shard,
                            message.exporter,
                            message.source_port,
                            payload.to_vec(),
                        ));
                    }
                }
            }
        })
        .unwrap();
    (running, seen)
}

fn wait_for(count: usize, seen: &Seen) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while seen.lock().unwrap().len() < count {
        assert!(
            Instant::now() < deadline,
            "only {} of {count}",
            seen.lock().unwrap().len()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends `payload` cut into datagrams of `segment` bytes by the kernel.
fn send_segmented(socket: &UdpSocket, payload: &[u8], segment: usize) {
    let value = segment as libc::c_int;
    // SAFETY: the option is read from a `c_int` that outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            libc::UDP_SEGMENT,
            (&raw const value).cast(),
            4,
        )
    };
    assert_eq!(result, 0, "UDP_SEGMENT: {}", io::Error::last_os_error());
    assert_eq!(socket.send(payload).unwrap(), payload.len());
}

fn datagram(n: u32) -> Vec<u8> {
    let mut payload = vec![0x20; 92];
    payload[88..].copy_from_slice(&n.to_be_bytes());
    payload
}

#[test]
fn single_datagrams_arrive_in_order() {
    PATHS
        .into_iter()
        .for_each(single_datagrams_arrive_in_order_by);
}

fn single_datagrams_arrive_in_order_by(path: ReceivePath) {
    let receiver = bind("127.0.0.1:0", path, 1);
    let counters = receiver.counters();
    let address = receiver.addresses()[0];
    let (running, seen) = start(receiver);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(address).unwrap();
    for n in 0..500 {
        socket.send(&datagram(n)).unwrap();
    }
    socket.send(&[]).unwrap();
    wait_for(501, &seen);
    running.stop();
    let seen = seen.lock().unwrap();
    let from = socket.local_addr().unwrap();
    for (n, (shard, exporter, port, payload)) in seen.iter().enumerate() {
        assert_eq!((*shard, *exporter, *port), (0, from.ip(), from.port()));
        if n < 500 {
            assert_eq!(*payload, datagram(n as u32));
        } else {
            assert!(payload.is_empty());
        }
    }
    let totals = counters.totals();
    assert_eq!((totals.datagrams, totals.bytes), (501, 500 * 92));
    assert_eq!((totals.kernel_drops, totals.errors), (0, 0));
}

#[test]
fn coalesced_datagrams_are_cut_apart_and_counted() {
    PATHS
        .into_iter()
        .for_each(coalesced_datagrams_are_cut_apart_and_counted_by);
}

fn coalesced_datagrams_are_cut_apart_and_counted_by(path: ReceivePath) {
    let receiver = bind("127.0.0.1:0", path, 1);
    let counters = receiver.counters();
    let address = receiver.addresses()[0];
    let (running, seen) = start(receiver);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(address).unwrap();
    // 50 datagrams of 92 bytes and a shorter last one, then a single one.
    let mut all: Vec<u8> = (0..50).flat_map(datagram).collect();
    all.extend([7; 40]);
    send_segmented(&socket, &all, 92);
    send_segmented(&socket, &datagram(50), 92);
    wait_for(52, &seen);
    running.stop();
    let payloads: Vec<Vec<u8>> = seen.lock().unwrap().iter().map(|s| s.3.clone()).collect();
    let mut expected: Vec<Vec<u8>> = (0..50).map(datagram).collect();
    expected.push(vec![7; 40]);
    expected.push(datagram(50));
    assert_eq!(payloads, expected);
    let totals = counters.totals();
    assert_eq!(totals.datagrams, 52);
    assert_eq!(
        totals.messages, 2,
        "the kernel did not hand over coalesced datagrams"
    );
}

#[test]
fn without_gro_the_kernel_cuts_and_nothing_changes() {
    let receiver = ReportReceiver::bind(
        &LISTEN,
        &ReceiveConfig {
            gro: false,
            ..options(1)
        },
    )
    .unwrap();
    let counters = receiver.counters();
    let address = receiver.addresses()[0];
    let (running, seen) = start(receiver);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(address).unwrap();
    let all: Vec<u8> = (0..30).flat_map(datagram).collect();
    send_segmented(&socket, &all, 92);
    wait_for(30, &seen);
    running.stop();
    let payloads: Vec<Vec<u8>> = seen.lock().unwrap().iter().map(|s| s.3.clone()).collect();
    assert_eq!(payloads, (0..30).map(datagram).collect::<Vec<_>>());
    assert_eq!(counters.totals().messages, 30);
}

fn spreads_by_source_port(listen: &str, sender: &str, path: ReceivePath) {
    const SHARDS: usize = 3;
    let receiver = bind(listen, path, SHARDS);
    let address = receiver.addresses()[0];
    assert!(receiver.addresses().iter().all(|a| *a == address));
    let (running, seen) = start(receiver);
    let sockets: Vec<UdpSocket> = (0..12)
        .map(|_| UdpSocket::bind((sender, 0)).unwrap())
        .collect();
    for n in 0..20 {
        for socket in &sockets {
            socket.send_to(&datagram(n), address).unwrap();
        }
    }
    wait_for(12 * 20, &seen);
    running.stop();
    let mut next: HashMap<u16, u32> = HashMap::new();
    for (shard, exporter, port, payload) in seen.lock().unwrap().iter() {
        assert_eq!(*shard, usize::from(*port) % SHARDS, "port {port}");
        assert_eq!(exporter.to_string(), sender);
        let n = next.entry(*port).or_default();
        assert_eq!(payload, &datagram(*n), "port {port} out of order");
        *n += 1;
    }
    assert_eq!(next.len(), 12);
}

#[test]
fn shards_by_source_port_over_ipv4() {
    PATHS
        .into_iter()
        .for_each(|path| spreads_by_source_port("127.0.0.1:0", "127.0.0.1", path));
}

#[test]
fn shards_by_source_port_over_ipv6() {
    PATHS
        .into_iter()
        .for_each(|path| spreads_by_source_port("[::1]:0", "::1", path));
}

#[test]
fn what_the_kernel_dropped_is_counted() {
    let receiver = ReportReceiver::bind(
        &LISTEN,
        &ReceiveConfig {
            buffer_bytes: 4096,
            ..options(1)
        },
    )
    .unwrap();
    let counters = receiver.counters();
    let address = receiver.addresses()[0];
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Nobody reads yet: the small buffer overflows.
    for n in 0..1_000 {
        socket.send_to(&datagram(n), address).unwrap();
    }
    let (running, seen) = start(receiver);
    wait_for(1, &seen);
    running.stop();
    let totals = counters.totals();
    assert!(totals.kernel_drops > 0);
    assert_eq!(totals.datagrams + totals.kernel_drops, 1_000);
    assert_eq!(seen.lock().unwrap().len() as u64, totals.datagrams);
}

#[test]
fn stopping_delivers_what_has_arrived() {
    PATHS
        .into_iter()
        .for_each(stopping_delivers_what_has_arrived_by);
}

fn stopping_delivers_what_has_arrived_by(path: ReceivePath) {
    let receiver = bind("127.0.0.1:0", path, 1);
    let address = receiver.addresses()[0];
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for n in 0..300 {
        socket.send_to(&datagram(n), address).unwrap();
    }
    let (running, seen) = start(receiver);
    running.stop();
    assert_eq!(seen.lock().unwrap().len(), 300);
    // The port is free again.
    UdpSocket::bind(address).unwrap();
}

#[test]
fn a_taken_port_is_an_error_also_for_several_shards() {
    for shards in [1, 2] {
        let first = ReportReceiver::bind(&LISTEN, &options(shards)).unwrap();
        let error = ReportReceiver::bind(&first.addresses()[..1], &options(2)).unwrap_err();
        assert!(matches!(error, BindError::InUse { .. }), "{error}");
        assert!(
            error.to_string().contains("in use by another process"),
            "{error}"
        );
    }
}

#[test]
fn bad_options_are_errors() {
    let error = ReportReceiver::bind(
        &LISTEN,
        &ReceiveConfig {
            shards: 0,
            ..options(1)
        },
    )
    .unwrap_err();
    assert!(matches!(error, BindError::NoShards));
    let error = ReportReceiver::bind(&[], &options(1)).unwrap_err();
    assert!(matches!(error, BindError::NoAddress));
    let elsewhere = "192.0.2.1:0".parse().unwrap();
    let error = ReportReceiver::bind(&[elsewhere], &options(1)).unwrap_err();
    assert!(matches!(error, BindError::NotLocal { .. }), "{error}");
}

/// Runs `f` in a new network namespace.
fn in_namespace(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("this test needs root");
        f();
    });
    thread.join().unwrap();
}

fn ip(arguments: &str) {
    let arguments = arguments.split(' ');
    let status = std::process::Command::new("ip").args(arguments).status();
    assert!(status.unwrap().success());
}

#[test]
fn what_comes_in_pieces_comes_once_by_either_way() {
    in_namespace(|| {
        ip("link set lo mtu 1500 up");
        for path in PATHS {
            let receiver = bind("127.0.0.1:0", path, 1);
            let (counters, address) = (receiver.counters(), receiver.addresses()[0]);
            let (running, seen) = start(receiver);
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(address).unwrap();
            let lengths = [1472, 1473, 100, 4000, 60_000, 92];
            for (n, length) in (0u8..).zip(lengths) {
                socket.send(&vec![n; length]).unwrap();
            }
            let all: Vec<u8> = (0..30).flat_map(datagram).collect();
            send_segmented(&socket, &all, 92);
            wait_for(lengths.len() + 30, &seen);
            running.stop();
            let mut got: Vec<usize> = seen.lock().unwrap().iter().map(|s| s.3.len()).collect();
            got.sort_unstable();
            let mut sent = [&lengths[..], &[92; 30]].concat();
            sent.sort_unstable();
            assert_eq!(got, sent, "{path:?}");
            let totals = counters.totals();
            assert_eq!((totals.datagrams, totals.kernel_drops), (36, 0), "{path:?}");
        }
    });
}

/// Sends a datagram with a wrong checksum, as if the network had damaged it.
fn send_damaged(to: SocketAddr, payload: &[u8]) {
    let (SocketAddr::V4(to), length) = (to, 8 + payload.len() as u16) else {
        panic!("of IPv4");
    };
    let raw = socket2::Type::from(libc::SOCK_RAW);
    let socket = socket2::Socket::new(socket2::Domain::IPV4, raw, Some(socket2::Protocol::UDP));
    let mut datagram = vec![0x80, 0x01];
    datagram.extend(to.port().to_be_bytes());
    datagram.extend(length.to_be_bytes());
    datagram.extend([0xba, 0xd1]);
    datagram.extend(payload);
    socket
        .expect("this test needs root")
        .send_to(&datagram, &to.into())
        .unwrap();
}

#[test]
fn what_is_damaged_is_counted_and_not_taken() {
    for path in PATHS {
        let receiver = bind("127.0.0.1:0", path, 1);
        let (counters, address) = (receiver.counters(), receiver.addresses()[0]);
        let (running, seen) = start(receiver);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for n in 0..10 {
            send_damaged(address, &datagram(n));
            socket.send_to(&datagram(n), address).unwrap();
        }
        wait_for(10, &seen);
        running.stop();
        let totals = counters.totals();
        assert_eq!(
            (totals.datagrams, totals.kernel_drops),
            (10, 10),
            "{path:?}"
        );
    }
}

/// Nothing is read until the ring is full.
#[test]
fn what_a_ring_has_no_room_for_is_counted() {
    let receiver = bind("127.0.0.1:0", ReceivePath::Ring, 1);
    let (counters, address) = (receiver.counters(), receiver.addresses()[0]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sent = 2000;
    for _ in 0..sent {
        socket.send_to(&[7; 8000], address).unwrap();
    }
    let (running, _) = start(receiver);
    running.stop();
    let totals = counters.totals();
    assert!(
        totals.kernel_drops > 0 && totals.datagrams > 100,
        "{totals:?}"
    );
    assert_eq!(totals.datagrams + totals.kernel_drops, sent);
}

/// Packets to another address or port, or of another protocol, are not the ring's.
#[test]
fn a_ring_takes_what_its_address_is_sent_and_a_wildcard_has_none() {
    let receiver = bind("127.0.0.1:0", ReceivePath::Ring, 1);
    let (counters, address) = (receiver.counters(), receiver.addresses()[0]);
    let (running, seen) = start(receiver);
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let other_port = UdpSocket::bind("127.0.0.1:0").unwrap();
    let other_address = UdpSocket::bind(("127.0.0.2", address.port())).unwrap();
    for to in [&other_port, &other_address] {
        socket
            .send_to(b"not yours", to.local_addr().unwrap())
            .unwrap();
    }
    let _ = std::net::TcpStream::connect(address);
    socket.send_to(b"yours", address).unwrap();
    wait_for(1, &seen);
    running.stop();
    assert_eq!(seen.lock().unwrap()[0].3, b"yours");
    assert_eq!(counters.totals().datagrams, 1);

    let options = ReceiveConfig {
        path: ReceivePath::Ring,
        ..options(1)
    };
    let any = ReportReceiver::bind(&["0.0.0.0:0".parse().unwrap()], &options).unwrap();
    let path = &any.counters().paths[0];
    assert_eq!(path.path, ReceivePath::Socket);
    assert!(path.no_ring.as_ref().unwrap().contains("no single address"));
    let (running, seen) = start(any);
    socket.send_to(b"by the socket", path.address).unwrap();
    wait_for(1, &seen);
    running.stop();
}
