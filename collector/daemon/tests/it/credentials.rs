// SPDX-License-Identifier: Apache-2.0
//! Who may subscribe and send samples: the programs themselves on real sockets,
//! with TLS, mutual TLS and tokens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{BINARY, Collector, free_ports};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use test_support::certificates::{Authority, Files, Purpose, https};

fn text(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

/// Sends recorded samples as an agent does; returns success and the program's output.
fn push(c: &Collector, scheme: &str, flags: &[&str]) -> (bool, String) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import");
    let out = Command::new(BINARY)
        .args(["replay", "--speed", "0", "--pcap"])
        .arg(data.join("reports.pcap.gz"))
        .arg("--tcp-probe")
        .arg(data.join("tcp_probe.txt.gz"))
        .args(["--to", &format!("127.0.0.1:{}", c.udp)])
        .args(["--agent", &format!("{scheme}127.0.0.1:{}", c.grpc)])
        .args(flags)
        .output()
        .unwrap();
    (out.status.success(), text(&out))
}

fn refused((let_in, said): (bool, String), words: &[&str]) {
    assert!(!let_in, "was let in: {said}");
    assert!(words.iter().all(|w| said.contains(w)), "{words:?}: {said}");
}

fn let_in((let_in, said): (bool, String)) {
    assert!(let_in, "{said}");
}

/// Starts a collector that takes samples, with these lines under `[grpc]`.
fn start(dir: &Path, grpc: &str) -> Collector {
    let ports = free_ports();
    let settings = format!("agents = {{ accept = true }}\n[grpc]\n{grpc}");
    Collector::start_with_grpc(dir, ports, &settings)
}

fn tls(server: &Files) -> String {
    let (certificate, key) = (&server.certificate, &server.key);
    format!("certificate = {certificate:?}\nkey = {key:?}\n")
}

fn flag(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn token(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    test_support::write_private(&path, format!("{name}-0123456789abcdef\n"));
    path
}

#[test]
fn mutual_tls_takes_samples_of_whom_its_authority_signed() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Authority::new(dir.path(), "ca");
    let strange = Authority::new(dir.path(), "strange");
    let own = ca.sign("agent", Purpose::Client);
    let server = tls(&ca.sign("server", Purpose::Server));
    let c = start(
        dir.path(),
        &format!("[grpc.tls]\n{server}client_ca = {:?}\n", ca.file),
    );
    let ca_flag = ["--ca", flag(&ca.file)];
    let with = [
        &ca_flag[..],
        &[
            "--certificate",
            flag(&own.certificate),
            "--key",
            flag(&own.key),
        ],
    ]
    .concat();
    let_in(push(&c, "https://", &with));
    let_in(push(&c, "", &with));
    c.wait("events of the agent", |s| {
        s["agents"][0]["events"].as_u64().is_some_and(|n| n > 0)
    });
    refused(push(&c, "https://", &ca_flag), &["asks for a certificate"]);
    let wrong = ["--ca", flag(&strange.file)];
    refused(push(&c, "https://", &wrong), &["another authority"]);
    refused(push(&c, "https://", &[]), &["https needs", "ca"]);
    refused(push(&c, "", &[]), &["write https"]);
    refused(push(&c, "http://", &ca_flag), &["--ca"]);
}

#[test]
fn a_token_lets_in_and_others_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let right = token(dir.path(), "right");
    let wrong = token(dir.path(), "wrong");
    let c = start(dir.path(), &format!("token_file = {right:?}\n"));
    let_in(push(&c, "", &["--token-file", flag(&right)]));
    refused(
        push(&c, "", &["--token-file", flag(&wrong)]),
        &["Unauthenticated", "wrong token"],
    );
    refused(push(&c, "", &[]), &["Unauthenticated", "token_file"]);
    let metrics = c.get("/metrics");
    for reason in ["no_token", "wrong_token"] {
        let line =
            format!("tidemark_collector_grpc_calls_refused_total{{reason=\"{reason}\"}} 1\n");
        assert!(metrics.contains(&line), "{metrics}");
    }
}

