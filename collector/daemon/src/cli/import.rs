// SPDX-License-Identifier: Apache-2.0
//! `import`: its arguments, and what is said of it.

use crate::import::{Cards, ImportOptions, ImportReport, import};
use anyhow::Result;
use clap::Args;
use daemon_kit::cli::{print, print_json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// Reports as UDP datagrams in a capture file, pcap or pcapng (.gz allowed).
    #[arg(long)]
    pcap: PathBuf,
    /// Output of trace_pipe with tcp_probe enabled (.gz allowed).
    #[arg(long)]
    tcp_probe: Option<PathBuf>,
    /// TOML file with the [nodes] of the collector's configuration.
    #[arg(long)]
    nodes: Option<PathBuf>,
    /// Directory of the new capture.
    #[arg(long)]
    out: PathBuf,
    /// Only datagrams to these UDP ports; default all.
    #[arg(long, value_delimiter = ',')]
    port: Vec<u16>,
    /// Length of interval records, ms.
    #[arg(long, default_value_t = 10)]
    interval_ms: u32,
    /// Datagrams to this UDP port (4444) are cards of the programs of
    /// "Updating the Theory of Buffer Sizing".
    #[arg(long)]
    cards: Option<u16>,
    /// Node that the cards are taken to be of; without a node file, a Tofino.
    #[arg(long, default_value_t = 1, requires = "cards")]
    cards_node: u32,
    /// IP length of every packet that the cards tell of.
    #[arg(long, default_value_t = 1500, requires = "cards")]
    cards_packet_bytes: u16,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: ImportArgs) -> Result<()> {
    let report = import(&ImportOptions {
        pcap: args.pcap,
        tcp_probe: args.tcp_probe,
        nodes: args.nodes,
        out: args.out,
        ports: args.port,
        interval_ms: args.interval_ms,
        progress: true,
        cards: args.cards.map(|port| Cards {
            port,
            node_id: args.cards_node,
            packet_bytes: args.cards_packet_bytes,
        }),
    })?;
    if args.json {
        print_json(&report)?;
    } else {
        print_import(&report)?;
    }
    Ok(())
}

fn print_import(r: &ImportReport) -> Result<()> {
    print(format_args!(
        "reports   {} received, {} lost, {} malformed datagrams",
        r.reports.received, r.reports.lost, r.reports.malformed
    ))?;
    print(format_args!(
        "tcp_probe {} samples, {} malformed lines",
        r.tcp_probe.samples, r.tcp_probe.malformed
    ))?;
    print(format_args!(
        "join      {} of {} data packets of probed flows ({:.3} %)",
        r.join.matched,
        r.join.candidates,
        100.0 * r.join.matched_fraction
    ))?;
    for c in &r.clocks {
        print(format_args!(
            "clock     node {} is {:.6} s ahead of {}, drifting {:.3} ppm",
            c.mapping.node_id, c.node_minus_host_s, c.mapping.host, c.node_drift_ppm
        ))?;
    }
    if r.capture.pcap_truncated {
        print(format_args!(
            "pcap      ends within a packet: its recording was cut short"
        ))?;
    }
    print(format_args!(
        "capture   {} rows in {}",
        r.capture.rows,
        r.out.display()
    ))
}
