// SPDX-License-Identifier: Apache-2.0
//! Development tasks: see [`USAGE`].

#![forbid(unsafe_code)]

mod architecture;
mod codegen;
#[cfg(feature = "programs")]
mod manuals;
mod repository;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  codegen [--check]      write every generated file; fail when one is stale
  architecture           fail when a part knows what it must not
cargo xtask-programs COMMAND does the same with what is generated from .proto files and from the programs, and
  manuals DIRECTORY      write manual pages and shell completions";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = root();
    let result = match args[..] {
        ["codegen"] => codegen::write(&root),
        ["codegen", "--check"] => codegen::check(&root),
        ["architecture"] => architecture::check(&root),
        #[cfg(feature = "programs")]
        ["manuals", directory] => manuals::write(Path::new(directory)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("xtask: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// The top of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
