// SPDX-License-Identifier: Apache-2.0
//! `import`: its arguments and its printed result.

use crate::import::{ImportOptions, ImportReport, import};
use anyhow::Result;
use clap::Args;
use daemon_kit::cli::{print, print_json};

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    #[command(flatten)]
    options: ImportOptions,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: ImportArgs) -> Result<()> {
    let report = import(&ImportOptions {
        progress: true,
        ..args.options
    })?;
    if args.json {
        print_json(&report)?;
    } else {
        print_import(&report)?;
    }
    Ok(report.something()?)
}

fn print_import(r: &ImportReport) -> Result<()> {
    print(format_args!("frames    {}", r.frames))?;
    print(format_args!(
        "reports   {} received, {} lost",
        r.reports.received, r.reports.lost
    ))?;
    if r.reports.unnumbered > 0 {
        print(format_args!(
            "          loss is unknown for {} datagrams: their exporters do not number them",
            r.reports.unnumbered
        ))?;
    }
    let nodes = &r.reports.nodes_of_hops_alone;
    if !nodes.is_empty() {
        let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
        print(format_args!(
            "          drops of nodes {} are unknown: their metadata came only in packets that \
             arrived (INT-MD)",
            nodes.join(", ")
        ))?;
    }
    print(format_args!("packets   {}", r.packets))?;
    if !r.tcp_probe.hosts.is_empty() {
        print(format_args!("tcp_probe {}", r.tcp_probe))?;
        print(format_args!("          {}", r.samples))?;
    }
    if r.tcp_probe.out_of_order > 0 || r.tcp_probe.lost > 0 {
        print(format_args!(
            "          {} out of time order, now sorted; {} overwritten before they were read",
            r.tcp_probe.out_of_order, r.tcp_probe.lost
        ))?;
    }
    for h in r
        .tcp_probe
        .hosts
        .iter()
        .filter(|_| r.tcp_probe.hosts.len() > 1)
    {
        print(format_args!(
            "          {} samples of {}",
            h.samples, h.host
        ))?;
    }
    if let Some(fraction) = r.join.matched_fraction {
        print(format_args!(
            "join      {} of {} data packets of probed flows ({:.3} %)",
            r.join.matched,
            r.join.candidates,
            100.0 * fraction
        ))?;
    } else {
        print(format_args!("join      no data packet of a probed flow"))?;
    }
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
    let lost = match r.capture.rows_lost {
        0 => String::new(),
        n => format!("; {n} rows could not be written"),
    };
    print(format_args!(
        "capture   {} rows in {}{lost}",
        r.capture.rows,
        r.out.display()
    ))
}
