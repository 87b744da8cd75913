// SPDX-License-Identifier: Apache-2.0
//! The program itself on loopback: a collector that comes, goes and comes
//! back, events, and the command line against it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::common;

use common::{TOKEN, Traffic, info};
use daemon_kit::credentials::{Keys, Protection, ServerCredentials, ServerTls};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use test_support::certificates::{Authority, Purpose};
use tidemark_proto::telemetry::telemetry_server::{Telemetry, TelemetryServer};
use tidemark_proto::telemetry::{
    CollectorInfo, GetInfoRequest, PacketBatch, ReadPacketsRequest, SubscribeRequest, Update,
};
use tokio::runtime::Runtime;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

struct Collector {
    instance: String,
}

#[tonic::async_trait]
impl Telemetry for Collector {
    async fn get_info(
        &self,
        _: Request<GetInfoRequest>,
    ) -> Result<Response<CollectorInfo>, Status> {
        Ok(Response::new(info(&self.instance)))
    }

    type SubscribeStream = ReceiverStream<Result<Update, Status>>;

    /// 12 s of the switch's clock at once, then silence.
    async fn subscribe(
        &self,
        _: Request<SubscribeRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let (tx, rx) = tokio::sync::mpsc::channel(16);
        tokio::spawn(async move {
            let mut traffic = Traffic::new(250_000);
            for _ in 0..1200 {
                if tx.send(Ok(traffic.next_update())).await.is_err() {
                    return;
                }
            }
            tx.closed().await;
        });
        Ok(Response::new(ReceiverStream::new(rx)))
    }

    async fn read_packets(
        &self,
        r: Request<ReadPacketsRequest>,
    ) -> Result<Response<PacketBatch>, Status> {
        let r = r.into_inner();
        Ok(Response::new(PacketBatch {
            ingress_ns: vec![r.from_ns],
            egress_ns: vec![r.to_ns],
            occupancy_bytes: vec![77],
            flow_id: vec![1],
            dropped: vec![false],
            ip_bytes: vec![1500],
            cwnd: vec![10],
            tcp_seq: vec![7],
            ce_marked: vec![false],
            oldest_ns: r.from_ns,
            truncated: false,
        }))
    }
}

/// An address to bind repeatedly: its port is below those that the system assigns, so that nobody
/// else gets it in between.
fn own_address() -> SocketAddr {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    const LOWEST: u32 = 10_000;
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let handed_out: u32 = range.split_whitespace().next().unwrap().parse().unwrap();
    // Any port, if the system assigns all of them.
    let end = if handed_out > LOWEST {
        handed_out
    } else {
        65_536
    };
    let of_process = std::process::id().wrapping_mul(64);
    loop {
        let next = of_process.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = (LOWEST + next % (end - LOWEST)) as u16;
        if let Ok(free) = std::net::TcpListener::bind(("127.0.0.1", port)) {
            return free.local_addr().unwrap();
        }
    }
}

/// A collector in its own runtime; dropping the runtime kills it.
fn collector(address: SocketAddr, instance: &str) -> (Runtime, SocketAddr) {
    guarded(address, instance, None, None)
}

