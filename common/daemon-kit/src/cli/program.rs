// SPDX-License-Identifier: Apache-2.0
//! How every program begins and ends: its log, and its exit status.

use super::{colours, failed, is_closed};
use std::process::ExitCode;
pub use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts the log on standard error. The environment variable (`TIDEMARK_LOG`) has the directives;
/// without it, everything from `level` on is logged.
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

/// The exit status of a command; prints its error. A closed standard output is no failure.
pub fn ended(done: anyhow::Result<ExitCode>) -> ExitCode {
    match done {
        Ok(status) => status,
        Err(e) if is_closed(&e) => ExitCode::SUCCESS,
        Err(e) => failed(&e),
    }
}
