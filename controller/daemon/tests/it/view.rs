// SPDX-License-Identifier: Apache-2.0
//! `view`: over real HTTP, the program says of a bundled capture what `analyze` says, serves its
//! packets from the files, and lets nobody change anything.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tidemark_capture::{CaptureMeta, CaptureWriter, FORMAT, PostcardRow, Rows, WriterOptions};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../collector/capture/tests/fixtures/capture-63e1e1a")
}

/// Two queues of port 2, both never empty: queue 0 gets two packets of three, queue 3 one.
fn two_queues(dir: &Path) {
    let mut meta = CaptureMeta {
        format: FORMAT,
        ..CaptureMeta::default()
    };
    meta.config.interval_ms = 10;
    let options = WriterOptions {
        wait_when_full: true,
        ..WriterOptions::default()
    };
    let mut writer = CaptureWriter::create(dir, meta, options).unwrap();
    for order in 0..30_000u64 {
        let second = order % 3 == 2;
        let egress_ns = 2_000_000_000 + order * 100_000;
        writer.postcard(&PostcardRow {
            order,
            node_id: 1,
            port: 2,
            queue: if second { 3 } else { 0 },
            flow_id: 1 + order % 3,
            ingress_ns: egress_ns - 1_000_000,
            egress_ns,
            occupancy_bytes: if second { 9_000 } else { 30_000 },
            ip_bytes: 1212,
            wire_overhead_bytes: 38,
            payload_bytes: 1160,
            ..PostcardRow::default()
        });
    }
    writer.finish(1).unwrap();
}

#[test]
fn queues_of_a_port_are_links_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    two_queues(&dir.path().join("capture"));
    let view = View::of(dir.path());
    let (_, answer) = view.get("/links");
    let links = answer["links"].as_array().unwrap();
    let of = |name: &str| links.iter().map(|l| l[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("port"), [2, 2]);
    assert_eq!(of("queue"), [0, 3]);
    let arrivals = |l: &Value| l["estimate"]["arrivals"].as_u64().unwrap();
    assert_eq!(arrivals(&links[0]), 2 * arrivals(&links[1]));
    // 100 Mbit/s together.
    for (link, bps) in links.iter().zip([66.7e6, 33.3e6]) {
        let served = link["estimate"]["capacity_bps"].as_f64().unwrap();
        assert!((served / bps - 1.0).abs() < 0.02, "{served}");
        assert_eq!(link["estimate"]["shares_port"], true);
        let caveats = link["estimate"]["caveats"].to_string();
        assert!(caveats.contains("the queue shares its port"), "{caveats}");
        let reasons = link["advice"]["reasons"].to_string();
        assert!(reasons.contains("the queue shares its port"), "{reasons}");
    }
    // Each is full by the rate at which it was served, also over time.
    for path in ["/links/1/2/series?last_s=1", "/links/1/2/3/series?last_s=1"] {
        let series = view.get(path).1;
        let used = series["utilisation"].as_array().unwrap();
        let used: Vec<f64> = used.iter().filter_map(Value::as_f64).collect();
        let mean = used.iter().sum::<f64>() / used.len() as f64;
        assert!((mean - 1.0).abs() < 0.05, "{mean}: {series}");
    }
    let one = view.get("/links/1/2/3").1;
    assert_eq!(
        (&one["queue"], &one["estimate"]["queue"]),
        (&3.into(), &3.into())
    );
    let occupancy = |path: &str| {
        let packets = view.get(path).1;
        let all = packets["occupancy_bytes"].as_array().unwrap().clone();
        assert!(all.len() > 100, "{packets}");
        assert!(all.iter().all(|o| *o == all[0]), "{packets}");
        all[0].as_u64().unwrap()
    };
    assert_eq!(occupancy("/links/1/2/packets?last_s=1"), 30_000);
    assert_eq!(occupancy("/links/1/2/3/packets?last_s=1"), 9_000);
    let flows = view.get("/flows?node=1&port=2&queue=3").1;
    let flows = flows["flows"].as_array().unwrap().clone();
    assert_eq!(flows.len(), 1);
    assert_eq!(
        (&flows[0]["queue"], &flows[0]["flow"]),
        (&3.into(), &3.into())
    );
    assert_eq!(view.get("/flows").1["total"], 3);
}

