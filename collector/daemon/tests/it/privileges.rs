// SPDX-License-Identifier: Apache-2.0
//! Started as root, the collector goes on without capabilities, and as another user if one is
//! named. Needs root and the user `nobody`; fails without.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::Collector;
use int_report::encode::{encode, postcard};
use nix::unistd::{Gid, Uid, User, chown};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::MetadataExt as _;

const NODE: &str =
    "[nodes.10]\nexporters = [\"127.0.0.1\"]\n[nodes.10.ports.1]\ncapacity_bps = 100000000\n";

fn needs_root() {
    assert!(
        Uid::effective().is_root(),
        "this test needs root, to give it up"
    );
}

/// Checks that every thread has the ids and no capability.
fn given_up(pid: u32, uid: Uid, gid: Gid) {
    let mut threads = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let field = |name: &str| -> Vec<String> {
            let line = status.lines().find_map(|l| l.strip_prefix(name));
            let words = line.unwrap().split_whitespace();
            words.map(ToOwned::to_owned).collect()
        };
        for set in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
            assert_eq!(field(set), ["0000000000000000"], "{set}\n{status}");
        }
        assert_eq!(field("NoNewPrivs:"), ["1"]);
        assert_eq!(field("Uid:"), vec![uid.to_string(); 4]);
        assert_eq!(field("Gid:"), vec![gid.to_string(); 4]);
        threads += 1;
    }
    assert!(threads > 3, "{threads}");
}

/// Checks that reports are still received and stored.
fn works(c: &Collector) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for sequence in 0..100 {
        let report = postcard(10, sequence, (2, 1), &[0; 40]);
        let datagram = encode(&[report]).unwrap();
        socket
            .send_to(&datagram, (Ipv4Addr::LOCALHOST, c.udp))
            .unwrap();
    }
    c.wait("reports", |s| s["reports"]["received"] == 100);
}

#[test]
fn root_goes_on_without_capabilities() {
    needs_root();
    let dir = tempfile::tempdir().unwrap();
    let c = Collector::start_with(dir.path(), NODE);
    given_up(c.pid(), Uid::from_raw(0), Gid::from_raw(0));
    works(&c);
}

/// A ring opened before stays usable; without CAP_NET_RAW the collector uses UDP sockets.
#[test]
fn a_ring_outlives_the_capability_that_opened_it() {
    needs_root();
    for (prefix, path) in [
        (&[][..], "ring"),
        (&["setpriv", "--bounding-set=-net_raw"], "socket"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let settings = format!("user = \"nobody\"\nreceive = {{ path = \"ring\" }}\n{NODE}");
        let nobody = User::from_name("nobody").unwrap().unwrap();
        chown(dir.path(), Some(nobody.uid), Some(nobody.gid)).unwrap();
        let c = Collector::start_under(prefix, dir.path(), &settings);
        given_up(c.pid(), nobody.uid, nobody.gid);
        works(&c);
        let status = c.status();
        let way = &status["receive"][0];
        assert_eq!(way["path"], path, "{way}");
        let why = way["no_ring"].as_str();
        assert_eq!(
            why.is_some_and(|w| w.contains("CAP_NET_RAW")),
            path == "socket"
        );
        assert_eq!(status["reports"]["kernel_drops"], 0);
    }
}

#[test]
fn the_user_that_is_named_owns_what_is_stored() {
    needs_root();
    let nobody = User::from_name("nobody").unwrap();
    let nobody = nobody.expect("this test needs the user nobody");
    let dir = tempfile::tempdir().unwrap();
    chown(dir.path(), Some(nobody.uid), Some(nobody.gid)).unwrap();
    let c = Collector::start_with(dir.path(), &format!("user = \"nobody\"\n{NODE}"));
    given_up(c.pid(), nobody.uid, nobody.gid);
    works(&c);
    assert_eq!(c.capture.metadata().unwrap().uid(), nobody.uid.as_raw());
}

#[test]
fn a_directory_that_the_user_cannot_write_is_told_with_the_user() {
    needs_root();
    let dir = tempfile::tempdir().unwrap();
    let run = |settings: &str| {
        let config = dir.path().join("collector.toml");
        let free = "listen = [\"127.0.0.1:0\"]\ngrpc = { listen = \"127.0.0.1:0\" }\nhttp = { listen = \"127.0.0.1:0\" }\n";
        std::fs::write(&config, format!("{settings}{free}")).unwrap();
        let out = std::process::Command::new(common::BINARY)
            .args(["run", "--config"])
            .arg(&config)
            .output()
            .unwrap();
        assert!(!out.status.success());
        String::from_utf8_lossy(&out.stderr).into_owned()
    };
    let capture = dir.path().join("capture");
    let said = run(&format!(
        "user = \"nobody\"\ncapture = {{ dir = {capture:?} }}\n"
    ));
    assert!(
        said.contains("as user nobody, without capabilities"),
        "{said}"
    );
    let said = run("user = \"tidemark-nobody-has-this-name\"\n");
    assert!(
        said.contains("no user \"tidemark-nobody-has-this-name\""),
        "{said}"
    );
}
