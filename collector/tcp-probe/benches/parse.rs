// SPDX-License-Identifier: Apache-2.0
//! Samples per second from ring records and from text, compared with a naive text parser in the
//! same run. `cargo bench -p tcp-probe` prints the medians.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tcp_probe::Event;
use tcp_probe::format::Format;
use tcp_probe::layout::Layout;
use tcp_probe::ring::Record;
use tcp_probe::text::parse_line;

#[path = "../tests/common/recorded.rs"]
mod recorded;

fn main() {
    divan::main();
}

const RECORDS: usize = 20_000;

fn lines() -> Vec<String> {
    (0..RECORDS)
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

fn use_event(event: &Event) -> u64 {
    match event {
        Event::Probe(s) => s
            .time_ns
            .wrapping_add(u64::from(s.snd_nxt) + u64::from(s.snd_una) + u64::from(s.snd_cwnd))
            .wrapping_add(u64::from(s.srtt_us) + u64::from(s.flow.src_port) + s.sock_cookie)
            .wrapping_add(u64::from(s.flow.src.is_ipv4())),
        other => other.time_ns(),
    }
}

#[divan::bench]
fn text_lines(bencher: Bencher<'_, '_>) {
    let lines = lines();
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        let mut sum = 0u64;
        for line in &lines {
            if let Ok(Some(event)) = parse_line(black_box(line.as_bytes())) {
                sum = sum.wrapping_add(use_event(&event));
            }
        }
        sum
    });
}

/// Splits into words and looks the fields up by name.
#[divan::bench]
fn text_lines_naive(bencher: Bencher<'_, '_>) {
    let lines = lines();
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        let mut sum = 0u64;
        for line in &lines {
            let line = black_box(line);
            let words: Vec<&str> = line.split_whitespace().collect();
            let time: f64 = words[3].trim_end_matches(':').parse().unwrap();
            let fields: HashMap<&str, &str> = words
                .iter()
                .filter_map(|word| word.split_once('='))
                .collect();
            let src: std::net::SocketAddr = fields["src"].parse().unwrap();
            let dst: std::net::SocketAddr = fields["dest"].parse().unwrap();
            let hex = |name| u64::from_str_radix(&fields[name][2..], 16).unwrap();
            let dec = |name| fields[name].parse::<u64>().unwrap();
            sum = sum
                .wrapping_add((time * 1e9) as u64 + hex("snd_nxt") + hex("snd_una"))
                .wrapping_add(dec("snd_cwnd") + dec("ssthresh") + dec("snd_wnd") + dec("srtt"))
                .wrapping_add(dec("rcv_wnd") + dec("data_len"))
                .wrapping_add(u64::from(src.port()) + u64::from(dst.port()));
        }
        sum
    });
}

/// The recorded samples of a kernel, repeated.
#[divan::bench]
fn ring_samples(bencher: Bencher<'_, '_>) {
    let mut layout = Layout::default();
    let format = |text| Format::parse(text).unwrap();
    layout
        .set_probe(&format(include_str!(
            "../fixtures/tcp_probe.linux-6.18.format"
        )))
        .unwrap();
    layout
        .set_cong_state(&format(include_str!(
            "../fixtures/tcp_cong_state_set.linux-6.18.format"
        )))
        .unwrap();
    let records = recorded::records();
    let repeat = RECORDS / records.len();
    bencher
        .counter(ItemsCount::new(records.len() * repeat))
        .bench_local(|| {
            let mut sum = 0u64;
            for &(kind, body) in records.iter().cycle().take(records.len() * repeat) {
                if let Record::Sample { time_ns, raw } = Record::read(kind, black_box(body))
                    && let Some(event) = layout.read(time_ns, raw)
                {
                    sum = sum.wrapping_add(use_event(&event));
                }
            }
            sum
        });
}