/// The directory of a run: its capture, a record of its phases, a log.
fn run_dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("capture");
    std::fs::create_dir(&capture).unwrap();
    for entry in std::fs::read_dir(fixture()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, capture.join(path.file_name().unwrap())).unwrap();
    }
    dir
}

struct View {
    child: Child,
    address: String,
    // Kept open: the program still writes to it.
    _out: BufReader<std::process::ChildStdout>,
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tidemark-controller"))
}

impl View {
    /// Starts the viewer, and waits until the run is read.
    fn of(path: &Path) -> Self {
        let mut child = program()
            .args(["view", path.to_str().unwrap(), "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("console: http://");
        let address = address.unwrap_or_else(|| panic!("{line}"));
        let address = address.trim_end_matches('/').to_owned();
        let view = Self {
            child,
            address,
            _out: out,
        };
        let end = Instant::now() + Duration::from_secs(120);
        while view.get("/status").1["recording"]["read_fraction"] != 1.0 {
            assert!(Instant::now() < end, "the run is not read");
            std::thread::sleep(Duration::from_millis(50));
        }
        view
    }

    fn call(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head[9..12].parse().unwrap(), unchunked(head, body))
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let (status, body) = self.call("GET", &format!("/api/v1{path}"), "");
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }
}

fn unchunked(head: &str, body: &str) -> String {
    if !head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        return body.to_owned();
    }
    let (mut rest, mut all) = (body, String::new());
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        if length == 0 {
            break;
        }
        all.push_str(&after[..length]);
        rest = after[length..].trim_start_matches("\r\n");
    }
    all
}

