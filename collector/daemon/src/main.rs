// SPDX-License-Identifier: Apache-2.0
#![forbid(unsafe_code)]

use std::process::ExitCode;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Faster than the C library's where there are many flows: decision 25.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let filter: Targets = std::env::var("TIDEMARK_LOG")
        .ok()
        .and_then(|directives| directives.parse().ok())
        .unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let log = tracing_subscriber::fmt::layer()
        .with_ansi(tidemark_command_line::colours(&std::io::stderr()))
        .with_writer(std::io::stderr);
    tracing_subscriber::registry().with(log).with(filter).init();
    match tidemark_collector::cli::main(tidemark_commit::version!()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => tidemark_command_line::failed(&e),
    }
}
