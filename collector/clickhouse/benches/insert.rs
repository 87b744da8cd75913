// SPDX-License-Identifier: Apache-2.0
//! Compares rows per second and per core of our client and of the official client (feature
//! `official-client`) when inserting. The server reads and discards the rows.
//!
//!     cargo bench -p tidemark-clickhouse --features official-client
//!
//! Measures the CPU time of the client's thread, so that the server's share of the machine does not
//! matter. Medians of 5.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use tidemark_clickhouse::block::{Builder, Common, column_list};
use tidemark_clickhouse::{ClickHouseConfig, Client, Compression, Database as _};
use tidemark_rows::{Join, PostcardRow};

const ROWS: usize = 500_000;
const RUNS: usize = 5;

/// Rows like those of a bottleneck with 100 flows, so that they compress as in practice.
fn rows() -> Vec<PostcardRow> {
    (0..ROWS as u64)
        .map(|i| {
            let flow = (i * 7919) % 100;
            let queue = (i * 31) % 200;
            PostcardRow {
                order: i,
                rx_ns: 10_000_000_000 + i * 1230,
                node_id: 10,
                sequence: i as u32,
                flow_id: flow.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                ingress_port: 2 + (flow % 4) as u32,
                port: 1,
                ingress_ns: 1_000_000_000 + i * 1230 + (i * 7) % 900,
                egress_ns: 1_000_000_000 + i * 1230 + queue * 1230,
                occupancy_bytes: queue * 1514,
                limit_bytes: 302_800,
                ip_bytes: 1500,
                wire_overhead_bytes: 38,
                payload_bytes: 1448,
                tcp_seq: (i / 100 * 1448) as u32,
                tcp_flags: 0x10,
                dropped: i % 1000 == 999,
                join: Join::Sequence,
                cwnd: 10 + ((i / 5000 + flow) % 80) as u32,
                ssthresh: 40,
                srtt_us: 20_000 + (queue * 12) as u32,
                ..PostcardRow::default()
            }
        })
        .collect()
}

/// Reads and discards requests, with a `Content-Length` or chunked, and answers 200.
fn forget(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 20, stream.try_clone()?);
    let mut stream = stream;
    let mut skip = vec![0; 1 << 20];
    loop {
        let (mut length, mut chunked, mut line) = (0usize, false, String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let header = line.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(v) = header.strip_prefix("content-length:") {
                length = v.trim().parse().unwrap_or(0);
            }
            chunked |= header == "transfer-encoding: chunked";
        }
        let mut take = |mut left: usize| -> std::io::Result<()> {
            while left > 0 {
                let n = left.min(skip.len());
                reader.read_exact(&mut skip[..n])?;
                left -= n;
            }
            Ok(())
        };
        if chunked {
            loop {
                let mut size = String::new();
                reader.read_line(&mut size)?;
                let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
                let mut left = size + 2;
                while left > 0 {
                    let n = left.min(skip.len());
                    reader.read_exact(&mut skip[..n])?;
                    left -= n;
                }
                if size == 0 {
                    break;
                }
            }
        } else {
            take(length)?;
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
}

fn server() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || forget(stream));
        }
    });
    Ok(address)
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let t = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
    t.map_or(Duration::ZERO, Duration::from)
}

