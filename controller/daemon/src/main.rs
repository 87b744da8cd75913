// SPDX-License-Identifier: Apache-2.0
//! `tidemark-controller`.

#![forbid(unsafe_code)]

/// Gives memory back after a burst of links and flows.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    tidemark_controller::cli::main(daemon_kit::version!())
}
