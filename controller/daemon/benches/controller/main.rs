// SPDX-License-Identifier: Apache-2.0
//! The controller under many links: `cargo bench --locked -p tidemark-controller --bench controller
//! [-- FLAG...]` (`make bench-controller BENCH="FLAG..."`).
//!
//! Collectors serve generated telemetry over real gRPC to the real program: first the past as fast
//! as the program takes it, then in real time. Measured meanwhile: the program's CPU time and
//! memory, and the event stream that the console requests; afterwards, from the history of every
//! link, the seconds in which the link was estimated and advised.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod collector;
mod counted;
mod load;
mod options;
mod process;
mod traffic;

use client::{Listener, get, median_and_most};
use load::Load;
use options::Options;
use process::Controller;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Limits to keep at the defaults of [`Options`].
const MOST_CORES: f64 = 1.0;
const MOST_RSS_MIB: f64 = 2048.0;
/// Least share of the seconds times links; one second may be cut off at the ends of the span.
const LEAST_SHARE: f64 = 0.95;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Measures only under `cargo bench`, not under `cargo test --benches`.
    if !arguments.iter().any(|a| a == "--bench") {
        return;
    }
    let options = Options::parse(arguments.iter().filter(|a| *a != "--bench"));
    if options.counted {
        return count(&options);
    }
    let result = measure(&options);
    write(&options, &result);
    table(&result);
}

/// Measures CPU time and memory in simulated time, which also works on a busy machine.
fn count(options: &Options) {
    let c = counted::measure(&Load::new(options));
    let result = json!({
        "counted": true,
        "links": options.links,
        "flows_per_link": options.flows,
        "queues_per_port": options.queues,
        "interval_ms": options.interval_ms,
        "cpu_us_per_link_s": (c.taking_cpu_s + c.estimating_cpu_s) * 1e6
            / f64::from(options.links * options.queues),
        "records_per_s": c.records_per_s,
        "taking_cpu_cores": c.taking_cpu_s,
        "estimating_cpu_cores": c.estimating_cpu_s,
        "rss_mib": process::own_rss_mib().0,
        "share_estimated": c.share_estimated,
        "share_advised": c.share_advised,
    });
    write(options, &result);
    println!("{}", serde_json::to_string_pretty(&result).unwrap());
}

fn write(options: &Options, result: &Value) {
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(result).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
        eprintln!("raw figures: {}", path.display());
    }
}

