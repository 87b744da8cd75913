// SPDX-License-Identifier: Apache-2.0
//! The start and end of every program: its log and its exit status.

use super::{colours, failed, is_closed};
use std::process::ExitCode;
pub use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts the log on standard error. The environment variable `variable` (`TIDEMARK_LOG`) holds
/// the filter directives; without it, everything at `level` and above is logged.
pub fn start_log(variable: &str, level: LevelFilter) {
    let filter: Targets = std::env::var(variable)
        .ok()
        .and_then(|directives| directives.parse().ok())
        .unwrap_or_else(|| Targets::new().with_default(level));
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(colours(&std::io::stderr()));
    tracing_subscriber::registry().with(log).with(filter).init();
}

/// Returns the exit status of a command and prints its error. A closed output is not a failure.
pub fn ended(done: anyhow::Result<ExitCode>) -> ExitCode {
    match done {
        Ok(status) => status,
        Err(e) if is_closed(&e) => ExitCode::SUCCESS,
        Err(e) => failed(&e),
    }
}
