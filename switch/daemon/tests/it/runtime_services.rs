// SPDX-License-Identifier: Apache-2.0
//! BMv2's runtime services and P4Runtime on one device.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bmv2_front::{Session, Started, built, start_as};
use crate::veth::{Host, add_veth, in_namespace};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;

/// A struct in Thrift's binary form, field after field.
#[derive(Default)]
struct Struct(Vec<u8>);

impl Struct {
    fn field(mut self, kind: u8, id: i16, bytes: &[u8]) -> Self {
        self.0.push(kind);
        self.0.extend(id.to_be_bytes());
        self.0.extend(bytes);
        self
    }

    fn i32(self, id: i16, v: i32) -> Self {
        self.field(8, id, &v.to_be_bytes())
    }

    fn text(self, id: i16, v: &[u8]) -> Self {
        self.field(11, id, &blob(v))
    }

    fn list(self, id: i16, kind: u8, items: &[Vec<u8>]) -> Self {
        let mut bytes = vec![kind];
        bytes.extend((items.len() as i32).to_be_bytes());
        bytes.extend(items.concat());
        self.field(15, id, &bytes)
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(0);
        self.0
    }
}

fn blob(v: &[u8]) -> Vec<u8> {
    [&(v.len() as i32).to_be_bytes()[..], v].concat()
}

struct Client(TcpStream);

impl Client {
    fn new(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        Self(stream)
    }

    /// Returns the answer's struct, and whether it is one of the protocol's own errors.
    fn call(&mut self, name: &str, args: Struct) -> (bool, Vec<u8>) {
        let mut message = vec![0x80, 1, 0, 1];
        message.extend(blob(name.as_bytes()));
        message.extend(9i32.to_be_bytes());
        message.extend(args.end());
        self.0.write_all(&message).unwrap();
        let mut head = [0; 8];
        self.0.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes(head[4..].try_into().unwrap()) as usize;
        let mut rest = vec![0; length + 4];
        self.0.read_exact(&mut rest).unwrap();
        assert_eq!(
            rest[..length],
            *name.split(':').next_back().unwrap().as_bytes()
        );
        let mut answer = vec![0; 4096];
        let n = self.0.read(&mut answer).unwrap();
        answer.truncate(n);
        (head[3] == 3, answer)
    }
}

fn forward(mac: u8, port: u8) -> Struct {
    let exact = Struct::default().text(1, &crate::common::mac(mac)).end();
    let param = Struct::default().i32(1, 0).field(12, 2, &exact).end();
    Struct::default()
        .i32(1, 0)
        .text(2, b"Ingress.l2_forward")
        .list(3, 12, &[param])
        .text(4, b"Ingress.forward")
        .list(5, 11, &[blob(&[0, port])])
        .field(12, 6, &[0])
}

/// An exception: field 1, a struct with the code in its field 1.
fn exception(code: i32) -> Vec<u8> {
    let inner = Struct::default().i32(1, code).end();
    Struct::default().field(12, 1, &inner).end()
}

fn program() -> PathBuf {
    built("tidemark.json")
}

fn started(dir: &Path, more: &[&str]) -> Started {
    let program = program();
    let mut flags = vec![
        program.to_str().unwrap(),
        "--thrift-port",
        "0",
        "--device-id",
        "1",
    ];
    flags.extend(more);
    flags.extend(["--", "--grpc-server-addr", "127.0.0.1:0"]);
    start_as("simple_switch_grpc", dir, &flags)
}

#[tokio::test]
async fn entries_of_both_are_the_same_entries() {
    let dir = tempfile::tempdir().unwrap();
    let s = started(dir.path(), &[]);
    let mut thrift = Client::new(s.thrift_port());
    let mut session = Session::open(&s.address).await;
    let config = p4::Entity {
        entity: Some(Entity::TableEntry(p4::TableEntry::default())),
    };
    // As in BMv2, clients cannot use the program given at the start.
    let refused = session.read(config.clone()).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
    let added = thrift.call("standard:bm_mt_add_entry", forward(1, 1));
    assert_eq!(added, (false, Struct::default().i32(0, 0).end()));

    session
        .push(&program(), &built("tidemark.p4info.txtpb"))
        .await;
    let none = session.read(config.clone()).await.unwrap();
    assert!(none.is_empty(), "{none:?}");
    for (mac, handle) in [(7, 0), (8, 1)] {
        let added = thrift.call("standard:bm_mt_add_entry", forward(mac, 2));
        assert_eq!(added, (false, Struct::default().i32(0, handle).end()));
    }
    let again = thrift.call("standard:bm_mt_add_entry", forward(8, 3));
    assert_eq!(again, (false, exception(17)));
    let read = session.read(config.clone()).await.unwrap();
    assert_eq!(read.len(), 2);

    // A P4Runtime client removes the first entry, and its place is used again.
    session.delete(read[0].clone()).await.unwrap();
    let table = || Struct::default().i32(1, 0).text(2, b"Ingress.l2_forward");
    let gone = thrift.call("standard:bm_mt_delete_entry", table().i32(3, 0));
    assert_eq!(gone, (false, exception(2)));
    let added = thrift.call("standard:bm_mt_add_entry", forward(9, 2));
    assert_eq!(added, (false, Struct::default().i32(0, 1 << 24).end()));
    let expired = thrift.call("standard:bm_mt_delete_entry", table().i32(3, 0));
    assert_eq!(expired, (false, exception(3)));
    let cleared = thrift.call("standard:bm_mt_clear_entries", table());
    assert_eq!(cleared, (false, vec![0]));
    assert!(session.read(config).await.unwrap().is_empty());
}

