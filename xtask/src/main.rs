// SPDX-License-Identifier: Apache-2.0
//! Development tasks. `cargo xtask codegen` writes every generated file of the
//! repository; `cargo xtask codegen --check` fails when one is stale. `cargo xtask
//! architecture` fails when a part knows what it must not. `cargo xtask manuals DIRECTORY`
//! writes manual pages and shell completions.

#![forbid(unsafe_code)]

mod architecture;
mod codegen;
mod manuals;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask codegen [--check] | architecture | manuals DIRECTORY";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        ["codegen"] => codegen::write(&root()),
        ["codegen", "--check"] => codegen::check(&root()),
        ["architecture"] => architecture::check(&root()),
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
