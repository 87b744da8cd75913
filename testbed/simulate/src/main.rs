// SPDX-License-Identifier: Apache-2.0
//! `make simulate`.

fn main() -> anyhow::Result<std::process::ExitCode> {
    tidemark_simulate::cli::main()
}
