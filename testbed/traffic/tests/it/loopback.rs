// SPDX-License-Identifier: Apache-2.0
//! Whole runs over loopback.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::future::{Future, pending};
use std::net::SocketAddr;

use tidemark_traffic::run::{Part, run};
use tidemark_traffic::spec::{Kind, Spec, Transport};
use tidemark_traffic::truth::Truth;

/// Returns a port that was free a moment ago.
fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn spec(address: SocketAddr, rest: &str) -> Spec {
    let spec: Spec = serde_json::from_str(&format!(
        r#"{{"version": 1, "seed": 5,
            "listeners": [{{"name": "bulk", "address": "{address}"}}], {rest}}}"#
    ))
    .unwrap();
    spec.check().unwrap();
    spec
}

fn go(spec: &Spec, part: Part, shutdown: impl Future<Output = ()>) -> Result<Truth, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(run(spec, part, shutdown, || ()))
}

/// Made inside the runtime, when first polled.
async fn after_ms(ms: u64) {
    tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
}

#[test]
fn the_truth_agrees_with_what_the_receiver_counted() {
    let address = free_address();
    let spec = spec(
        address,
        &format!(
            r#""flows": [
              {{"name": "fixed", "kind": "lbp", "destination": "{address}", "bytes": 3000000,
                "congestion_control": "reno", "base_rtt_ms": 0.1}},
              {{"name": "small", "kind": "wl", "destination": "{address}", "bytes": 10,
                "congestion_control": "cubic", "start_s": 0.05}}],
            "poisson": [{{"name": "s", "destination": "{address}", "arrivals_per_s": 200,
              "stop_s": 0.5, "size": {{"distribution": "fixed", "bytes": 5000}}}}]"#
        ),
    );
    let truth = go(&spec, Part::All, pending()).unwrap();
    assert!(!truth.interrupted);
    let of = |name: &str| truth.flows.iter().find(|f| f.name == name).unwrap();
    assert_eq!(of("fixed").bytes_acked(), 3_000_000);
    assert_eq!(of("fixed").congestion_control, "reno");
    assert_eq!(of("fixed").base_rtt_ms, Some(0.1));
    assert_eq!(of("small").congestion_control, "cubic");
    assert!(of("fixed").source.port() != 0);
    assert!(truth.flows.iter().all(|f| f.complete && f.error.is_none()));
    assert!(
        truth
            .flows
            .iter()
            .all(|f| f.start.mono_raw_ns <= f.stop.mono_raw_ns)
    );
    let shorts = truth.flows.iter().filter(|f| f.kind == Kind::Short).count();
    assert!(shorts > 0);
    let acked: u64 = truth.flows.iter().map(|f| f.bytes_acked()).sum();
    let bulk = &truth.listeners["bulk"];
    assert_eq!(acked, 3_000_010 + 5000 * shorts as u64);
    assert_eq!(bulk.bytes_received, acked);
    assert_eq!(bulk.connections, truth.flows.len() as u64);
}

#[test]
fn endless_flows_stop_at_the_shutdown_and_their_truth_is_kept() {
    let address = free_address();
    let spec = spec(
        address,
        &format!(r#""flows": [{{"name": "a", "kind": "lbp", "destination": "{address}"}}]"#),
    );
    let truth = go(&spec, Part::All, after_ms(200)).unwrap();
    assert!(truth.interrupted);
    let flow = &truth.flows[0];
    assert!(!flow.complete && flow.error.is_none());
    assert!(flow.bytes_acked() > 0);
    assert!(truth.listeners["bulk"].bytes_received > 0);
}

#[test]
fn a_flow_stops_at_its_own_time_and_the_run_at_its_duration() {
    let address = free_address();
    let mut spec = spec(
        address,
        &format!(
            r#""flows": [{{"name": "a", "kind": "lbp", "destination": "{address}", "stop_s": 0.1}},
                         {{"name": "b", "kind": "lbp", "destination": "{address}"}}]"#
        ),
    );
    spec.duration_s = Some(0.4);
    let truth = go(&spec, Part::All, pending()).unwrap();
    assert!(!truth.interrupted, "its duration is not an interruption");
    let stop = |name: &str| {
        let flow = truth.flows.iter().find(|f| f.name == name).unwrap();
        flow.stop.mono_raw_ns
    };
    assert!(stop("a") < stop("b"));
}

