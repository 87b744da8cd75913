// SPDX-License-Identifier: Apache-2.0
//! The command line.

mod examples;
mod import;
mod settings;
mod status;

use crate::config;
use anyhow::Result;
use clap::{FromArgMatches as _, Parser, Subcommand};
use daemon_kit::cli::{LevelFilter, Shell, completions, ended, print, start_log, with_examples};
use settings::Settings;
use std::process::ExitCode;

/// Receives INT reports and tcp_probe samples, joins, stores and streams them.
#[derive(Debug, Parser)]
#[command(name = "tidemark-collector", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the collector until SIGINT, SIGTERM or SIGHUP.
    Run(Settings),
    /// Check a configuration without starting anything.
    Validate(Settings),
    /// Show the counters of a running collector.
    Status {
        #[command(flatten)]
        settings: Settings,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check this machine, the configuration and the path of the reports, and say how to fix any
    /// problem; exits with 1 if something does not work.
    Doctor {
        #[command(flatten)]
        settings: Settings,
        #[command(flatten)]
        doctor: crate::doctor::DoctorArgs,
    },
    /// Read this host's TCP tracepoints and send the samples to a collector elsewhere.
    Agent(crate::agent::AgentArgs),
    /// Print the reports that a switch sends, one JSON line each; needs no configuration.
    Print(crate::print::PrintArgs),
    /// Write a table of a capture as text.
    Export(crate::export::ExportArgs),
    /// Send a capture or a pcap to a running collector.
    Replay(crate::replay::ReplayArgs),
    /// Make a capture from a pcap of reports and a tcp_probe text trace.
    Import(import::ImportArgs),
    /// Load a capture into ClickHouse; after an interruption, run it again to continue.
    Load(crate::load::LoadArgs),
    /// Print a shell completion script, to be stored where the shell looks for it.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// The command line, for manual pages and completions.
pub fn command() -> clap::Command {
    with_examples(<Cli as clap::CommandFactory>::command(), examples::EXAMPLES)
}

/// Parses the arguments and runs the command.
pub fn main(version: &'static str) -> ExitCode {
    start_log("TIDEMARK_LOG", LevelFilter::INFO);
    let arguments = command().version(version).get_matches();
    let cli = Cli::from_arg_matches(&arguments).unwrap_or_else(|e| e.exit());
    ended(dispatch(cli.command).map(|()| ExitCode::SUCCESS))
}

fn dispatch(command: Command) -> Result<()> {
    match command {
        Command::Run(settings) => crate::run::run(&settings.load()?),
        Command::Validate(settings) => {
            let c = settings.load()?;
            c.pipeline().read_keys()?;
            let credentials = c.grpc.credentials(crate::time::unix_s())?;
            c.http.token()?;
            if let Some(tls) = &c.http.tls {
                let keys = config::HttpConfig::keys();
                daemon_kit::credentials::http::acceptor(tls, &keys, crate::time::unix_s())?;
            }
            let listen: Vec<String> = c.listen.iter().map(ToString::to_string).collect();
            print(format_args!(
                "ok: {} node(s), reports on {}, telemetry on {} ({}), metrics on {}",
                c.nodes.len(),
                listen.join(", "),
                c.grpc.listen,
                credentials.summary(),
                c.http.listen
            ))
        }
        Command::Status { settings, json } => status::status(&settings.load()?.http, json),
        Command::Doctor { settings, doctor } => crate::doctor::run(settings.load(), &doctor),
        Command::Agent(args) => crate::agent::run_args(&args),
        Command::Print(args) => crate::print::run(&args),
        Command::Export(args) => crate::export::run(&args),
        Command::Replay(args) => crate::replay::run(&args),
        Command::Load(args) => crate::load::run(&args),
        Command::Completions { shell } => completions(self::command(), shell),
        Command::Import(args) => import::run(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_examples_that_parse() {
        command().debug_assert();
        let program = <Cli as clap::CommandFactory>::command();
        daemon_kit::cli::check(&program, examples::EXAMPLES).unwrap();
    }
}
