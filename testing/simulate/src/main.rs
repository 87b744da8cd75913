// SPDX-License-Identifier: Apache-2.0
//! `make simulate`.

#![forbid(unsafe_code)]

fn main() -> anyhow::Result<std::process::ExitCode> {
    tidemark_simulate::cli::main()
}
