// SPDX-License-Identifier: Apache-2.0
//! `tidemark-collector`.

#![forbid(unsafe_code)]

/// Faster than the C library's allocator if there are many flows (decision 25).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    tidemark_collector::cli::main(daemon_kit::version!())
}