#[test]
fn what_is_no_call_ends_a_connection_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let s = started(dir.path(), &[]);
    let mut client = Client::new(s.thrift_port());
    for unknown in [
        "standard:bm_nothing",
        "nothing:bm_get_config",
        "bm_get_config",
    ] {
        let (is_error, answer) = client.call(unknown, Struct::default());
        assert!(is_error, "{unknown}: {answer:?}");
    }
    // Arguments of other types count as missing.
    let odd = Struct::default().text(1, b"x").i32(2, 5).text(3, b"y");
    let answer = client.call("standard:bm_mt_get_num_entries", odd);
    assert_eq!(answer, (false, exception(7)));
    let mut seed = 1u32;
    for length in 0..200 {
        let mut garbage: Vec<u8> = if length % 2 == 0 {
            vec![0x80, 1, 0, 1]
        } else {
            vec![]
        };
        for _ in 0..length {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            garbage.push((seed >> 24) as u8);
        }
        let mut stream = TcpStream::connect(("127.0.0.1", s.thrift_port())).unwrap();
        // The other end may have closed it already.
        let _ = stream.write_all(&garbage);
    }
    let answer = client.call("standard:bm_mt_add_entry", forward(1, 1));
    assert_eq!(answer, (false, Struct::default().i32(0, 0).end()));
}

#[test]
fn queues_by_packets_per_second_and_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let s = started(dir.path(), &["--priority-queues", "4"]);
    let mut client = Client::new(s.thrift_port());
    let zero = Struct::default().i32(0, 0).end();
    for (method, args) in [
        (
            "set_egress_queue_depth",
            Struct::default().i32(1, 2).i32(2, 9),
        ),
        ("set_all_egress_queue_depths", Struct::default().i32(1, 9)),
        (
            "set_egress_priority_queue_depth",
            Struct::default().i32(1, 2).i32(2, 3).i32(3, 9),
        ),
        (
            "set_egress_priority_queue_depth",
            Struct::default().i32(1, 2).i32(2, 99).i32(3, 9),
        ),
        (
            "set_egress_queue_rate",
            Struct::default()
                .i32(1, -1)
                .field(10, 2, &1000i64.to_be_bytes()),
        ),
    ] {
        let answer = client.call(&format!("simple_switch:{method}"), args);
        assert_eq!(answer, (false, zero.clone()), "{method}");
    }
}

/// Returns the frames of a capture.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let mut file = tidemark_pcap::Frames::open(path).unwrap();
    let mut out = Vec::new();
    while let Some(f) = file.next_frame().unwrap() {
        out.push(f.data.to_vec());
    }
    out
}

/// Needs root.
#[test]
fn ports_come_and_go_and_all_frames_are_copied() {
    in_namespace(|| {
        let mut ip = std::process::Command::new("ip");
        let up = ip.args(["link", "set", "lo", "up"]).status();
        assert!(up.unwrap().success());
        add_veth("s1-eth1", "h1");
        add_veth("s1-eth2", "h2");
        let dir = tempfile::tempdir().unwrap();
        let folder = format!("--pcap={}", dir.path().display());
        let s = started(dir.path(), &["-i", "1@s1-eth1", &folder]);
        let mut client = Client::new(s.thrift_port());
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        let port = |name: &[u8], n| Struct::default().text(1, name).i32(2, n);
        for (name, n) in [(&b"s1-eth2"[..], 1), (b"nothing", 2), (b"s1-eth2", 511)] {
            let refused = client.call("standard:bm_dev_mgr_add_port", port(name, n));
            assert_eq!(refused, (false, exception(1)), "{n}");
        }
        let added = client.call("standard:bm_dev_mgr_add_port", port(b"s1-eth2", 2));
        assert_eq!(added, (false, vec![0]));
        let shown = client
            .call("standard:bm_dev_mgr_show_ports", Struct::default())
            .1;
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(
            shown.contains("s1-eth1") && shown.contains("s1-eth2"),
            "{shown}"
        );
        client.call("standard:bm_mt_add_entry", forward(2, 2));
        let frame = crate::common::tcp(1, 2, 7, 200);
        h1.send(&frame);
        assert_eq!(h2.receive().unwrap(), frame);
        // Already written: the frame was copied before it was sent, in the same pass.
        for file in ["s1-eth1_in.pcap", "s1-eth2_out.pcap"] {
            let deadline = std::time::Instant::now() + Duration::from_secs(5);
            while !frames(&dir.path().join(file)).contains(&frame) {
                assert!(std::time::Instant::now() < deadline, "{file}");
            }
        }
        assert!(frames(&dir.path().join("s1-eth1_out.pcap")).is_empty());
        let gone = Struct::default().i32(1, 2);
        let removed = client.call("standard:bm_dev_mgr_remove_port", gone);
        assert_eq!(removed, (false, vec![0]));
        let gone = Struct::default().i32(1, 2);
        let again = client.call("standard:bm_dev_mgr_remove_port", gone);
        assert_eq!(again, (false, exception(1)));
    });
}