fn measure(options: &Options) -> Value {
    let load = Arc::new(Load::new(options));
    let collectors = collector::start(&load);
    let controller = Controller::start(&load, &collectors.addresses);
    eprintln!(
        "{} s of the past for {} links...",
        options.past_s,
        load.links.len()
    );
    let began = Instant::now();
    collectors.wait_until_live();
    let past_took_s = began.elapsed().as_secs_f64();
    eprintln!(
        "sent in {past_took_s:.1} s; settling for {} s...",
        options.settle_s
    );
    std::thread::sleep(Duration::from_secs(options.settle_s));

    let listener = Listener::start(&controller.address, load.links[0]);
    std::thread::sleep(Duration::from_secs(2));
    let sent_before = collectors.sent();
    let (cpu_before, events_before) = (controller.cpu_s(), listener.seen());
    let started = Instant::now();
    eprintln!("measuring for {} s...", options.measure_s);
    let mut answers_ms = Vec::new();
    let (node, port) = load.links[0];
    while started.elapsed().as_secs() < options.measure_s {
        let asked = Instant::now();
        get(
            &controller.address,
            &format!("/links/{node}/{port}/series?last_s=60"),
        );
        answers_ms.push(asked.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_secs(1).saturating_sub(asked.elapsed()));
    }
    let elapsed_s = started.elapsed().as_secs_f64();
    let cpu_s = controller.cpu_s() - cpu_before;
    let (events, bytes) = listener.seen();
    let (events, bytes) = (events - events_before.0, bytes - events_before.1);
    let sent = collectors.sent() - sent_before;
    let (rss_mib, most_rss_mib) = controller.rss_mib();

    let (mut estimated, mut advised) = (0, 0);
    for &(node, port) in &load.links {
        // The newest point belongs to the last estimate.
        let path = format!(
            "/links/{node}/{port}/estimates?last_s={}&max_points=20000",
            options.measure_s
        );
        let points = get(&controller.address, &path);
        let times = points["time_ns"].as_array().unwrap();
        let advice = points["advised_bytes"].as_array().unwrap();
        estimated += times.len();
        advised += advice.iter().filter(|a| !a.is_null()).count();
    }
    let wanted = load.links.len() as f64 * options.measure_s as f64;
    let share = |n: usize| (n as f64 / wanted).min(1.0);
    let status = get(&controller.address, "/status");
    let lost: u64 = status["collectors"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|c| c["updates_lost"].as_u64())
        .sum();
    let (median_ms, most_ms) = median_and_most(&mut answers_ms);
    json!({
        "links": load.links.len(),
        "switches": options.switches,
        "collectors": options.collectors,
        "flows_per_link": options.flows,
        "queues_per_port": options.queues,
        "interval_ms": options.interval_ms,
        "past_s": options.past_s,
        "past_took_s": past_took_s,
        "measured_s": elapsed_s,
        "records_per_s": sent as f64 / elapsed_s,
        "cpu_cores": cpu_s / elapsed_s,
        "cpu_us_per_link_s": cpu_s * 1e6 / elapsed_s / f64::from(options.links * options.queues),
        "cpu_ms_per_link_estimated": cpu_s * 1e3 / (estimated as f64).max(1.0),
        "rss_mib": rss_mib,
        "most_rss_mib": most_rss_mib,
        "share_estimated": share(estimated),
        "share_advised": share(advised),
        "updates_lost": lost,
        "updates_behind_s": collectors.behind_s(),
        "events_per_s": events as f64 / elapsed_s,
        "event_bytes": bytes as f64 / (events as f64).max(1.0),
        "event_bytes_per_s": bytes as f64 / elapsed_s,
        "answer_median_ms": median_ms,
        "answer_most_ms": most_ms,
    })
}

fn table(r: &Value) {
    let f = |key: &str| r[key].as_f64().unwrap();
    let verdict = |ok: bool| if ok { "" } else { "BELOW" };
    println!(
        "{} links on {} switches, {} collectors, {} flows each, intervals of {} ms: {:.0} records/s",
        r["links"],
        r["switches"],
        r["collectors"],
        r["flows_per_link"],
        r["interval_ms"],
        f("records_per_s")
    );
    let row = |what: &str, wanted: &str, value: String, ok: bool| {
        println!("{what:52} {wanted:>10} {value:>12} {}", verdict(ok));
    };
    row(
        "CPU, cores",
        "at most 1",
        format!("{:.2}", f("cpu_cores")),
        f("cpu_cores") <= MOST_CORES,
    );
    row(
        "CPU per estimate of a link, everything counted, ms",
        "-",
        format!("{:.2}", f("cpu_ms_per_link_estimated")),
        true,
    );
    row(
        "resident memory, MiB",
        "2048",
        format!("{:.0}", f("rss_mib")),
        f("rss_mib") <= MOST_RSS_MIB,
    );
    for (what, key) in [
        ("links estimated each second, share", "share_estimated"),
        ("links advised each second, share", "share_advised"),
    ] {
        row(what, "all", format!("{:.3}", f(key)), f(key) >= LEAST_SHARE);
    }
    let in_time = f("updates_lost") == 0.0 && f("updates_behind_s") < 1.0;
    row(
        "updates lost; behind, s",
        "0; < 1",
        format!("{}; {:.2}", f("updates_lost"), f("updates_behind_s")),
        in_time,
    );
    row(
        "event stream of the console, kB/s",
        "-",
        format!("{:.0}", f("event_bytes_per_s") / 1e3),
        true,
    );
    row(
        "its updates, per s",
        "-",
        format!("{:.2}", f("events_per_s")),
        true,
    );
    row(
        "a link's series of 60 s: answer, median ms",
        "-",
        format!("{:.1}", f("answer_median_ms")),
        true,
    );
    row(
        "... longest",
        "-",
        format!("{:.1}", f("answer_most_ms")),
        true,
    );
}