#[test]
fn nobody_listening_ends_the_run_with_the_reason() {
    let address = free_address();
    let spec = spec(
        address,
        &format!(r#""flows": [{{"name": "a", "kind": "lbp", "destination": "{address}"}}]"#),
    );
    let truth = go(&spec, Part::Senders, pending()).unwrap();
    assert!(truth.interrupted);
    let error = truth.flows[0].error.as_deref().unwrap();
    assert!(error.contains("refused"), "{error}");
}

#[test]
fn a_port_in_use_is_an_error_naming_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = go(&spec(address, r#""flows": []"#), Part::All, pending()).unwrap_err();
    assert!(error.contains(&address.to_string()), "{error}");
}

#[test]
fn a_receiver_alone_waits_for_its_shutdown() {
    let address = free_address();
    let spec = spec(address, r#""flows": []"#);
    let truth = go(&spec, Part::Listeners, after_ms(50)).unwrap();
    assert!(truth.interrupted);
    assert_eq!(truth.listeners["bulk"].connections, 0);
}

#[test]
fn users_transfer_one_after_the_other_and_think_between() {
    let address = free_address();
    let spec = spec(
        address,
        &format!(
            r#""duration_s": 1.0, "closed_loop": [{{"name": "u", "users": 3, "think_s": 0.05,
               "destination": "{address}", "size": {{"distribution": "fixed", "bytes": 5000}}}}]"#
        ),
    );
    let truth = go(&spec, Part::All, pending()).unwrap();
    let whole: Vec<_> = truth.flows.iter().filter(|f| f.complete).collect();
    assert!(whole.len() > 6, "{}", whole.len());
    assert!(
        whole
            .iter()
            .all(|f| f.bytes_acked() == 5000 && f.kind == Kind::Short)
    );
    for user in 1..=3 {
        let own = format!("u-{user}-");
        let turns: Vec<_> = whole.iter().filter(|f| f.name.starts_with(&own)).collect();
        assert!(
            turns
                .windows(2)
                .all(|w| w[0].stop.mono_raw_ns < w[1].start.mono_raw_ns),
            "transfers of one user overlap"
        );
    }
}

/// Returns a UDP port that was free a moment ago.
fn free_udp_address() -> SocketAddr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

fn quic_spec(address: SocketAddr, rest: &str) -> Spec {
    let mut spec = spec(address, rest);
    spec.listeners[0].transport = Transport::Quic;
    spec.check().unwrap();
    spec
}

