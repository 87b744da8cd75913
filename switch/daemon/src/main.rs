// SPDX-License-Identifier: Apache-2.0
fn main() -> std::process::ExitCode {
    tidemark_switch::cli::main(daemon_kit::version!())
}
