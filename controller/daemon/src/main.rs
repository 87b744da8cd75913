// SPDX-License-Identifier: Apache-2.0
//! `tidemark-controller`.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    tidemark_controller::cli::main(daemon_kit::version!())
}
