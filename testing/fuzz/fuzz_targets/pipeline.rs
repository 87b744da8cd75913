// SPDX-License-Identifier: Apache-2.0
//! Fuzzes the pipeline with datagrams and samples of any kind: nothing panics, every report is
//! accounted for, and pushing datagrams together equals pushing their reports one by one.
#![no_main]

use int_report::FlowKey;
use std::net::{IpAddr, Ipv4Addr};
use tcp_probe::{Event, Sample};
use tidemark_pipeline::{Config, Datagram, Pipeline, VecSink};

/// Parses the input: operation (1 byte), length (1 byte), content.
fn operations(mut data: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[op, length], rest) = data.split_first_chunk::<2>()?;
        let (contents, rest) = rest.split_at(usize::from(length).min(rest.len()));
        data = rest;
        Some((op, contents))
    })
}

fn pipeline() -> Pipeline<VecSink> {
    let config = Config {
        local_host: Some("local".into()),
        max_flows: 16,
        max_pending: 1024,
        ..Config::default()
    };
    Pipeline::new(config, VecSink::default()).unwrap()
}

const EXPORTER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Pushes several datagrams at once to one pipeline, and report by report to the other.
fn push(
    (many, single): (&mut Pipeline<VecSink>, &mut Pipeline<VecSink>),
    batch: &mut Vec<(u64, &[u8])>,
) {
    many.push_datagrams(
        batch.iter().map(|&(rx_ns, payload)| Datagram {
            exporter: EXPORTER,
            rx_ns,
            payload,
        }),
        |_, _| {},
    );
    for (rx_ns, payload) in batch.drain(..) {
        let _ = int_report::decode(payload, |r| single.push_report(EXPORTER, r, rx_ns));
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (mut many, mut single) = (pipeline(), pipeline());
    let mut batch = Vec::new();
    let mut rx_ns = 1_000_000_000u64;
    for (op, contents) in operations(data) {
        rx_ns += u64::from(op >> 2) * 1_000_000;
        if op & 3 < 2 {
            batch.push((rx_ns, contents));
        }
        if op & 3 > 0 {
            push((&mut many, &mut single), &mut batch);
        }
        match op & 3 {
            0 | 1 => {}
            2 => {
                let word = |at: usize| {
                    contents
                        .get(at..at + 4)
                        .map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
                };
                let event = Event::Probe(Sample {
                    time_ns: rx_ns.wrapping_add(u64::from(word(0))),
                    flow: FlowKey {
                        src: IpAddr::from(word(4).to_be_bytes()),
                        dst: IpAddr::from(word(8).to_be_bytes()),
                        src_port: word(12) as u16,
                        dst_port: (word(12) >> 16) as u16,
                        protocol: 6,
                    },
                    data_len: 0,
                    snd_nxt: word(16),
                    snd_una: word(20),
                    snd_cwnd: word(24),
                    ssthresh: 1,
                    snd_wnd: 1,
                    srtt_us: word(28),
                    rcv_wnd: 1,
                    sock_cookie: 1,
                });
                many.push_event("local", event);
                single.push_event("local", event);
            }
            _ => {
                many.advance(rx_ns);
                single.advance(rx_ns);
            }
        }
    }
    push((&mut many, &mut single), &mut batch);
    many.finish();
    single.finish();
    let s = many.stats();
    assert_eq!(s, single.stats());
    let explained = s.postcard_rows
        + s.reports_duplicate
        + s.reports_without_time
        + s.reports_implausible_time
        + s.nodes_refused
        + s.inner_errors.iter().sum::<u64>()
        + s.drop_summaries
        + s.drops_not_of_queue;
    assert_eq!(s.reports, explained);
    let (a, b) = (many.sink(), single.sink());
    assert_eq!(a.postcards.len() as u64, s.postcard_rows);
    assert_eq!(a.postcards, b.postcards);
    assert_eq!(a.probes, b.probes);
    assert_eq!(a.events, b.events);
    assert_eq!(a.updates, b.updates);
});
