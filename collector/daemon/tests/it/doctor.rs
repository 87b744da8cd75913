// SPDX-License-Identifier: Apache-2.0
//! `tidemark-collector doctor`, the program itself, on real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use int_report::encode::{encode, postcard};
use serde_json::Value;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn configuration(directory: &Path, reports: u16, node: &str) -> std::path::PathBuf {
    let path = directory.join("collector.toml");
    let (grpc, http) = (free_port(), free_port());
    let text = format!(
        "listen = [\"127.0.0.1:{reports}\"]\n[grpc]\nlisten = \"127.0.0.1:{grpc}\"\n\
         [http]\nlisten = \"127.0.0.1:{http}\"\n[capture]\ndir = \"{}\"\n{node}",
        directory.join("capture").display()
    );
    std::fs::write(&path, text).unwrap();
    path
}

/// Returns the exit code and the findings (check, verdict, and the finding itself).
fn doctor(config: &Path) -> (i32, Vec<(String, String, Value)>) {
    let out = Command::new(env!("CARGO_BIN_EXE_tidemark-collector"))
        .args(["doctor", "--json", "--seconds", "2", "--config"])
        .arg(config)
        .output()
        .unwrap();
    let found: Vec<Value> = serde_json::from_slice(&out.stdout).unwrap();
    let found = found.into_iter().map(|f| {
        let text = |key: &str| f[key].as_str().unwrap().to_owned();
        (text("check"), text("verdict"), f)
    });
    (out.status.code().unwrap(), found.collect())
}

fn verdict<'a>(found: &'a [(String, String, Value)], check: &str) -> &'a str {
    let of_it = found.iter().find(|f| f.0.starts_with(check));
    &of_it.unwrap_or_else(|| panic!("{check} in {found:?}")).1
}

/// Sends a report every 10 ms until the flag is set.
fn sender(to: u16, node: u32, end: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let inner = [0x45; 40];
        for sequence in 0.. {
            if end.load(Ordering::Relaxed) {
                break;
            }
            let payload = encode(&[postcard(node, sequence, (2, 1), &inner)]).unwrap();
            // Nobody listens before the doctor does.
            let _ = socket.send_to(&payload, ("127.0.0.1", to));
            std::thread::sleep(Duration::from_millis(10));
        }
    })
}

fn while_sending(port: u16, node: u32, f: impl FnOnce()) {
    let end = Arc::new(AtomicBool::new(false));
    let thread = sender(port, node, end.clone());
    f();
    end.store(true, Ordering::Relaxed);
    thread.join().unwrap();
}

const NODE: &str = "[nodes.10]\nexporters = [\"127.0.0.1\"]\n";

#[test]
fn all_is_well_where_configured_nodes_send() {
    let directory = tempfile::tempdir().unwrap();
    let port = free_port();
    let config = configuration(directory.path(), port, NODE);
    while_sending(port, 10, || {
        let (code, found) = doctor(&config);
        assert_eq!(code, 0, "{found:?}");
        for check in [
            "kernel",
            "configuration",
            "capture.dir",
            "listen",
            "node 10",
        ] {
            assert_eq!(verdict(&found, check), "ok", "{found:?}");
        }
    });
    assert!(
        !directory.path().join("capture").exists(),
        "it leaves nothing behind"
    );
}

#[test]
fn what_is_wrong_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let config = configuration(directory.path(), taken.local_addr().unwrap().port(), NODE);
    let (code, found) = doctor(&config);
    assert_eq!(
        (code, verdict(&found, "listen")),
        (1, "problem"),
        "{found:?}"
    );

    let port = free_port();
    let config = configuration(directory.path(), port, NODE);
    let (code, found) = doctor(&config);
    assert_eq!(
        (code, verdict(&found, "reports")),
        (1, "problem"),
        "{found:?}"
    );

    while_sending(port, 11, || {
        let (code, found) = doctor(&config);
        assert_eq!(
            (code, verdict(&found, "node 11")),
            (1, "problem"),
            "{found:?}"
        );
        assert_eq!(verdict(&found, "node 10"), "warning", "{found:?}");
    });

    std::fs::write(&config, "lisen = []\n").unwrap();
    let (code, found) = doctor(&config);
    assert_eq!(
        (code, verdict(&found, "configuration")),
        (1, "problem"),
        "{found:?}"
    );
}
