// SPDX-License-Identifier: Apache-2.0
//! `tidemark-switch port …`: client of a running switch.

use anyhow::{Context, Result, anyhow};
use daemon_kit::cli::{print, print_json};
use daemon_kit::credentials::CallerChannel;
use daemon_kit::credentials::explain::{self, Shown};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_proto::switch::set_port_request::InRate;
use tidemark_proto::switch::switch_control_client::SwitchControlClient;
use tidemark_proto::switch::{GetPortsRequest, PortState, SetPortRequest};

use crate::cli::args::{ClientArgs, PortCommand, Setting};

#[derive(Serialize)]
struct Row<'a> {
    port: u32,
    interface: &'a str,
    rate_bps: u64,
    delay_ns: u64,
    queue_depth_packets: u32,
    queue_packets: u32,
    queue_bytes: u64,
    rx_packets: u64,
    rx_bytes: u64,
    rx_dropped_packets: u64,
    tx_packets: u64,
    tx_bytes: u64,
    tx_errors: u64,
    tail_dropped_packets: u64,
    tail_dropped_bytes: u64,
    rx_super_frames: u64,
    /// By reason.
    rx_refused_super_frames: BTreeMap<&'a str, u64>,
    tx_super_frames: u64,
    in_rate_bps: Option<u64>,
    line_waiting_bytes: u64,
    line_early_packets: u64,
    line_dropped_packets: u64,
}

/// # Errors
/// The switch cannot be reached or refuses.
pub(crate) fn run(command: PortCommand) -> Result<()> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("tokio runtime")?
        .block_on(dispatch(command))
}

async fn dispatch(command: PortCommand) -> Result<()> {
    match command {
        PortCommand::Set {
            port,
            settings,
            client,
        } => {
            let mut request = SetPortRequest {
                port,
                ..SetPortRequest::default()
            };
            for s in settings {
                match s {
                    Setting::Rate(v) => request.rate_bps = Some(v),
                    Setting::Delay(v) => request.delay_ns = Some(v),
                    Setting::Queue(v) => request.queue_depth_packets = Some(v),
                    Setting::InRate(Some(v)) => request.in_rate = Some(InRate::InRateBps(v)),
                    Setting::InRate(None) => request.in_rate = Some(InRate::InRateAuto(true)),
                }
            }
            let (mut switch, shown) = connect(&client).await?;
            let reply = switch
                .set_port(request)
                .await
                .map_err(|s| anyhow!("switch refused: {}", explain::status(&s, shown)))?;
            if let Some(p) = reply.into_inner().port {
                table(&[p])?;
            }
        }
        PortCommand::List { json, client } => {
            let (mut switch, shown) = connect(&client).await?;
            let ports = switch
                .get_ports(GetPortsRequest {})
                .await
                .map_err(|s| anyhow!("switch refused: {}", explain::status(&s, shown)))?
                .into_inner()
                .ports;
            if json {
                let rows: Vec<Row<'_>> = ports.iter().map(row).collect();
                print_json(&rows)?;
            } else {
                table(&ports)?;
            }
        }
    }
    Ok(())
}

async fn connect(client: &ClientArgs) -> Result<(SwitchControlClient<CallerChannel>, Shown)> {
    let address = &client.grpc;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let access = client.access.load(now.map_or(0, |d| d.as_secs()))?;
    let endpoint = access
        .endpoint(address)
        .map_err(|e| anyhow!("--grpc {address}: {e}"))?;
    let channel = endpoint.connect().await.map_err(|e| {
        let why = explain::connection(&e, access.shown());
        anyhow!("no switch answers at {address}; start one with `tidemark-switch run` or give --grpc: {why}")
    })?;
    let client = SwitchControlClient::new(access.channel(channel));
    Ok((client, access.shown()))
}

fn row(p: &PortState) -> Row<'_> {
    Row {
        port: p.port,
        interface: &p.interface,
        rate_bps: p.rate_bps,
        delay_ns: p.delay_ns,
        queue_depth_packets: p.queue_depth_packets,
        queue_packets: p.queue_packets,
        queue_bytes: p.queue_bytes,
        rx_packets: p.rx_packets,
        rx_bytes: p.rx_bytes,
        rx_dropped_packets: p.rx_dropped_packets,
        tx_packets: p.tx_packets,
        tx_bytes: p.tx_bytes,
        tx_errors: p.tx_errors,
        tail_dropped_packets: p.tail_dropped_packets,
        tail_dropped_bytes: p.tail_dropped_bytes,
        rx_super_frames: p.rx_super_frames,
        rx_refused_super_frames: p
            .rx_refused_super_frames
            .iter()
            .map(|(why, n)| (why.as_str(), *n))
            .collect(),
        tx_super_frames: p.tx_super_frames,
        in_rate_bps: p.in_rate_bps,
        line_waiting_bytes: p.line_waiting_bytes,
        line_early_packets: p.line_early_packets,
        line_dropped_packets: p.line_dropped_packets,
    }
}

fn table(ports: &[PortState]) -> Result<()> {
    print(format_args!(
        "{:>4} {:<15} {:>14} {:>10} {:>7} {:>9} {:>10} {:>10} {:>8} {:>8} {:>8}",
        "port",
        "interface",
        "rate",
        "delay",
        "depth",
        "queued",
        "rx",
        "tx",
        "rx drop",
        "tx err",
        "tail drop"
    ))?;
    for p in ports {
        let rate = match p.rate_bps {
            0 => "unlimited".to_owned(),
            r => format!("{:.3} Mb/s", r as f64 / 1e6),
        };
        let depth = match p.queue_depth_packets {
            0 => "∞".to_owned(),
            d => d.to_string(),
        };
        print(format_args!(
            "{:>4} {:<15} {:>14} {:>7.3} ms {:>7} {:>9} {:>10} {:>10} {:>8} {:>8} {:>8}",
            p.port,
            p.interface,
            rate,
            p.delay_ns as f64 / 1e6,
            depth,
            p.queue_packets,
            p.rx_packets,
            p.tx_packets,
            p.rx_dropped_packets,
            p.tx_errors,
            p.tail_dropped_packets
        ))?;
    }
    Ok(())
}
