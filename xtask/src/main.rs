// SPDX-License-Identifier: Apache-2.0
//! Development tasks: see [`USAGE`].

#![forbid(unsafe_code)]

mod architecture;
mod ceilings;
mod codegen;
#[cfg(feature = "programs")]
mod manuals;
mod repository;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  codegen [--check]      write every generated file; fail when one is stale
  architecture           fail when a part depends on one that it must not
  weight [--write]       fail when a room has more product lines than its ceiling; lower the ceilings
  prose [--write]        fail when a room or page has more hard sentences than its ceiling; lower the ceilings
cargo xtask-programs COMMAND also covers files generated from .proto files and from the programs, and has
  manuals DIRECTORY      write manual pages and shell completions";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = root();
    let result = match args[..] {
        ["codegen"] => codegen::write(&root),
        ["codegen", "--check"] => codegen::check(&root),
        ["architecture"] => architecture::check(&root),
        ["weight"] => ceilings::weight(&root)
            .and_then(|counts| ceilings::check(&root, &counts, "remove as many lines")),
        ["weight", "--write"] => {
            ceilings::weight(&root).and_then(|counts| ceilings::write(&root, &counts))
        }
        ["prose"] => ceilings::prose(&root)
            .and_then(|counts| ceilings::check(&root, &counts, "write it with a noun and a verb")),
        ["prose", "--write"] => {
            ceilings::prose(&root).and_then(|counts| ceilings::write(&root, &counts))
        }
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

/// Returns the top directory of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