fn analyze(path: &Path, span: &[&str]) -> Value {
    let out = program()
        .args(["analyze", path.to_str().unwrap(), "--json"])
        .args(span)
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Asserts that both have the same values, field by field.
fn same(shown: &Value, analyzed: &Value, fields: &[&str]) {
    for field in fields {
        assert_eq!(shown[field], analyzed[field], "{field}");
    }
}

const ESTIMATE: [&str; 9] = [
    "from_ns",
    "to_ns",
    "estimates",
    "loss_rate",
    "delay_ms",
    "classes",
    "flows",
    "drops",
    "limit_bytes",
];

#[test]
fn a_run_is_shown_as_analyze_has_it() {
    let run = run_dir();
    let view = View::of(run.path());
    let (_, status) = view.get("/status");
    let recording = &status["recording"];
    assert!(recording["capture"].as_str().unwrap().ends_with("/capture"));
    assert_eq!(recording["problem"], Value::Null);
    let seconds = recording["seconds"].as_f64().unwrap();
    assert!((39.0..40.0).contains(&seconds), "{seconds}");

    let (_, links) = view.get("/links");
    let link = &links["links"][0];
    let analyzed = &analyze(run.path(), &[])["links"][0];
    same(&link["estimate"], analyzed, &ESTIMATE);
    assert_eq!(
        link["advice"]["limit_bytes"],
        analyzed["advice"]["limit_bytes"]
    );
    assert_eq!(link["capture_start_ns"], analyzed["capture_start_ns"]);
    let (_, advice) = view.get("/advice");
    assert_eq!(advice["advice"]["rules"], analyzed["rules"]);

    // Over time: the estimates of the same spans of the capture, at the capture's own times.
    let (_, history) = view.get("/links/10/1/estimates");
    let times = history["time_ns"].as_array().unwrap();
    assert!((25..=40).contains(&times.len()), "{}", times.len());
    let start = analyzed["capture_start_ns"].as_u64().unwrap();
    let within = |t: &Value| (start..=start + 40_000_000_000).contains(&t.as_u64().unwrap());
    assert!(times.iter().all(within), "{times:?}");
    let at = 20;
    let to = times[at].as_u64().unwrap();
    let span = [(to - 10_000_000_000).to_string(), to.to_string()];
    let there = analyze(run.path(), &["--from-ns", &span[0], "--to-ns", &span[1]]);
    let n_b = there["links"][0]["estimates"]["n_b"]["value"]
        .as_f64()
        .unwrap();
    let shown = history["n_b"]["value"][at].as_f64().unwrap();
    assert!((shown - n_b).abs() < 1e-4 * n_b.max(1.0), "{shown} {n_b}");

    // One limit: one phase, the whole run.
    let (_, phases) = view.get("/phases");
    let phase = &phases["phases"][0];
    assert_eq!(
        (phase["name"].as_str(), phase["state"].as_str()),
        (Some("run"), Some("complete"))
    );
    same(&phase["links"][0]["estimate"], analyzed, &ESTIMATE);
}

#[test]
fn packets_flows_and_drops_are_those_of_the_files() {
    let view = View::of(&fixture());
    let mut rows = Rows::<PostcardRow>::open(&fixture()).unwrap();
    let mut stored: BTreeMap<(u64, u64), PostcardRow> = BTreeMap::new();
    while rows.peek().unwrap().is_some() {
        let row = rows.take().unwrap();
        stored.insert((row.ingress_ns, row.order), row);
    }
    let times: Vec<u64> = stored.keys().map(|k| k.0).collect();
    let (from, to) = (times[500], times[1500]);
    let path = format!("/links/10/1/packets?from_ns={from}&to_ns={to}");
    let (_, packets) = view.get(&path);
    let within: Vec<&PostcardRow> = stored
        .values()
        .filter(|r| (from..to).contains(&r.ingress_ns))
        .collect();
    let column = |f: fn(&PostcardRow) -> Value| within.iter().map(|r| f(r)).collect::<Value>();
    assert!(within.len() >= 1000 && within.iter().any(|r| r.dropped));
    assert_eq!(packets["ingress_ns"], column(|r| r.ingress_ns.into()));
    assert_eq!(
        packets["occupancy_bytes"],
        column(|r| r.occupancy_bytes.into())
    );
    assert_eq!(packets["flow_id"], column(|r| r.flow_id.into()));
    assert_eq!(packets["dropped"], column(|r| r.dropped.into()));
    assert_eq!(packets["tcp_seq"], column(|r| r.tcp_seq.into()));
    assert_eq!(packets["cwnd"], column(|r| r.cwnd.into()));
    assert_eq!(packets["truncated"], false);
    assert_eq!(packets["oldest_ns"], times[0]);
    let (_, few) = view.get(&format!("{path}&max_packets=10"));
    assert_eq!(
        (
            few["ingress_ns"].as_array().unwrap().len(),
            &few["truncated"]
        ),
        (10, &Value::Bool(true))
    );

    let (_, series) = view.get(&format!(
        "/links/10/1/series?from_ns=0&to_ns={}&max_points=20000",
        u64::MAX / 2
    ));
    let drops: u64 = series["drops"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(drops, stored.values().filter(|r| r.dropped).count() as u64);
    let (_, flows) = view.get("/flows?max_flows=10000");
    let seen: std::collections::BTreeSet<u64> = stored.values().map(|r| r.flow_id).collect();
    let listed = flows["flows"].as_array().unwrap().iter();
    assert!(listed.clone().count() > 10);
    assert!(
        listed
            .clone()
            .all(|f| seen.contains(&f["flow"].as_u64().unwrap()))
    );
}

/// A run of real TCP on a link that is full (its README).
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../common/test-support/recorded/four_flows")
}

fn numbers(column: &Value) -> Vec<Option<f64>> {
    column
        .as_array()
        .unwrap()
        .iter()
        .map(Value::as_f64)
        .collect()
}

/// Little's law behind a queue of a full link: flows of rates r and base RTTs T have
/// C times the mean of T by rate on their way, and the queue (UTB Assumption 1). The
/// packet in transmission is in neither.
fn beyond_queue_bytes(estimate: &Value) -> f64 {
    let (mut weight, mut sum) = (0.0, 0.0);
    for f in estimate["flows"].as_array().unwrap() {
        let active = f["active_fraction"].as_f64().unwrap_or(1.0);
        let rate = f["rate_bps"].as_f64().unwrap_or(0.0) * active;
        if let Some(rtt_ms) = f["base_rtt_ms"].as_f64() {
            weight += rate;
            sum += rate * rtt_ms;
        }
    }
    let bdp = estimate["queue_drain_bps"].as_f64().unwrap() / 8.0 * sum / weight / 1000.0;
    bdp + estimate["segment_bytes"].as_f64().unwrap()
}

#[test]
fn the_sum_of_windows_is_the_queue_and_what_is_on_its_way() {
    let view = View::of(&recorded());
    let (_, links) = view.get("/links");
    let link = &links["links"][0];
    let place = format!("/links/{}/{}", link["node"], link["port"]);
    let (from, to) = (&link["estimate"]["from_ns"], &link["estimate"]["to_ns"]);
    let span = format!("from_ns={from}&to_ns={to}");
    let (_, windows) = view.get(&format!("{place}/windows?{span}&max_points=1000"));
    let (_, series) = view.get(&format!("{place}/series?{span}&max_points=10000"));

    let mean = |column: &Value| {
        let known: Vec<f64> = numbers(column).into_iter().flatten().collect();
        assert!(known.len() > 50, "{}", known.len());
        known.iter().sum::<f64>() / known.len() as f64
    };
    // Full all the time, and with losses: there the acknowledged does not tell it.
    assert!(link["estimate"]["utilisation"]["mean"].as_f64().unwrap() > 0.995);
    assert!(series["drops"].as_array().unwrap().iter().any(|d| *d != 0));
    let w = mean(&windows["in_flight_sum_bytes"]);
    let q_and_bdp = mean(&series["occupancy_p50_bytes"]) + beyond_queue_bytes(&link["estimate"]);
    let ratio = w / q_and_bdp;
    assert!((0.97..1.03).contains(&ratio), "{w} / {q_and_bdp} = {ratio}");
}

#[test]
fn nothing_can_be_changed() {
    let view = View::of(&fixture());
    for (path, body) in [
        ("/links/10/1/limit", r#"{"bytes": 100000}"#),
        ("/links/10/1/reports", r#"{"on": true}"#),
        ("/advice/apply", r#"{}"#),
        ("/targets", r#"{"utilisation": 0.9}"#),
        ("/mode", r#"{"mode": "auto"}"#),
        ("/phases", r#"{"name": "p", "action": "start"}"#),
    ] {
        let (status, answer) = view.call("POST", &format!("/api/v1{path}"), body);
        assert_eq!(status, 409, "{path}: {answer}");
        assert!(answer.contains("finished run"), "{path}: {answer}");
    }
    let (_, advice) = view.get("/advice");
    assert_eq!(advice["can_apply"], false);
    assert!(advice["why_not"].as_str().unwrap().contains("finished run"));
}

#[test]
fn phases_of_the_run_and_its_log_are_shown() {
    let run = run_dir();
    let whole = analyze(run.path(), &[]);
    let start = whole["links"][0]["capture_start_ns"].as_u64().unwrap();
    let (from, to) = (start + 10_000_000_000, start + 30_000_000_000);
    let record = serde_json::json!({"phases": [{"name": "second", "window": {"start_ns": from, "end_ns": to}}]});
    std::fs::write(run.path().join("summary.json"), record.to_string()).unwrap();
    let log = include_str!("../fixtures/control-63e1e1a/audit.jsonl");
    std::fs::write(run.path().join("audit.jsonl"), log).unwrap();
    let view = View::of(run.path());
    let (_, phases) = view.get("/phases");
    assert_eq!(phases["phases"].as_array().unwrap().len(), 1);
    let link = &phases["phases"][0]["links"][0];
    let analyzed = analyze(
        run.path(),
        &["--from-ns", &from.to_string(), "--to-ns", &to.to_string()],
    );
    same(&link["estimate"], &analyzed["links"][0], &ESTIMATE);
    same(link, &analyzed["links"][0], &["verdict"]);
    assert!((link["start_s"].as_f64().unwrap() - 10.0).abs() < 1e-9);
    assert!(link["intervals"].as_u64().unwrap() > 100);
    let (_, changes) = view.get("/changes");
    assert!(!changes["changes"].as_array().unwrap().is_empty());
    // Read, not written.
    assert_eq!(
        std::fs::read_to_string(run.path().join("audit.jsonl")).unwrap(),
        log
    );
}

#[test]
fn what_is_no_capture_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let out = program()
        .args(["view", dir.path().to_str().unwrap()])
        .output()
        .unwrap();
    assert!(!out.status.success());
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("is no capture"), "{said}");
    let beyond = [
        "view",
        fixture().to_str().unwrap(),
        "--listen",
        "192.0.2.1:1",
    ]
    .map(str::to_owned);
    let out = program().args(beyond).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("insecure"), "{said}");
}

/// Reads until all of `words` have appeared.
fn read_until(out: &mut impl std::io::Read, words: &[&str]) -> String {
    let (mut all, mut some) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if words.iter().all(|w| text.contains(w)) {
            return text;
        }
        let n = out.read(&mut some).unwrap();
        assert!(n > 0, "ended before {words:?}: {text}");
        all.extend_from_slice(&some[..n]);
    }
}

/// Runs in a terminal of util-linux's `script`, which ends with the program.
#[test]
fn top_draws_it_in_a_terminal_and_refuses_to_without_one() {
    let dir = run_dir();
    let view = View::of(dir.path());
    let top = format!(
        "{} top --controller http://{}",
        env!("CARGO_BIN_EXE_tidemark-controller"),
        view.address
    );
    let mut child = Command::new("script")
        .args(["-qefc", &format!("stty rows 40 cols 150; exec {top}")])
        .arg("/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .env("TERM", "xterm-256color")
        .spawn()
        .expect("`script` of util-linux");
    let mut keys = child.stdin.take().unwrap();
    let mut out = child.stdout.take().unwrap();
    read_until(&mut out, &["tidemark-controller", "N_b", "state"]);
    keys.write_all(b"\r").unwrap();
    read_until(&mut out, &["base RTT ms", "LBP"]);
    keys.write_all(b"q").unwrap();
    assert!(child.wait().unwrap().success());

    let words: Vec<&str> = top.split(' ').skip(1).collect();
    let refused = program().args(words).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("status"), "{said}");
}

#[test]
fn top_without_a_controller_ends_with_an_error() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let top = format!(
        "{} top --controller http://{address}",
        env!("CARGO_BIN_EXE_tidemark-controller")
    );
    let out = Command::new("script")
        .args(["-qefc", &top, "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .expect("`script` of util-linux");
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(
        said.contains("cannot connect") && said.contains(&address.to_string()),
        "{said}"
    );
}

/// Returns the answer of `set` from a viewer, which sets nothing.
fn set(view: &View, arguments: &[&str]) -> String {
    let out = program()
        .args(["set", "--controller", &format!("http://{}", view.address)])
        .args(arguments)
        .env("TIDEMARK_TOKEN", "any")
        .output()
        .unwrap();
    assert!(!out.status.success());
    String::from_utf8_lossy(&out.stderr).into_owned()
}

#[test]
fn a_limit_in_ms_or_packets_needs_what_makes_bytes_of_it() {
    // The capture does not say the capacity.
    let unknown = View::of(&fixture());
    let at = ["--node", "10", "--port", "1", "--limit"];
    let said = set(&unknown, &[&at[..], &["10ms"]].concat());
    assert!(
        said.contains("capacity of link 10:1 is not known"),
        "{said}"
    );
    assert!(said.contains("[nodes.10.ports.1]"), "{said}");
    for limit in ["100pkts", "125000"] {
        let said = set(&unknown, &[&at[..], &[limit]].concat());
        assert!(said.contains("finished run"), "{limit}: {said}");
    }
    let elsewhere = ["--node", "10", "--port", "7", "--limit"];
    let said = set(&unknown, &[&elsewhere[..], &["10ms"]].concat());
    assert!(said.contains("has not reported yet"), "{said}");

    let run = run_dir();
    let file = run.path().join("capture/capture.json");
    let mut meta: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    meta["config"]["nodes"]["10"]["ports"]["1"]["capacity_bps"] = 50_000_000.into();
    std::fs::write(&file, meta.to_string()).unwrap();
    let known = View::of(run.path());
    let said = set(&known, &[&at[..], &["10ms"]].concat());
    assert!(said.contains("finished run"), "{said}");
}
