// SPDX-License-Identifier: Apache-2.0
//! The command line of `tidemark-traffic`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use daemon_kit::cli::with_examples;

use crate::examples::EXAMPLES;
use crate::spec::{Listener, Transport};

/// Returns the command line with its examples, also for manual pages and completions.
pub fn command() -> clap::Command {
    with_examples(Cli::command(), EXAMPLES)
}

/// TCP, QUIC and UDP traffic with known truth.
#[derive(Debug, Parser)]
#[command(name = "tidemark-traffic", version)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// A command of the program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a spec's listeners and senders in this process (their sockets may be in different
    /// network namespaces).
    Run(RunArgs),
    /// Run only a spec's senders.
    Send(RunArgs),
    /// Receive, count and discard.
    Serve(ServeArgs),
    /// Check a spec without running it.
    Validate {
        /// The spec (JSON).
        #[arg(long)]
        spec: PathBuf,
    },
}

/// Arguments of `run` and `send`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// File with the spec to run (JSON).
    #[arg(long)]
    pub spec: PathBuf,
    /// Output file for the truth (JSON), also written on SIGINT and SIGTERM.
    #[arg(long)]
    pub truth: PathBuf,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// ADDRESS:PORT[,quic|udp][,control=NAME][,rcvbuf=BYTES][,netns=NAME]; may be repeated.
    #[arg(long = "listen", required = true, value_name = "LISTENER", value_parser = listener)]
    pub listen: Vec<Listener>,
    /// Output file for the bytes received (JSON).
    #[arg(long)]
    pub truth: Option<PathBuf>,
}

/// Parses a listener from the command line.
fn listener(text: &str) -> anyhow::Result<Listener> {
    let mut parts = text.split(',');
    let address: SocketAddr = parts
        .next()
        .unwrap_or_default()
        .parse()
        .context("ADDRESS:PORT expected first, e.g. 127.0.0.1:5001")?;
    let mut listener = Listener {
        name: address.to_string(),
        address,
        netns: None,
        transport: Transport::Tcp,
        receive_buffer_bytes: None,
        congestion_control: None,
    };
    for part in parts {
        match part.split_once('=') {
            Some(("rcvbuf", value)) => {
                listener.receive_buffer_bytes = Some(
                    value
                        .parse()
                        .with_context(|| format!("rcvbuf={value}: bytes expected"))?,
                );
            }
            Some(("netns", value)) => listener.netns = Some(value.to_owned()),
            Some(("control", name)) => listener.congestion_control = Some(name.to_owned()),
            None if part == "quic" => listener.transport = Transport::Quic,
            None if part == "udp" => listener.transport = Transport::Udp,
            _ => {
                return Err(anyhow!(
                    "{part}: quic, udp, control=NAME, rcvbuf=BYTES or netns=NAME expected"
                ));
            }
        }
    }
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_examples_that_parse() {
        Cli::command().debug_assert();
        daemon_kit::cli::check(&Cli::command(), EXAMPLES).unwrap();
    }
}
