// SPDX-License-Identifier: Apache-2.0
//! HTTPS, by the program itself. (The key beside this file is for tests alone.)
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tls")
        .join(name)
}

fn program() -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_tidemark-controller"));
    for name in [
        "CONFIG",
        "LISTEN",
        "COLLECTOR",
        "MODE",
        "TOKEN",
        "CONTROLLER",
        "CA",
    ] {
        c.env_remove(format!("TIDEMARK_{name}"));
    }
    c
}

fn config(dir: &Path, cert: &Path, key: &Path) -> PathBuf {
    let file = dir.join("c.toml");
    let text = format!(
        "collectors = [\"127.0.0.1:9\"]\n[http]\nlisten = \"127.0.0.1:0\"\ntoken = \"a-token-for-tests\"\n\
         [http.tls]\ncert = {:?}\nkey = {:?}\n",
        cert.display().to_string(),
        key.display().to_string()
    );
    std::fs::write(&file, text).unwrap();
    file
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

#[test]
fn https_serves_those_who_trust_it_and_nobody_in_the_clear() {
    let dir = tempfile::tempdir().unwrap();
    let file = config(dir.path(), &fixture("cert.pem"), &fixture("key.pem"));
    let mut child = program()
        .args(["run", "--config", file.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let _running = Running(child);
    let line = lines.next().unwrap().unwrap();
    let url = line.strip_prefix("console: ").unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");

    // A client that says nothing must not hold up the others.
    let address = url.trim_start_matches("https://").trim_end_matches('/');
    let _silent = std::net::TcpStream::connect(address).unwrap();
    let ca = fixture("cert.pem");
    let status = ["status", "--json", "--controller", url];
    let out = program()
        .args(status)
        .args(["--ca", ca.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out));
    assert!(text(&out).contains("\"mode\": \"recommend\""));

    let out = program().args(status).output().unwrap();
    assert!(
        !out.status.success() && text(&out).contains("--ca"),
        "{}",
        text(&out)
    );

    let mut clear = std::net::TcpStream::connect(address).unwrap();
    clear
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    clear
        .write_all(b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = clear.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[test]
fn files_that_do_not_fit_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let validate = |cert: &Path, key: &Path| {
        let file = config(dir.path(), cert, key);
        let out = program()
            .args(["validate", "--config", file.to_str().unwrap()])
            .output()
            .unwrap();
        (out.status.success(), text(&out))
    };
    let (cert, key) = (fixture("cert.pem"), fixture("key.pem"));
    assert!(validate(&cert, &key).0);
    let (ok, said) = validate(&dir.path().join("none.pem"), &key);
    assert!(!ok && said.contains("http.tls.cert"), "{said}");
    let (ok, said) = validate(&cert, &cert);
    assert!(!ok && said.contains("http.tls.key"), "{said}");
}

/// Started as root, every thread of the controller goes on without capabilities.
#[test]
fn root_goes_on_without_capabilities() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        eprintln!("skipped: needs root");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c.toml");
    let text =
        "collectors = [\"127.0.0.1:9\"]\nuser = \"nobody\"\n[http]\nlisten = \"127.0.0.1:0\"\n";
    std::fs::write(&file, text).unwrap();
    let mut child = program()
        .args(["run", "--config"])
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let running = Running(child);
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("console: "), "{line}");
    let mut threads = 0;
    for thread in std::fs::read_dir(format!("/proc/{}/task", running.0.id())).unwrap() {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
        assert!(!status.contains("Uid:\t0"), "{status}");
        threads += 1;
    }
    assert!(threads > 2, "{threads}");
}

#[test]
fn beyond_this_machine_needs_tls_or_a_word() {
    let out = program()
        .args(["run", "--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert!(!out.status.success());
    assert!(text(&out).contains("http.insecure"), "{}", text(&out));
}