/// Prints the median number of rows per CPU second and per second.
fn measure(what: &str, mut f: impl FnMut() -> usize) {
    f();
    let mut found: Vec<(f64, f64, usize)> = (0..RUNS)
        .map(|_| {
            let (wall, begin) = (Instant::now(), cpu());
            let bytes = f();
            let used = (cpu() - begin).as_secs_f64();
            (
                ROWS as f64 / used,
                ROWS as f64 / wall.elapsed().as_secs_f64(),
                bytes,
            )
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (per_core, per_s, bytes) = found[RUNS / 2];
    println!(
        "{what:<44} {:>6.2} M rows/s per core {:>6.2} M rows/s, {:>6.1} bytes/row",
        per_core / 1e6,
        per_s / 1e6,
        bytes as f64 / ROWS as f64
    );
}

fn ours(rows: &[PostcardRow], address: SocketAddr) -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(&ClickHouseConfig {
        url: Some(format!("http://{address}")),
        ..ClickHouseConfig::default()
    })?;
    let columns = column_list::<PostcardRow>();
    let common = Common {
        capture: "0123456789abcdef",
        batch: 0,
        stored_on: 20_000,
    };
    for (what, compression) in [
        ("Native block, plain", Compression::None),
        ("Native block, zstd", Compression::Zstd),
    ] {
        let mut builder = Builder::<PostcardRow>::default();
        measure(what, || {
            builder.append(rows, |_| 17);
            let body = builder.pack(&common, compression).unwrap_or_default();
            builder.clear();
            if let Err(e) = client.insert("postcards", &columns, "t", &body, compression) {
                println!("{e}");
            }
            body.len()
        });
    }
    let mut builder = Builder::<PostcardRow>::default();
    measure("Native block, only gathering the columns", || {
        builder.append(rows, |_| 17);
        builder.clear();
        0
    });
    Ok(())
}

#[cfg(feature = "official-client")]
mod official {
    use super::{PostcardRow, SocketAddr, measure};
    use clickhouse::Row;
    use serde::Serialize;

    #[derive(Row, Serialize)]
    struct Card<'a> {
        capture: &'a str,
        batch: u64,
        stored_on: u16,
        unix_minus_node_ns: i64,
        order: u64,
        rx_ns: u64,
        node_id: u32,
        hw_id: u8,
        report_sequence: u32,
        flow_id: u64,
        ingress_port: u32,
        egress_port: u32,
        queue: u8,
        ingress_ns: u64,
        egress_ns: Option<u64>,
        occupancy_bytes: u64,
        limit_bytes: u64,
        ip_bytes: u32,
        wire_overhead_bytes: u32,
        payload_bytes: u32,
        tcp_seq: u32,
        tcp_ack: u32,
        tcp_flags: u8,
        ecn: u8,
        ce_marked: bool,
        dropped: bool,
        drop_reason: u8,
        sampling_shift: u8,
        retransmitted: bool,
        lost_before: i32,
        join: u8,
        cwnd_segments: Option<u32>,
        ssthresh_segments: Option<u32>,
        srtt_us: Option<u32>,
    }

    fn card(r: &PostcardRow) -> Card<'static> {
        let matched = r.join.matched();
        Card {
            capture: "0123456789abcdef",
            batch: 0,
            stored_on: 20_000,
            unix_minus_node_ns: 17,
            order: r.order,
            rx_ns: r.rx_ns,
            node_id: r.node_id,
            hw_id: r.hw_id,
            report_sequence: r.sequence,
            flow_id: r.flow_id,
            ingress_port: r.ingress_port,
            egress_port: r.port,
            queue: r.queue,
            ingress_ns: r.ingress_ns,
            egress_ns: (!r.dropped).then_some(r.egress_ns),
            occupancy_bytes: r.occupancy_bytes,
            limit_bytes: r.limit_bytes,
            ip_bytes: r.ip_bytes,
            wire_overhead_bytes: r.wire_overhead_bytes,
            payload_bytes: r.payload_bytes,
            tcp_seq: r.tcp_seq,
            tcp_ack: r.tcp_ack,
            tcp_flags: r.tcp_flags,
            ecn: r.ecn,
            ce_marked: r.ce_marked,
            dropped: r.dropped,
            drop_reason: r.drop_reason,
            sampling_shift: r.sampling_shift,
            retransmitted: r.retransmitted,
            lost_before: r.lost_before,
            join: r.join.code(),
            cwnd_segments: matched.then_some(r.cwnd),
            ssthresh_segments: matched.then_some(r.ssthresh),
            srtt_us: matched.then_some(r.srtt_us),
        }
    }

    pub fn run(
        rows: &[PostcardRow],
        address: SocketAddr,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        for (what, compression) in [
            ("official client, RowBinary", clickhouse::Compression::None),
            (
                "official client, RowBinary, lz4",
                clickhouse::Compression::Lz4,
            ),
        ] {
            let client = clickhouse::Client::default()
                .with_url(format!("http://{address}"))
                .with_compression(compression)
                .with_validation(false);
            measure(what, || {
                let result: Result<(), clickhouse::error::Error> = runtime.block_on(async {
                    let mut insert = client.insert::<Card<'_>>("postcards").await?;
                    for r in rows {
                        insert.write(&card(r)).await?;
                    }
                    insert.end().await
                });
                if let Err(e) = result {
                    println!("{e}");
                }
                0
            });
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = rows();
    let address = server()?;
    ours(&rows, address)?;
    #[cfg(feature = "official-client")]
    official::run(&rows, address)?;
    Ok(())
}
