// SPDX-License-Identifier: Apache-2.0
//! Generates manual pages and shell completions from the programs' command lines.

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::fs;
use std::path::Path;

fn programs() -> [Command; 4] {
    [
        tidemark_collector::cli::command(),
        tidemark_controller::cli::command(),
        tidemark_switch::cli::command(),
        tidemark_traffic::cli::command(),
    ]
}

/// Writes `man/PROGRAM[-SUBCOMMAND].1`, `bash/PROGRAM`, `zsh/_PROGRAM` and `fish/PROGRAM.fish`
/// below a directory. Returns true: callers have nothing to check.
///
/// # Errors
/// The directory cannot be written.
pub(crate) fn write(directory: &Path) -> Result<bool> {
    let below = |name: &str| -> Result<_> {
        let path = directory.join(name);
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(path)
    };
    for program in programs() {
        let name = program.get_name().to_owned();
        clap_mangen::generate_to(program.clone(), below("man")?)?;
        for (shell, folder) in [
            (Shell::Bash, "bash"),
            (Shell::Zsh, "zsh"),
            (Shell::Fish, "fish"),
        ] {
            let mut program = program.clone();
            let written = clap_complete::generate_to(shell, &mut program, &name, below(folder)?)?;
            if shell == Shell::Bash {
                // Shells find completions by the program's name.
                fs::rename(&written, written.with_extension(""))?;
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_and_every_subcommand_has_a_page() {
        let directory = tempfile::tempdir().unwrap();
        assert!(write(directory.path()).unwrap());
        let page = |name: &str| {
            let path = directory.path().join(format!("man/{name}.1"));
            fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()))
        };
        for program in programs() {
            let name = program.get_name();
            assert!(page(name).contains("SYNOPSIS"), "{name}");
            for command in program.get_subcommands().filter(|c| !c.is_hide_set()) {
                page(&format!("{name}-{}", command.get_name()));
            }
            for file in [
                format!("bash/{name}"),
                format!("zsh/_{name}"),
                format!("fish/{name}.fish"),
            ] {
                assert!(directory.path().join(&file).is_file(), "{file}");
            }
        }
    }
}
