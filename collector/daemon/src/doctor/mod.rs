// SPDX-License-Identifier: Apache-2.0
//! `doctor`: checks everything that a collector needs, and says how to fix any problem.

mod judge;
mod look;
mod machine;

use crate::config::Config;
use crate::status_client;
use anyhow::{Result, bail};
use clap::Args;
use daemon_kit::cli::stdout;
use daemon_kit::doctor::{Finding, problems, write};
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// How long to wait for reports, in seconds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// # Errors
/// Something that is configured does not work; standard output has the details.
pub(crate) fn run(config: Result<Config>, args: &DoctorArgs) -> Result<()> {
    let length = Duration::from_secs(args.seconds);
    let mut found = vec![look::kernel(), look::wall_clock()];
    match config {
        Ok(config) => {
            found.push(Finding::ok("configuration", "valid"));
            examine(&config, length, &mut found);
        }
        Err(e) => found.push(Finding::problem(
            "configuration",
            format!("{e:#}"),
            "docs/reference/collector.md has every key",
        )),
    }
    write(&found, args.json, &mut stdout())?;
    match problems(&found) {
        0 => Ok(()),
        1 => bail!("1 problem"),
        n => bail!("{n} problems"),
    }
}

fn examine(config: &Config, length: Duration, found: &mut Vec<Finding>) {
    let tcp_probe = look::tcp_probe(config);
    found.push(look::capabilities(config, &tcp_probe));
    found.push(look::receive_buffer(config));
    found.extend(look::receive_paths(config));
    found.extend(look::offloads(config));
    found.push(tcp_probe);
    found.extend(look::capture(config));
    found.extend(look::clickhouse(config));
    let status = status_client::fetch(&config.http).ok();
    found.extend(look::servers(config, status.is_some()));
    found.extend(match &status {
        Some(first) => look::ask(config, first, length),
        None => look::listen(config, length),
    });
}