/// [`collector`] with TLS and a token.
fn guarded(
    address: SocketAddr,
    instance: &str,
    tls: Option<&ServerTls>,
    token_file: Option<&Path>,
) -> (Runtime, SocketAddr) {
    let protection = Protection {
        listen: address,
        listen_key: "grpc.listen",
        tls,
        token_file,
        insecure: false,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let keys = Keys::under("grpc");
    let credentials = ServerCredentials::load(&protection, &keys, "test", now.as_secs()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let service = TelemetryServer::new(Collector {
        instance: instance.into(),
    });
    let bound = runtime.block_on(async {
        for _ in 0..600 {
            if let Ok(l) = tokio::net::TcpListener::bind(address).await {
                return l;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{address} stays in use");
    });
    let address = bound.local_addr().unwrap();
    runtime.spawn(async move {
        let incoming = tokio_stream::wrappers::TcpListenerStream::new(bound);
        credentials
            .server()
            .unwrap()
            .add_service(service)
            .serve_with_incoming(incoming)
            .await
            .unwrap();
    });
    (runtime, address)
}

struct Controller {
    child: Child,
    url: String,
}

impl Controller {
    fn start(collector: SocketAddr) -> Self {
        Self::start_with(&["--collector", &collector.to_string()])
    }

    fn start_with(flags: &[&str]) -> Self {
        let any_port: &[&str] = match flags.contains(&"--listen") {
            true => &[],
            false => &["--listen", "127.0.0.1:0"],
        };
        let mut child = program()
            .arg("run")
            .args(any_port)
            .args(flags)
            .env("TIDEMARK_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let url = line
            .strip_prefix("console: ")
            .expect("the first line")
            .to_string();
        Self { child, url }
    }

    fn status(&self) -> Value {
        let out = program()
            .args(["status", "--json", "--controller", &self.url])
            .output()
            .unwrap();
        serde_json::from_slice(&out.stdout).unwrap()
    }

    /// Waits for a state; fails with the last one seen.
    fn wait_for(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let status = self.status();
            if fits(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "never {what}: {status:#}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn address(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches('/')
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
    ] {
        c.env_remove(format!("TIDEMARK_{name}"));
    }
    c
}

fn run(args: &[&str]) -> Output {
    program().args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn estimated(s: &Value) -> bool {
    s["links"][0]["estimate"]["estimates"]["n_b"]["value"] == 6.0
}

#[test]
fn a_collector_may_come_late_go_and_come_back() {
    let address = own_address();
    let controller = Controller::start(address);
    let s = controller.wait_for("a problem named", |s| {
        s["collectors"][0]["problem"].is_string()
    });
    assert_eq!(s["collectors"][0]["connected"], false);

    let (runtime, _) = collector(address, "first");
    let all_arrived = |s: &Value| s["links"][0]["now_ns"] == 12_000_000_000u64;
    let s = controller.wait_for("estimated", |s| estimated(s) && all_arrived(s));
    assert_eq!(s["collectors"][0]["instance"], "first");
    assert_eq!(s["links"][0]["now_ns"], 12_000_000_000u64);

    runtime.shutdown_background();
    controller.wait_for("disconnected", |s| s["collectors"][0]["connected"] == false);
    // Earlier estimates stay.
    assert!(estimated(&controller.status()));

    let (_runtime, _) = collector(address, "second");
    let s = controller.wait_for("connected again", |s| {
        s["collectors"][0]["instance"] == "second" && s["collectors"][0]["updates"] == 2400
    });
    assert_eq!(s["collectors"][0]["connections"], 2);
    controller.wait_for("estimated again", estimated);
}

#[test]
fn events_packets_and_command_line() {
    let (_runtime, address) = collector("127.0.0.1:0".parse().unwrap(), "one");
    let controller = Controller::start(address);
    controller.wait_for("estimated", estimated);

    let mut stream = TcpStream::connect(controller.address()).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(
        stream,
        "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    .unwrap();
    let mut seen = Vec::new();
    let mut buffer = [0u8; 65536];
    while !text(&seen).contains("event: update") || !text(&seen).contains("\"n_b\"") {
        let n = stream.read(&mut buffer).unwrap();
        assert_ne!(n, 0, "the stream ended");
        seen.extend_from_slice(&buffer[..n]);
    }
    assert!(text(&seen).contains("text/event-stream"));

    let mut stream = TcpStream::connect(controller.address()).unwrap();
    let path = "/api/v1/links/10/5/packets?from_ns=3&to_ns=9";
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"occupancy_bytes\":[77]"), "{answer}");

    let out = run(&["status", "--controller", &controller.url]);
    assert!(out.status.success());
    let table = text(&out.stdout);
    assert!(
        table.contains("bottleneck") && table.contains("connected"),
        "{table}"
    );
    // No switch is configured.
    let set = [
        "set",
        "--node",
        "10",
        "--port",
        "5",
        "--limit",
        "90kB",
        "--controller",
    ];
    let mut args: Vec<&str> = set.to_vec();
    args.push(controller.url.as_str());
    let out = program().args(&args).env("TIDEMARK_TOKEN", TOKEN).output();
    let out = out.unwrap();
    assert!(!out.status.success());
    let error = text(&out.stderr);
    assert!(
        error.contains("no switch is configured for node 10"),
        "{error}"
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    test_support::write_private(&file, format!("{TOKEN}\n"));
    let by_file = [&args[..], &["--token-file", file.to_str().unwrap()]].concat();
    let error = run(&by_file).stderr;
    assert!(text(&error).contains("no switch is configured"));
    let out = run(&args);
    let error = text(&out.stderr);
    assert!(
        error.contains("--token-file") && error.contains("TIDEMARK_TOKEN"),
        "{error}"
    );
    assert!(!error.contains("Bearer"), "{error}");
    std::fs::write(&file, "another\n").unwrap();
    let error = run(&by_file).stderr;
    assert!(text(&error).contains("another token"), "{}", text(&error));
    let out = run(&[&args[..], &["--token", TOKEN]].concat());
    assert_eq!(out.status.code(), Some(2), "a token is no argument");
}

/// Returns the exit code, and a function for the worst verdict of the checks with a prefix.
fn doctor(config: &Path) -> (i32, impl Fn(&str) -> String) {
    let out = program()
        .args(["doctor", "--json", "--seconds", "3", "--config"])
        .arg(config)
        .output()
        .unwrap();
    let found: Vec<Value> = serde_json::from_slice(&out.stdout).unwrap();
    let verdict = move |check: &str| {
        let of_it = found
            .iter()
            .filter(|f| text_of(f, "check").starts_with(check));
        let verdicts: Vec<String> = of_it.map(|f| text_of(f, "verdict")).collect();
        let worst = ["problem", "warning", "ok"].map(str::to_owned);
        let worst = worst.into_iter().find(|v| verdicts.contains(v));
        worst.unwrap_or_else(|| panic!("{check} in {found:#?}"))
    };
    (out.status.code().unwrap(), verdict)
}

fn text_of(finding: &Value, key: &str) -> String {
    finding[key].as_str().unwrap().to_owned()
}

#[test]
fn the_doctor_says_what_is_wrong_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("controller.toml");
    let (runtime, address) = collector(own_address(), "one");
    let listen = own_address();
    let text = format!(
        "collectors = [\"{address}\"]\nstate_file = \"state.json\"\n[http]\nlisten = \"{listen}\"\n\
         [control]\naudit_log = \"audit.jsonl\"\n"
    );
    std::fs::write(&config, &text).unwrap();
    let (_, verdict) = doctor(&config);
    assert_eq!(verdict("configuration"), "ok");
    assert_eq!(verdict("http.listen"), "ok");
    assert_eq!(verdict("collector 127.0.0.1"), "ok");
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, 1, "only its configuration");

    // If a controller runs the configuration, `doctor` asks it.
    let controller = Controller::start_with(&[
        "--collector",
        &address.to_string(),
        "--listen",
        &listen.to_string(),
    ]);
    controller.wait_for("estimated", estimated);
    let (_, verdict) = doctor(&config);
    assert_eq!(verdict("controller"), "ok");
    drop(controller);
    runtime.shutdown_background();
    let (code, verdict) = doctor(&config);
    assert_eq!(
        (code, verdict("collector 127.0.0.1")),
        (1, "problem".into())
    );
    assert_eq!(verdict("links"), "problem");

    std::fs::write(&config, "colectors = []\n").unwrap();
    let (code, verdict) = doctor(&config);
    assert_eq!((code, verdict("configuration")), (1, "problem".into()));
}

/// Unfinished requests from one address take a limited number of places, for a limited time.
#[tokio::test]
async fn half_requests_leave_places_for_others_and_are_let_go() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let controller = Controller::start("127.0.0.1:9".parse().unwrap());
    let to = controller.address().parse().unwrap();
    let connect = async |from: &str| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        let from = SocketAddr::new(from.parse().unwrap(), 0);
        socket.bind(from).unwrap();
        socket.connect(to).await.unwrap()
    };
    let half = "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let mut strangers = Vec::new();
    for _ in 0..200 {
        let mut stranger = connect("127.0.0.2").await;
        // Beyond its places the connection is closed already.
        let _ = stranger.write_all(half.as_bytes()).await;
        strangers.push(stranger);
    }
    let mut honest = connect("127.0.0.3").await;
    let whole = format!("{half}\r\n");
    honest.write_all(whole.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = honest.read_to_string(&mut answer);
    let read = tokio::time::timeout(Duration::from_secs(9), read).await;
    read.expect("others wait").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for mut stranger in strangers {
        let mut rest = Vec::new();
        let end = tokio::time::timeout(Duration::from_secs(60), stranger.read_to_end(&mut rest));
        // A reset ends it, too.
        let _ = end.await.expect("a half request stays open");
    }
}

#[test]
fn ends_cleanly_on_a_signal() {
    let mut controller = Controller::start("127.0.0.1:9".parse().unwrap());
    let pid = controller.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert!(controller.child.wait().unwrap().success());
}

#[test]
fn errors_are_one_line_with_the_remedy() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let out = run(&["run", "--listen", &address]);
    assert_eq!(out.status.code(), Some(1));
    let error = text(&out.stderr);
    assert!(
        error.contains(&address) && error.contains("--listen"),
        "{error}"
    );

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c.toml");
    std::fs::write(&file, "[control]\nmoed = \"auto\"\n").unwrap();
    let out = run(&["validate", "--config", file.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(1));
    let error = text(&out.stderr);
    assert!(
        error.contains("c.toml") && error.contains("moed") && error.contains("line 2"),
        "{error}"
    );
    std::fs::write(&file, "window_s = 5\n").unwrap();
    assert!(
        run(&["validate", "--config", file.to_str().unwrap()])
            .status
            .success()
    );

    let out = run(&["analyze", dir.path().to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(1));
    let out = run(&["status", "--controller", "http://127.0.0.1:9"]);
    assert!(
        text(&out.stderr).contains("is it running"),
        "{}",
        text(&out.stderr)
    );
    let error = text(&out.stderr);
    assert!(error.starts_with("error: "), "{error}");
    assert_eq!(run(&["size", "--capacity", "fast"]).status.code(), Some(2));
    let out = run(&["status", "--controller", "ftp://127.0.0.1:9"]);
    assert_eq!(out.status.code(), Some(2));
    let error = text(&out.stderr);
    assert!(
        error.starts_with("error: --controller: ftp") && error.contains("--help"),
        "{error}"
    );
}

#[test]
fn size_answers_without_a_switch() {
    let common = [
        "size",
        "--capacity",
        "50mbit",
        "--rtt",
        "60ms",
        "--flows",
        "100",
    ];
    let mut args = common.to_vec();
    args.extend([
        "--utilisation",
        "98%",
        "--loss",
        "1%",
        "--delay",
        "30ms",
        "--json",
    ]);
    let out = run(&args);
    let all: Value = serde_json::from_slice(&out.stdout).unwrap();
    let rules = all["rules"].as_array().unwrap();
    let bytes = |id: &str| {
        let rule = rules.iter().find(|r| r["id"] == id).expect(id);
        rule["buffer_bytes"].as_f64().unwrap()
    };
    // 50 Mb/s on the wire, 1514 of 1538 bytes of a segment in the queue.
    let bdp = 50e6 / 8.0 * 0.06 * 1514.0 / 1538.0;
    assert!((bytes("bdp") - bdp).abs() < 1.0);
    assert_eq!(all["targets"]["delay_ms"], 30.0);
    assert!(all["advice"]["reasons"].as_array().unwrap().len() > 2);
    let out = run(&common);
    let said = text(&out.stdout);
    assert!(said.starts_with("buffer: "), "{said}");
    let narrow = said.lines().all(|l| l.chars().count() <= 80);
    assert!(narrow && said.lines().count() <= 10, "{said}");
}

#[test]
fn a_collector_is_reached_with_the_credentials_that_it_asks_for() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Authority::new(dir.path(), "ca");
    let strange = Authority::new(dir.path(), "strange");
    let server = ca.sign("server", Purpose::Server);
    ca.sign("own", Purpose::Client);
    test_support::write_private(dir.path().join("token"), "a-token-for-tests\n");
    test_support::write_private(dir.path().join("wrong"), "another-token\n");
    let tls = ServerTls {
        certificate: server.certificate,
        key: server.key,
        client_ca: Some(ca.file),
    };
    let free: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let (_mutual, mutual) = guarded(free, "mutual", Some(&tls), None);
    let token = dir.path().join("token");
    let (_either, either) = guarded(free, "either", Some(&tls), Some(&token));
    // Relative paths start at the folder of the configuration.
    let start = |collector: String| {
        let file = dir.path().join("controller.toml");
        std::fs::write(&file, format!("collectors = [{collector}]\n")).unwrap();
        Controller::start_with(&["--config", file.to_str().unwrap()])
    };
    let connects = |collector: String| {
        let c = start(collector);
        c.wait_for("connected", |s| s["collectors"][0]["connected"] == true);
    };
    let problem = |collector: String, words: &str| {
        let c = start(collector);
        let s = c.wait_for("a problem", |s| s["collectors"][0]["problem"].is_string());
        let said = s["collectors"][0]["problem"].as_str().unwrap();
        assert!(said.contains(words), "{words}: {said}");
        assert_eq!(s["collectors"][0]["connected"], false);
    };
    let own = "certificate = 'own.pem', key = 'own.key'";
    let with = |tls: &str, token: &str| {
        format!("{{ address = 'https://{either}', tls = {{ ca = 'ca.pem'{tls} }}{token} }}")
    };
    connects(format!(
        "{{ address = '{mutual}', tls = {{ ca = 'ca.pem', {own} }} }}"
    ));
    connects(with("", ", token_file = 'token'"));
    connects(with(&format!(", {own}"), ""));
    problem(with("", ""), "asks for a token");
    problem(with("", ", token_file = 'wrong'"), "wrong token");
    problem(
        format!("{{ address = '{mutual}', tls = {{ ca = 'ca.pem' }} }}"),
        "asks for a certificate",
    );
    problem(
        format!("{{ address = '{mutual}', tls = {{ ca = 'strange.pem', {own} }} }}"),
        "another authority",
    );
    problem(format!("'{mutual}'"), "write https");
    drop(strange);
    // An unreadable file is reported at the start.
    let file = dir.path().join("bad.toml");
    let bad = "collectors = [{ address = 'https://h:1', tls = { ca = 'none.pem' } }]\n";
    std::fs::write(&file, bad).unwrap();
    let out = run(&["validate", "--config", file.to_str().unwrap()]);
    let said = text(&out.stderr);
    assert!(
        !out.status.success() && said.contains("collectors[0].tls.ca"),
        "{said}"
    );
    assert!(said.contains("none.pem"), "{said}");
}
