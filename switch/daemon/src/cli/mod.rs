// SPDX-License-Identifier: Apache-2.0
//! The `tidemark-switch` program.

mod aqm;
pub(crate) mod args;
pub(crate) mod credentials;
mod examples;

use crate::{bmv2, client, conformance, offline, program, run, stf};
use anyhow::{Context, Result};
use args::{Cli, Command};
use clap::FromArgMatches as _;
use daemon_kit::cli::{LevelFilter, completions, ended, print, start_log, with_examples};
use std::ffi::OsString;
use std::process::ExitCode;

/// Returns the command line's definition, for manual pages and completions.
pub fn command() -> clap::Command {
    with_examples(<Cli as clap::CommandFactory>::command(), examples::EXAMPLES)
}

/// Runs the command line; errors go to stderr.
pub fn main(version: &'static str) -> ExitCode {
    start_log("TIDEMARK_LOG", LevelFilter::INFO);
    let words: Vec<OsString> = std::env::args_os().collect();
    let as_bmv2 = words.split_first().and_then(|(first, rest)| {
        let with_grpc = bmv2::is_called(first)?;
        Some((rest, with_grpc))
    });
    let result = match as_bmv2 {
        Some((rest, with_grpc)) => bmv2::main(rest, version, with_grpc),
        None => {
            let arguments = command().version(version).get_matches_from(words);
            let cli = Cli::from_arg_matches(&arguments).unwrap_or_else(|e| e.exit());
            dispatch(cli, version)
        }
    };
    ended(result.map(|()| ExitCode::SUCCESS))
}

fn dispatch(cli: Cli, version: &str) -> Result<()> {
    match cli.command {
        Command::SimpleSwitchGrpc { arguments } => bmv2::main(&arguments, version, true),
        Command::Run(args) => run::run(*args),
        Command::Completions { shell } => completions(command(), shell),
        Command::Pcap(args) => offline::run(&args),
        Command::Port(command) => client::run(command),
        Command::Stf { program, test } => {
            let text = std::fs::read_to_string(&test)
                .with_context(|| format!("test {}: cannot read", test.display()))?;
            stf::run(program::read(&program)?, &text)
                .with_context(|| format!("test {}", test.display()))
        }
        Command::Conformance { folder } => conformance::run(&folder),
        Command::Check { program } => {
            let p = program::read(&program)?;
            print(format_args!(
                "{}: {} headers, {} parser states, {} tables, {} actions, {} registers, {} counters",
                p.source,
                p.headers.len(),
                p.parse_states.len(),
                p.tables.len(),
                p.actions.len(),
                p.registers.len(),
                p.counters.len()
            ))
        }
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
