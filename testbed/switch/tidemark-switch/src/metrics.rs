// SPDX-License-Identifier: Apache-2.0
//! Prometheus text over HTTP.

use std::fmt::Write as _;

use tidemark_proto::switch::PortState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::control::port_states;
use crate::data_plane::Handle;
use traffic_manager::Stats;

/// Answers every request with the metrics.
pub async fn serve(listener: TcpListener, plane: Handle) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let plane = plane.clone();
                tokio::spawn(async move {
                    if let Err(e) = answer(stream, &plane).await {
                        tracing::debug!("metrics client: {e}");
                    }
                });
            }
            Err(e) => {
                tracing::warn!("metrics: {e}");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

async fn answer(mut stream: TcpStream, plane: &Handle) -> anyhow::Result<()> {
    // One request per connection; what it asks for does not matter.
    let mut request = [0u8; 2048];
    let n = stream.read(&mut request).await?;
    if n == 0 {
        return Ok(());
    }
    let (ports, stats, lost) = plane
        .call(|p| (port_states(p), *p.switch.stats(), p.io.no_interface))
        .await?;
    let body = text(&ports, &stats, lost);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(())
}

type PortMetric = (&'static str, &'static str, fn(&PortState) -> u64);

const PORT_METRICS: &[PortMetric] = &[
    ("rx_packets_total", "counter", |p| p.rx_packets),
    ("rx_bytes_total", "counter", |p| p.rx_bytes),
    ("rx_dropped_packets_total", "counter", |p| {
        p.rx_dropped_packets
    }),
    ("tx_packets_total", "counter", |p| p.tx_packets),
    ("tx_bytes_total", "counter", |p| p.tx_bytes),
    ("tx_errors_total", "counter", |p| p.tx_errors),
    ("tail_dropped_packets_total", "counter", |p| {
        p.tail_dropped_packets
    }),
    ("tail_dropped_bytes_total", "counter", |p| {
        p.tail_dropped_bytes
    }),
    ("queue_packets", "gauge", |p| u64::from(p.queue_packets)),
    ("queue_bytes", "gauge", |p| p.queue_bytes),
    ("rate_bps", "gauge", |p| p.rate_bps),
    ("delay_ns", "gauge", |p| p.delay_ns),
];

fn text(ports: &[PortState], s: &Stats, no_interface: u64) -> String {
    let mut out = String::new();
    for (name, kind, value) in PORT_METRICS {
        let _ = writeln!(out, "# TYPE tidemark_switch_{name} {kind}");
        for p in ports {
            let _ = writeln!(
                out,
                "tidemark_switch_{name}{{port=\"{}\",interface=\"{}\"}} {}",
                p.port,
                p.interface,
                value(p)
            );
        }
    }
    for (name, value) in [
        ("received_packets_total", s.received),
        ("clones_total", s.clones),
        ("dropped_ingress_packets_total", s.dropped_ingress),
        ("dropped_egress_packets_total", s.dropped_egress),
        ("dropped_priority_packets_total", s.dropped_priority),
        ("dropped_reinject_packets_total", s.dropped_reinject),
        ("dropped_digests_total", s.dropped_digests),
        ("no_interface_packets_total", no_interface),
    ] {
        let _ = writeln!(
            out,
            "# TYPE tidemark_switch_{name} counter\ntidemark_switch_{name} {value}"
        );
    }
    out
}
