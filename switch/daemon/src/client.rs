// SPDX-License-Identifier: Apache-2.0
//! `tidemark-switch port …`: client of a running switch.

use anyhow::{Context, Result, anyhow};
use daemon_kit::cli::{print, print_json};
use daemon_kit::credentials::CallerChannel;
use daemon_kit::credentials::explain::{self, Shown};
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_proto::switch::set_port_request::InRate;
use tidemark_proto::switch::switch_control_client::SwitchControlClient;
use tidemark_proto::switch::{GetPortsRequest, PortState, SetPortRequest};

use crate::cli::args::{ClientArgs, PortCommand, Setting};

/// # Errors
/// The switch cannot be reached or refuses the request.
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
                print_json(&ports)?;
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