#[test]
fn quic_flows_of_every_control_deliver_what_the_receiver_counted() {
    let address = free_udp_address();
    let flow = |name: &str, size: &str| {
        format!(
            r#"{{"name": "{name}", "kind": "lbp", "transport": "quic", "destination": "{address}",
                "congestion_control": "{name}", "source": "127.0.0.1:0", "base_rtt_ms": 0.1{size}}}"#
        )
    };
    let flows = [
        flow("cubic", r#", "bytes": 3000000"#),
        flow("bbr", r#", "bytes": 200000"#),
        flow("newreno", ""),
        flow("cubic", r#", "stop_s": 1.5"#).replacen("cubic", "stops", 1),
    ];
    let rest = format!(
        r#""duration_s": 4.0, "flows": [{}],
            "poisson": [{{"name": "s", "transport": "quic", "destination": "{address}",
              "arrivals_per_s": 20, "stop_s": 0.5,
              "size": {{"distribution": "fixed", "bytes": 5000}}}}]"#,
        flows.join(", ")
    );
    let truth = go(&quic_spec(address, &rest), Part::All, pending()).unwrap();
    let errors: Vec<_> = truth
        .flows
        .iter()
        .filter_map(|f| f.error.as_ref())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    let of = |name: &str| truth.flows.iter().find(|f| f.name == name).unwrap();
    assert_eq!(of("cubic").bytes_acked(), 3_000_000);
    assert_eq!(of("bbr").congestion_control, "bbr");
    let endless = of("newreno");
    assert!(!endless.complete && endless.bytes_acked() > 1_000_000);
    let stopped = of("stops");
    assert!(!stopped.complete && stopped.bytes_acked() > 10_000);
    assert!(stopped.stop.mono_raw_ns + 2_000_000_000 < endless.stop.mono_raw_ns);
    assert!(
        truth
            .flows
            .iter()
            .all(|f| f.protocol == 17 && f.tcp.is_none())
    );
    assert_eq!(endless.quic.unwrap().datagram_bytes, 8972);
    let own = "127.0.0.1".parse::<std::net::IpAddr>().unwrap();
    assert!(truth.flows.iter().all(|f| f.source.ip() == own));
    // Each flow has its own socket.
    let ports: std::collections::HashSet<_> = truth.flows.iter().map(|f| f.source.port()).collect();
    assert_eq!(ports.len(), truth.flows.len());
    assert!(truth.flows.len() > 4);
    let counted = &truth.listeners["bulk"];
    let delivered: u64 = truth.flows.iter().map(|f| f.bytes_acked()).sum();
    assert_eq!(counted.bytes_received, delivered);
    assert_eq!(counted.connections, truth.flows.len() as u64);
    assert_eq!(counted.errors, 0);
}

#[test]
fn a_quic_flow_that_nobody_answers_says_so() {
    let address = free_udp_address();
    let rest = format!(
        r#""flows": [{{"name": "a", "kind": "lbp", "transport": "quic",
           "destination": "{address}"}}]"#
    );
    let truth = go(&spec(address, &rest), Part::Senders, after_ms(300)).unwrap();
    let error = truth.flows[0].error.as_deref().unwrap();
    assert!(error.contains("not connected"), "{error}");
    assert!(truth.flows[0].quic.is_none());
}

#[test]
fn datagrams_are_sent_at_their_rate_and_counted() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let spec: Spec = serde_json::from_str(&format!(
        r#"{{"version": 1, "seed": 5, "duration_s": 1.5,
            "listeners": [{{"name": "udp", "address": "{address}", "transport": "udp"}}],
            "datagrams": [
              {{"name": "a", "destination": "{address}", "rate_bps": 4e6, "packet_bytes": 500,
                "stop_s": 1.0}},
              {{"name": "b", "destination": "{address}", "rate_bps": 4e5, "packet_bytes": 100}}]}}"#
    ))
    .unwrap();
    spec.check().unwrap();
    let truth = go(&spec, Part::All, pending()).unwrap();
    assert!(!truth.interrupted);
    let state = |name: &str| {
        let flow = truth.flows.iter().find(|f| f.name == name).unwrap();
        assert_eq!(
            (flow.kind, flow.protocol, &flow.error),
            (Kind::Udp, 17, &None)
        );
        assert!(flow.stop.mono_raw_ns > flow.start.mono_raw_ns);
        flow.udp.unwrap()
    };
    let (a, b) = (state("a"), state("b"));
    // 1000 and 750 expected.
    assert!(a.packets_sent.abs_diff(1000) < 200, "{a:?}");
    assert!(b.packets_sent.abs_diff(750) < 200, "{b:?}");
    assert_eq!(a.ip_bytes_sent, 500 * a.packets_sent);
    assert_eq!((a.packets_refused, b.packets_refused), (0, 0));
    let received = truth.listeners["udp"].bytes_received;
    assert_eq!(received, 472 * a.packets_sent + 72 * b.packets_sent);
}
