// SPDX-License-Identifier: Apache-2.0
//! HTTPS, by the program itself. (The key next to this file is for tests alone.)
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use test_support::certificates::{Authority, Purpose, https};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tls")
        .join(name)
}

/// The key with the mode that a server requires: a repository does not keep modes.
fn private_key(dir: &Path) -> PathBuf {
    let key = dir.join("key.pem");
    test_support::write_private(&key, std::fs::read(fixture("key.pem")).unwrap());
    key
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

/// Starts the program with this configuration; returns it with its URL.
fn start(file: &Path) -> (Running, String) {
    let mut child = program()
        .args(["run", "--config"])
        .arg(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let running = Running(child);
    let line = lines.next().unwrap().unwrap();
    let url = line.strip_prefix("console: ").unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    (running, url.to_owned())
}

fn address(url: &str) -> &str {
    url.trim_start_matches("https://").trim_end_matches('/')
}

/// Answer to a client that does not speak TLS.
fn in_the_clear(url: &str) -> Vec<u8> {
    let mut clear = std::net::TcpStream::connect(address(url)).unwrap();
    clear
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    clear
        .write_all(b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = clear.read_to_end(&mut answer);
    answer
}

#[test]
fn https_serves_those_who_trust_it_and_nobody_in_the_clear() {
    let dir = tempfile::tempdir().unwrap();
    let file = config(dir.path(), &fixture("cert.pem"), &private_key(dir.path()));
    let (_running, url) = start(&file);
    let url = url.as_str();

    // A client that says nothing must not hold up the others.
    let _silent = std::net::TcpStream::connect(address(url)).unwrap();
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

    let answer = in_the_clear(url);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[test]
fn with_an_authority_of_clients_only_those_whom_it_signed_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Authority::new(dir.path(), "ca");
    let strange = Authority::new(dir.path(), "strange");
    let own = ca.sign("reader", Purpose::Client);
    let stranger = strange.sign("stranger", Purpose::Client);
    let server = ca.sign("server", Purpose::Server);
    let file = config(dir.path(), &server.certificate, &server.key);
    let mut settings = std::fs::read_to_string(&file).unwrap();
    settings += &format!("client_ca = {:?}\n", ca.file);
    std::fs::write(&file, settings).unwrap();
    let (_running, url) = start(&file);
    let port = address(&url).rsplit(':').next().unwrap().parse().unwrap();
    let get = |ca: &Authority, own| https::get(port, "/api/v1/status", &ca.file, own);
    let answer = get(&ca, Some(&own)).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"mode\":\"recommend\""), "{answer}");
    // No certificate, a stranger's, one for another purpose, and no TLS at all.
    for own in [None, Some(&stranger), Some(&server)] {
        let refused = get(&ca, own);
        assert!(refused.is_err(), "{refused:?}");
    }
    let answer = in_the_clear(&url);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    // The server has to be the right one, too.
    assert!(get(&strange, Some(&own)).is_err());
    // And who was refused has not held up the others.
    assert!(get(&ca, Some(&own)).is_ok());
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
    let (cert, key) = (fixture("cert.pem"), private_key(dir.path()));
    assert!(validate(&cert, &key).0);
    let (ok, said) = validate(&dir.path().join("none.pem"), &key);
    assert!(!ok && said.contains("http.tls.cert"), "{said}");
    test_support::write_private(dir.path().join("no-key.pem"), std::fs::read(&cert).unwrap());
    let (ok, said) = validate(&cert, &dir.path().join("no-key.pem"));
    assert!(!ok && said.contains("http.tls.key"), "{said}");
}

/// Started as root, every thread of the controller goes on without capabilities.
/// Needs root; fails without.
#[test]
fn root_goes_on_without_capabilities() {
    let uid = std::fs::metadata("/proc/self").unwrap().uid();
    assert_eq!(uid, 0, "this test needs root, to give it up");
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
