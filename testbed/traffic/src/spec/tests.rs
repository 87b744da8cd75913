// SPDX-License-Identifier: Apache-2.0
use super::*;

fn read(text: &str) -> Result<Spec, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spec.json");
    std::fs::write(&path, text).unwrap();
    Spec::read(&path)
}

const GOOD: &str = r#"{
  "version": 1, "seed": 3,
  "listeners": [{"name": "bulk", "address": "127.0.0.1:5001"}],
  "flows": [{"name": "a", "kind": "lbp", "destination": "127.0.0.1:5001",
             "congestion_control": "reno", "base_rtt_ms": 10}],
  "poisson": [{"name": "s", "destination": "127.0.0.1:5001", "arrivals_per_s": 5,
               "size": {"distribution": "exponential", "mean_bytes": 2e4, "max_bytes": 100000}}]
}"#;

#[test]
fn a_good_spec_is_read() {
    let spec = read(GOOD).unwrap();
    assert_eq!(spec.flows[0].kind, Kind::Lbp);
    assert_eq!(spec.poisson[0].max_open, 1000);
}

#[test]
fn unknown_keys_are_errors_with_line_and_key() {
    let error = read(&GOOD.replace("base_rtt_ms", "rtt")).unwrap_err();
    assert!(error.contains("rtt") && error.contains("line"), "{error}");
}

#[test]
fn bad_values_name_their_field() {
    for (from, to, field) in [
        ("\"version\": 1", "\"version\": 9", "version"),
        (
            "\"arrivals_per_s\": 5",
            "\"arrivals_per_s\": 0",
            "poisson.s.arrivals_per_s",
        ),
        ("2e4", "0", "poisson.s.size"),
        (
            "\"base_rtt_ms\": 10",
            "\"start_s\": 5, \"stop_s\": 5",
            "flows.a.stop_s",
        ),
        (
            "\"base_rtt_ms\": 10",
            "\"source\": \"[::1]:0\"",
            "flows.a.source",
        ),
        (
            "\"base_rtt_ms\": 10",
            "\"transport\": \"quic\"",
            "flows.a.congestion_control",
        ),
        (
            "\"address\": \"127.0.0.1:5001\"",
            "\"address\": \"127.0.0.1:5001\", \"transport\": \"quic\", \"receive_buffer_bytes\": 4096",
            "listeners.bulk.transport",
        ),
        (
            "\"address\": \"127.0.0.1:5001\"",
            "\"address\": \"127.0.0.1:5001\", \"receive_buffer_bytes\": 10",
            "listeners.bulk.receive_buffer_bytes",
        ),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = read(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(field), "{field}: {error}");
    }
}

#[test]
fn datagrams_name_the_field_at_fault() {
    let good =
        r#"{"name": "u", "destination": "127.0.0.1:9", "rate_bps": 1e6, "packet_bytes": 1500}"#;
    let check = |from: &str, to: &str| {
        let one = good.replacen(from, to, 1);
        let text = format!(r#"{{"version": 1, "seed": 1, "datagrams": [{one}]}}"#);
        serde_json::from_str::<Spec>(&text).unwrap().check()
    };
    assert_eq!(check("", ""), Ok(()));
    for (from, to, field) in [
        ("1e6", "0", "datagrams.u.rate_bps"),
        ("1500", "28", "datagrams.u.packet_bytes"),
        ("1500", "1500, \"stop_s\": 0", "datagrams.u.stop_s"),
        (
            "1500",
            "1500, \"source\": \"[::1]:0\"",
            "datagrams.u.source",
        ),
    ] {
        assert_eq!(check(from, to).unwrap_err().0, field);
    }
    let udp = GOOD.replacen("\"base_rtt_ms\": 10", "\"transport\": \"udp\"", 1);
    let error = read(&udp).unwrap_err();
    assert!(error.contains("flows.a.transport"), "{error}");
}

#[test]
fn a_name_twice_is_an_error() {
    let mut spec = read(GOOD).unwrap();
    spec.flows.push(spec.flows[0].clone());
    assert_eq!(spec.check().unwrap_err().0, "flows.name");
}
