// SPDX-License-Identifier: Apache-2.0
//! The command line.

mod analyze;
mod buffer;
mod doctor;
mod draw;
mod evidence;
mod examples;
mod flows;
mod http;
mod provision;
mod remote;
mod run;
mod size;
mod table;
mod targets;
mod top;
mod units;
mod view;
mod whatif;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, FromArgMatches as _, Parser, Subcommand};
use daemon_kit::cli::{Shell, completions, ended, with_examples};
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Estimates what decides the size of a buffer, advises its limit, and sets it.
#[derive(Debug, Parser)]
#[command(name = "tidemark-controller", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Returns the command line, for manual pages and completions.
pub fn command() -> clap::Command {
    with_examples(<Cli as clap::CommandFactory>::command(), examples::EXAMPLES)
}

/// Parses one of these words, as the configuration and REST write them; the help lists them.
fn one_of<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| serde_json::from_value::<T>(word.into()))
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controller: console, REST, control.
    Run(RunArgs),
    /// Check a configuration without starting.
    Validate(ConfigArg),
    /// Check the chain from switch to advice and say what to do; change nothing, and exit with 1 if
    /// something does not work.
    Doctor(doctor::DoctorArgs),
    /// Provision the configured switches and exit.
    Provision(ConfigArg),
    /// Run the estimators over a capture.
    Analyze(analyze::AnalyzeArgs),
    /// Run the estimators over a capture and advise a limit.
    Advise(analyze::AnalyzeArgs),
    /// Predict utilisation, loss and delay over the limit, from a capture.
    #[command(name = "whatif")]
    WhatIf(whatif::WhatIfArgs),
    /// Show a finished run in the console, from its capture; no collector runs.
    View(view::ViewArgs),
    /// Evaluate every sizing rule for a link described by hand; needs no switch.
    Size(size::SizeArgs),
    /// Set a limit through a running controller.
    Set(remote::SetArgs),
    /// Show the state of a running controller.
    Status(remote::StatusArgs),
    /// Show every link in the terminal, live.
    Top(top::TopArgs),
    /// Print a shell completion script, to be stored where the shell looks for it.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Arguments of `run`: flags override the environment, which overrides the file.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Configuration file (TOML); defaults if not given.
    #[arg(long, env = "TIDEMARK_CONFIG")]
    pub config: Option<PathBuf>,
    /// Address of the console and REST interface.
    #[arg(long, env = "TIDEMARK_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Collector, host:port; may be repeated.
    #[arg(long = "collector", env = "TIDEMARK_COLLECTOR", value_delimiter = ',')]
    pub collectors: Vec<String>,
    /// How far the controller may go in applying advice.
    #[arg(
        long,
        env = "TIDEMARK_MODE",
        value_parser = one_of::<crate::config::Mode>(&["recommend", "confirm", "auto"])
    )]
    pub mode: Option<crate::config::Mode>,
    /// Serve unencrypted even on an address that other machines can reach.
    #[arg(long)]
    pub insecure: bool,
    /// Switch to this user once the port is open.
    #[arg(long, env = "TIDEMARK_USER")]
    pub user: Option<String>,
    /// Write to no switch; log what would have been written.
    #[arg(long)]
    pub dry_run: bool,
}

/// Returns the token in TIDEMARK_TOKEN. No argument takes the token: every user of a machine sees
/// the arguments of its programs.
fn token_of_environment() -> Option<String> {
    std::env::var("TIDEMARK_TOKEN")
        .ok()
        .filter(|t| !t.is_empty())
}

#[derive(Debug, Args)]
struct ConfigArg {
    /// Configuration file (TOML).
    #[arg(long, env = "TIDEMARK_CONFIG")]
    config: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Parses the arguments and runs the command.
pub fn main(version: &'static str) -> ExitCode {
    let arguments = command().version(version).get_matches();
    let cli = Cli::from_arg_matches(&arguments).unwrap_or_else(|e| e.exit());
    let done = match cli.command {
        Command::Run(a) => run::run(a),
        Command::Validate(a) => run::validate(&a.config, a.json),
        Command::Provision(a) => provision::provision(&a.config, a.json),
        Command::Doctor(a) => doctor::doctor(&a),
        Command::Analyze(a) => analyze::analyze(&a, false),
        Command::Advise(a) => analyze::analyze(&a, true),
        Command::WhatIf(a) => whatif::whatif(&a),
        Command::View(a) => view::view(&a),
        Command::Size(a) => size::size(&a),
        Command::Set(a) => remote::set(&a),
        Command::Status(a) => remote::status(&a),
        Command::Top(a) => top::top(&a),
        Command::Completions { shell } => completions(command(), shell),
    };
    ended(done.map(|()| ExitCode::SUCCESS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
        daemon_kit::cli::check(&Cli::command(), examples::EXAMPLES).unwrap();
    }

    #[test]
    fn issue_example_parses() {
        let text = "tidemark-controller size --capacity 50mbit --rtt 60ms --flows 100 --utilisation 98% --loss 1% --delay 30ms";
        assert!(Cli::try_parse_from(text.split(' ')).is_ok());
    }

    #[test]
    fn set_takes_the_sizes_that_its_action_needs() {
        let set = |more: &str| {
            // Port 9 of this host refuses: a command that gets there has passed the checks.
            let text = format!(
                "tidemark-controller set --controller http://127.0.0.1:9 --node 1 --port 5 {more}"
            );
            let cli = Cli::try_parse_from(text.split_whitespace()).unwrap();
            let Command::Set(args) = cli.command else {
                unreachable!("another command")
            };
            remote::set(&args).unwrap_err()
        };
        for more in ["", "--action mark_ce", "--action unlimited --limit 9kB"] {
            assert!(set(more).is::<daemon_kit::cli::Usage>(), "{more}");
        }
        for more in ["--limit 9kB", "--advice", "--action unlimited"] {
            assert!(!set(more).is::<daemon_kit::cli::Usage>(), "{more}");
        }
    }
}
