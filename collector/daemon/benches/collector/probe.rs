// SPDX-License-Identifier: Apache-2.0
//! Parsing of tcp_probe: records of perf rings, and text.

use crate::figure::{Row, per_core};
use std::collections::HashMap;
use std::hint::black_box;
use tcp_probe::Event;
use tcp_probe::format::Format;
use tcp_probe::layout::Layout;
use tcp_probe::ring::Record;
use tcp_probe::text::parse_line;

#[path = "../../../tcp-probe/tests/common/recorded.rs"]
mod recorded;

const ROUNDS: u64 = 20;
const LINES: usize = 50_000;

fn used(event: &Event) -> u64 {
    match event {
        Event::Probe(s) => s
            .time_ns
            .wrapping_add(u64::from(s.snd_nxt) + u64::from(s.snd_una) + u64::from(s.snd_cwnd))
            .wrapping_add(u64::from(s.srtt_us) + u64::from(s.flow.src_port) + s.sock_cookie)
            .wrapping_add(u64::from(s.flow.src.is_ipv4())),
        other => other.time_ns(),
    }
}

pub(crate) fn ring() -> Row {
    let mut layout = Layout::default();
    let format = |text| Format::parse(text).unwrap();
    layout
        .set_probe(&format(include_str!(
            "../../../tcp-probe/fixtures/tcp_probe.linux-6.18.format"
        )))
        .unwrap();
    layout
        .set_cong_state(&format(include_str!(
            "../../../tcp-probe/fixtures/tcp_cong_state_set.linux-6.18.format"
        )))
        .unwrap();
    let records = recorded::records();
    const REPEAT: usize = 20_000;
    Row::median(
        "tcp_probe samples from perf ring records, per core",
        5e6,
        || {
            let mut events = 0;
            let before = crate::figure::process_cpu();
            let mut sum = 0u64;
            for _ in 0..ROUNDS {
                for &(kind, body) in records.iter().cycle().take(records.len() * REPEAT) {
                    if let Record::Sample { time_ns, raw } = Record::read(kind, black_box(body))
                        && let Some(event) = layout.read(time_ns, raw)
                    {
                        events += 1;
                        sum = sum.wrapping_add(used(&event));
                    }
                }
            }
            black_box(sum);
            assert!(events >= ROUNDS * REPEAT as u64);
            events as f64 / (crate::figure::process_cpu() - before).as_secs_f64()
        },
    )
}

fn lines() -> Vec<String> {
    (0..LINES)
        .map(|n| {
            format!(
                "          <idle>-0       [001] ..s2. {:5}.{:06}: tcp_probe: family=AF_INET \
                 src=10.1.{}.2:49153 dest=10.0.0.2:5044 mark=0x0 data_len=0 snd_nxt={:#x} \
                 snd_una={:#x} snd_cwnd={} ssthresh=2147483647 snd_wnd=5792 srtt={} \
                 rcv_wnd=65535 sock_cookie={:x} skbaddr=0000000016738dd3 \
                 skaddr=0000000036cb9e98",
                n / 1000,
                n,
                n % 60,
                n * 1448,
                n * 1448 + 14480,
                n % 100,
                20_000 + n % 1000,
                n % 60
            )
        })
        .collect()
}

pub(crate) fn text() -> Row {
    let lines = lines();
    Row::median("tcp_probe text lines, per core", 3e6, || {
        per_core(ROUNDS * LINES as u64, || {
            let mut sum = 0u64;
            for line in (0..ROUNDS).flat_map(|_| &lines) {
                if let Ok(Some(event)) = parse_line(black_box(line.as_bytes())) {
                    sum = sum.wrapping_add(used(&event));
                }
            }
            black_box(sum);
        })
    })
}

/// Measures a parser that splits lines into words and looks up the fields by name.
pub(crate) fn text_naive() -> Row {
    let lines = lines();
    Row::median(
        "the same by splitting and looking up words, per core",
        0.0,
        || {
            per_core(2 * LINES as u64, || {
                let mut sum = 0u64;
                for line in (0..2).flat_map(|_| &lines) {
                    let words: Vec<&str> = black_box(line).split_whitespace().collect();
                    let time: f64 = words[3].trim_end_matches(':').parse().unwrap();
                    let fields: HashMap<&str, &str> =
                        words.iter().filter_map(|w| w.split_once('=')).collect();
                    let src: std::net::SocketAddr = fields["src"].parse().unwrap();
                    let dst: std::net::SocketAddr = fields["dest"].parse().unwrap();
                    let hex = |name| u64::from_str_radix(&fields[name][2..], 16).unwrap();
                    let dec = |name| fields[name].parse::<u64>().unwrap();
                    sum = sum
                        .wrapping_add((time * 1e9) as u64 + hex("snd_nxt") + hex("snd_una"))
                        .wrapping_add(dec("snd_cwnd") + dec("ssthresh") + dec("snd_wnd"))
                        .wrapping_add(dec("srtt") + dec("rcv_wnd") + dec("data_len"))
                        .wrapping_add(u64::from(src.port()) + u64::from(dst.port()));
                }
                black_box(sum);
            })
        },
    )
}
