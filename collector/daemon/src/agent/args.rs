// SPDX-License-Identifier: Apache-2.0
//! `tidemark-collector agent`.

use super::client::run;
use super::file;
use super::options::AgentOptions;
use anyhow::Result;
use clap::Args;
use daemon_kit::cli::{print, print_json};
use daemon_kit::credentials::AccessArgs;
use std::path::PathBuf;
use std::time::Duration;
use tcp_probe::perf::{AddressRange, Clock, Filter, Options};

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// HOST:PORT of the collector's telemetry address, or https://HOST:PORT.
    #[arg(long, env = "TIDEMARK_TO", required_unless_present = "out")]
    to: Option<String>,
    /// Write to a new file instead of a collector: a text trace for `import --tcp-probe`.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Become this user once the tracepoints are open.
    #[arg(long, env = "TIDEMARK_USER")]
    user: Option<String>,
    /// Name of this host; default: its hostname.
    #[arg(long, env = "TIDEMARK_HOST")]
    host: Option<String>,
    /// Clock of the samples: mono_raw, mono, tai, boot, real.
    #[arg(long, default_value = "mono_raw", value_parser = clock)]
    clock: Clock,
    /// Only connections with one of these ports.
    #[arg(long, value_delimiter = ',')]
    port: Vec<u16>,
    /// Only connections with an address in one of these ranges.
    #[arg(long, value_delimiter = ',')]
    address: Vec<AddressRange>,
    /// Size of the ring buffer per CPU, in bytes.
    #[arg(long, default_value_t = 4 << 20)]
    ring_bytes: usize,
    /// Maximum number of events to keep while the collector does not answer.
    #[arg(long, default_value_t = 1_000_000)]
    buffer_events: usize,
    /// End with an error if no collector takes samples within this time of the start, in seconds; 0
    /// waits forever. A collector that goes away later is waited for.
    #[arg(
        long,
        env = "TIDEMARK_CONNECT_WITHIN",
        default_value_t = 10,
        value_name = "SECONDS"
    )]
    connect_within: u64,
    /// Print a summary as JSON at the end.
    #[arg(long)]
    json: bool,
    // Last, because its help heading applies to all arguments that follow.
    #[command(flatten)]
    access: AccessArgs,
}

fn clock(text: &str) -> Result<Clock, String> {
    serde_json::from_value(serde_json::Value::from(text)).map_err(|e| e.to_string())
}

pub(crate) fn run_args(args: &AgentArgs) -> Result<()> {
    let own_name = || {
        nix::sys::utsname::uname().map_or_else(
            |_| "host".to_owned(),
            |u| u.nodename().to_string_lossy().into_owned(),
        )
    };
    let probe = Options {
        clock: args.clock,
        ring_bytes: args.ring_bytes,
        wakeup_bytes: (args.ring_bytes / 4).min(64 << 10) as u32,
        filter: Filter {
            ports: args.port.clone(),
            addresses: args.address.clone(),
        },
        ..Options::default()
    };
    if let Some(out) = &args.out {
        let report = file::run(out, args.user.as_deref(), &probe)?;
        if args.json {
            return print_json(&report);
        }
        return print(format_args!(
            "{} events read, {} written, {} lost in the kernel's rings",
            report.events, report.written, report.ring_lost
        ));
    }
    let report = run(&AgentOptions {
        to: args.to.clone().unwrap_or_default(),
        access: args.access.load(crate::time::unix_s())?,
        user: args.user.clone(),
        host: args.host.clone().unwrap_or_else(own_name),
        buffer_events: args.buffer_events,
        connect_within: Some(args.connect_within)
            .filter(|&s| s > 0)
            .map(Duration::from_secs),
        probe,
    })?;
    if args.json {
        print_json(&report)?;
    } else {
        print(format_args!(
            "{} events read, {} delivered, {} lost in the kernel's rings, {} for lack of room, {} not delivered",
            report.events,
            report.delivered,
            report.ring_lost,
            report.buffer_lost,
            report.undelivered
        ))?;
    }
    Ok(())
}