/// Checks that `validate` and `run` refuse a configuration with these words.
fn refused_at_start(dir: &Path, settings: &str, words: &[&str]) {
    let config = dir.join("c.toml");
    std::fs::write(&config, settings).unwrap();
    for command in ["validate", "run"] {
        let out = Command::new(BINARY)
            .args([command, "--config"])
            .arg(&config)
            .output()
            .unwrap();
        assert!(!out.status.success(), "{command}: {}", text(&out));
        let said = text(&out);
        assert!(words.iter().all(|w| said.contains(w)), "{words:?}: {said}");
    }
}

#[test]
fn what_would_be_open_or_cannot_work_is_refused_at_start() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Authority::new(dir.path(), "ca");
    let server = ca.sign("server", Purpose::Server);
    let old = ca.sign("old", Purpose::Expired);
    let refuse = |grpc: &str, words: &[&str]| {
        refused_at_start(dir.path(), &format!("[grpc]\n{grpc}"), words);
    };
    let open = "listen = \"0.0.0.0:0\"\n";
    refuse(
        open,
        &[
            "grpc.listen",
            "grpc.tls.certificate",
            "grpc.token_file",
            "grpc.insecure",
        ],
    );
    refuse(
        "insecure = true\ntoken_file = \"t\"\n",
        &["grpc.insecure: contradicts"],
    );
    refuse(
        "token_file = \"/nowhere/t\"\n",
        &["grpc.token_file", "/nowhere/t"],
    );
    refuse(
        &format!("[grpc.tls]\n{}", tls(&old)),
        &["old.pem", "has expired on 2001-12-31"],
    );
    let mixed = Files {
        key: old.key,
        ..server.clone()
    };
    refuse(
        &format!("[grpc.tls]\n{}", tls(&mixed)),
        &["grpc.tls.key", "old.key: is not the key"],
    );
    let no_ca = format!("[grpc.tls]\n{}client_ca = \"/nowhere/ca\"\n", tls(&server));
    refuse(
        &no_ca,
        &["grpc.tls.client_ca", "/nowhere/ca: cannot be read"],
    );
    // With an explicit setting, everyone is served.
    let config = dir.path().join("open.toml");
    std::fs::write(&config, format!("[grpc]\n{open}insecure = true\n")).unwrap();
    let out = Command::new(BINARY)
        .args(["validate", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out));
}

#[test]
fn readers_over_https_show_a_certificate_and_who_does_not_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Authority::new(dir.path(), "ca");
    let strange = Authority::new(dir.path(), "strange");
    let own = ca.sign("reader", Purpose::Client);
    let stranger = strange.sign("stranger", Purpose::Client);
    let server = ca.sign("server", Purpose::Server);
    let (certificate, key) = (&server.certificate, &server.key);
    let c = Collector::start_with(
        dir.path(),
        &format!(
            "[http.tls]\ncertificate = {certificate:?}\nkey = {key:?}\nclient_ca = {:?}\n",
            ca.file
        ),
    );
    let get = |path, ca: &Authority, own| https::get(c.http, path, &ca.file, own);
    let answer = get("/healthz", &ca, Some(&own)).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"),
        "{answer}"
    );
    // No certificate, a stranger's, one for another purpose, and no TLS at all.
    for own in [None, Some(&stranger), Some(&server)] {
        let refused = get("/healthz", &ca, own);
        assert!(refused.is_err(), "{refused:?}");
    }
    {
        use std::io::{Read as _, Write as _};
        let mut plain = std::net::TcpStream::connect(("127.0.0.1", c.http)).unwrap();
        plain
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        let mut answer = Vec::new();
        let _ = plain.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    }
    let metrics = get("/metrics", &ca, Some(&own)).unwrap();
    let line = "tidemark_collector_http_handshakes_failed_total 4\n";
    assert!(metrics.contains(line), "{metrics}");
    // The server also has to be the right one.
    assert!(get("/healthz", &strange, Some(&own)).is_err());
}
