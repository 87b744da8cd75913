// SPDX-License-Identifier: Apache-2.0
//! Who may call the switch: runs the programs themselves on real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use test_support::certificates::{Authority, Purpose};

const BIN: &str = env!("CARGO_BIN_EXE_tidemark-switch");

struct Running {
    child: Child,
    address: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(flags: &[&str]) -> Running {
    let mut child = Command::new(BIN)
        .args(["run", "--grpc", "127.0.0.1:0"])
        .args(flags)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("ready: "), "{line}");
    // The child's pipe must not fill up.
    std::thread::spawn(move || {
        let mut rest = String::new();
        let _ = lines.read_to_string(&mut rest);
    });
    let mut words = line.split_whitespace();
    let address = words.find(|w| w.starts_with("127.0.0.1:")).unwrap();
    Running {
        child,
        address: address.trim_end_matches(',').to_owned(),
    }
}

fn list(s: &Running, scheme: &str, flags: &[&str]) -> Output {
    Command::new(BIN)
        .args(["port", "list", "--grpc"])
        .arg(format!("{scheme}{}", s.address))
        .args(flags)
        .output()
        .unwrap()
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

fn let_in(out: &Output) {
    assert!(out.status.success(), "{}", said(out));
}

fn refused(out: &Output, words: &[&str]) {
    let said = said(out);
    assert!(!out.status.success(), "was let in");
    assert!(words.iter().all(|w| said.contains(w)), "{words:?}: {said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
}

fn flag(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn mutual_tls_and_tokens_let_in_whom_they_should() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Authority::new(dir.path(), "ca");
    let strange = Authority::new(dir.path(), "strange");
    let server = ca.sign("server", Purpose::Server);
    let own = ca.sign("client", Purpose::Client);
    let (right, wrong) = (dir.path().join("right"), dir.path().join("wrong"));
    test_support::write_private(&right, "a-token-for-tests");
    test_support::write_private(&wrong, "another-token");
    let tls = [
        "--tls-certificate",
        flag(&server.certificate),
        "--tls-key",
        flag(&server.key),
    ];
    let trust = ["--ca", flag(&ca.file)];
    let certificate = [
        "--certificate",
        flag(&own.certificate),
        "--key",
        flag(&own.key),
    ];

    let s = start(&tls);
    let_in(&list(&s, "https://", &trust));
    let_in(&list(&s, "", &trust));
    refused(
        &list(&s, "https://", &["--ca", flag(&strange.file)]),
        &["another authority"],
    );
    refused(&list(&s, "", &[]), &["write https"]);
    refused(&list(&s, "https://", &[]), &["--ca"]);

    let s = start(&[&tls[..], &["--tls-client-ca", flag(&ca.file)]].concat());
    let_in(&list(&s, "", &[&trust[..], &certificate].concat()));
    refused(&list(&s, "", &trust), &["asks for a certificate"]);

    let s = start(&["--token-file", flag(&right)]);
    let_in(&list(&s, "", &["--token-file", flag(&right)]));
    refused(
        &list(&s, "", &["--token-file", flag(&wrong)]),
        &["wrong token"],
    );
    refused(&list(&s, "", &[]), &["asks for a token"]);
    refused(&list(&s, "", &trust), &["no TLS"]);
}

#[test]
fn what_would_be_open_is_refused_at_start() {
    let run = |flags: &[&str]| {
        let mut run = Command::new(BIN);
        run.args(["run", "--grpc", "0.0.0.0:0"])
            .args(flags)
            .output()
            .unwrap()
    };
    refused(
        &run(&[]),
        &[
            "--grpc: ",
            "--tls-certificate",
            "--token-file",
            "--insecure",
        ],
    );
    refused(
        &run(&["--token-file", "/nowhere/token"]),
        &["--token-file: /nowhere/token"],
    );
    refused(
        &run(&["--insecure", "--token-file", "t"]),
        &["--insecure: contradicts"],
    );
}

/// Started as root, every thread of the switch continues without capabilities, and the data
/// plane's thread still has its raised priority. Needs root; fails without.
#[test]
fn root_goes_on_without_capabilities() {
    assert!(
        nix::unistd::Uid::effective().is_root(),
        "this test needs root, to give it up"
    );
    for flags in [&[][..], &["--user", "nobody"]] {
        let s = start(flags);
        let tasks = format!("/proc/{}/task", s.child.id());
        // The first thing a thread does is to restore its priority, on a busy machine
        // shortly after its start.
        let nice_of_threads = || -> Vec<String> {
            let paths = std::fs::read_dir(&tasks)
                .unwrap()
                .map(|t| t.unwrap().path());
            paths
                .map(|path| {
                    let status = std::fs::read_to_string(path.join("status")).unwrap();
                    assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
                    assert_eq!(status.contains("Uid:\t0\t0\t0\t0"), flags.is_empty());
                    let stat = std::fs::read_to_string(path.join("stat")).unwrap();
                    // After the name, which may contain spaces: nice is field 19.
                    let fields = stat.rsplit(')').next().unwrap_or_default();
                    fields.split_whitespace().nth(16).unwrap().to_owned()
                })
                .collect()
        };
        let preferred = |nice: &[String]| nice.iter().filter(|n| *n == "-15").count();
        let mut nice = nice_of_threads();
        for _ in 0..200 {
            if preferred(&nice) == 1 {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
            nice = nice_of_threads();
        }
        assert!(nice.len() > 2, "{nice:?}");
        assert_eq!(preferred(&nice), 1, "{nice:?}");
        let out = list(&s, "", &[]);
        assert!(out.status.success(), "{}", said(&out));
    }
}

#[test]
fn metrics_beyond_this_machine_need_a_word() {
    let out = Command::new(BIN)
        .args(["run", "--grpc", "127.0.0.1:0", "--metrics", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert!(!out.status.success());
    assert!(said(&out).contains("--metrics-insecure"), "{}", said(&out));
}

#[test]
fn metrics_are_read_by_the_names_of_the_switch_and_no_others() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = free.local_addr().unwrap().to_string();
    drop(free);
    let _running = start(&["--metrics", &metrics, "--metrics-host", "s1.lab"]);
    let ask = |host: &str| {
        let mut stream = TcpStream::connect(&metrics).unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    for host in ["s1.lab:9562", "127.0.0.1", "localhost"] {
        let answer = ask(host);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("tidemark_switch_received_packets_total 0"));
        assert!(
            answer.contains("x-content-type-options: nosniff"),
            "{answer}"
        );
    }
    let refused = ask("evil.example");
    assert!(refused.starts_with("HTTP/1.1 421"), "{refused}");
    assert!(refused.contains("--metrics-host"), "{refused}");
    // A client that sends nothing is disconnected.
    let mut silent = TcpStream::connect(&metrics).unwrap();
    silent
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
}
