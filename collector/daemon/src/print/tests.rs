// SPDX-License-Identifier: Apache-2.0
use super::*;
use int_report::Report;
use int_report::encode::{encode, postcard};
use serde_json::{Value, json};
use std::net::Ipv4Addr;

const EXPORTER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

fn printed(payloads: &[&[u8]], count: Option<u64>) -> Vec<Value> {
    let mut printer = Printer {
        out: Vec::new(),
        left: count,
        account: FrameAccount::default(),
    };
    for payload in payloads {
        if !printer.datagram(EXPORTER, payload).unwrap() {
            break;
        }
    }
    let text = String::from_utf8(printer.out).unwrap();
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

/// IPv4 and TCP headers of a packet of 1500 bytes, ECT(0).
fn inner() -> Vec<u8> {
    let mut ip = vec![
        0x45, 2, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    ip.extend([
        0x13, 0x88, 0x13, 0x89, 0, 0, 1, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0,
    ]);
    ip
}

#[test]
fn a_report_is_one_line() {
    let inner = inner();
    let payload = encode(&[postcard(10, 77, (2, 1), &inner)]).unwrap();
    let lines = printed(&[&payload], None);
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert_eq!(line["exporter"], "192.0.2.7");
    assert_eq!(
        (&line["node_id"], &line["sequence"]),
        (&json!(10), &json!(77))
    );
    assert_eq!(
        (&line["src"], &line["dst_port"]),
        (&json!("10.0.0.1"), &json!(5001))
    );
    assert_eq!(
        (&line["tcp_seq"], &line["payload_bytes"]),
        (&json!(256), &json!(1460))
    );
    assert_eq!(
        (&line["ecn"], &line["version"]),
        (&json!("ECT(0)"), &json!("2.0"))
    );
    assert_eq!(line.get("packet_error"), None);
}

#[test]
fn what_cannot_be_read_says_why() {
    let lines = printed(&[&[0x20, 0, 0], b"nonsense that is no report"], None);
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert!(
            line["error"].as_str().is_some_and(|e| !e.is_empty()),
            "{line}"
        );
    }
    assert_eq!(lines[0]["datagram_bytes"], 3);
    let no_packet = encode(&[postcard(1, 1, (2, 1), &[])]).unwrap();
    let lines = printed(&[&no_packet], None);
    assert!(lines[0]["packet_error"].is_string(), "{}", lines[0]);
}

#[test]
fn it_ends_after_as_many_as_were_asked_for() {
    let inner = inner();
    let report = postcard(1, 1, (2, 1), &inner);
    let second = Report {
        first_in_datagram: false,
        ..report
    };
    let payload = encode(&[report, second]).unwrap();
    assert_eq!(printed(&[&payload, &payload, &payload], Some(3)).len(), 3);
}
