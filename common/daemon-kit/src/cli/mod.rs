// SPDX-License-Identifier: Apache-2.0
//! Common parts of all command lines: examples in the help of each command, which tests check
//! against the arguments, shell completions, the format of errors, progress of long operations,
//! and colours.

mod colours;
mod errors;
mod output;
mod program;
mod progress;
pub mod units;

pub use colours::colours;
pub use errors::{NothingRead, Usage, failed, in_words, print_error};
pub use output::{Output, is_closed, print, print_json, stdout};
pub use program::{LevelFilter, ended, start_log};
pub use progress::Progress;

use clap::Command;
pub use clap_complete::Shell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

/// An example of a command, for its help.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The command line, including the program's name and without quotes. The part after `|` or `>`
    /// belongs to other programs.
    pub line: &'static str,
    /// The effect of the command, in a few words.
    pub what: &'static str,
}

impl Example {
    /// Creates an example.
    pub const fn new(line: &'static str, what: &'static str) -> Self {
        Self { line, what }
    }

    /// The words that the program gets as arguments, its name first.
    fn words(&self) -> impl Iterator<Item = &'static str> {
        self.line
            .split_whitespace()
            .take_while(|w| !matches!(*w, "|" | ">" | "&"))
    }

    /// The path of subcommands, such as `port set` of `tidemark-switch port set ...`.
    fn path<'a>(&self, mut command: &'a Command) -> Vec<&'a str> {
        let mut path = Vec::new();
        for word in self.words().skip(1) {
            match command.find_subcommand(word) {
                Some(below) => command = below,
                None => break,
            }
            path.push(command.get_name());
        }
        path
    }
}

/// Adds the examples of each command to the end of its help.
pub fn with_examples(program: Command, examples: &[Example]) -> Command {
    let mut texts: BTreeMap<Vec<String>, String> = BTreeMap::new();
    for e in examples {
        let path = e.path(&program).into_iter().map(str::to_owned);
        let text = texts.entry(path.collect());
        let text = text.or_insert_with(|| "Examples:".to_owned());
        let _ = write!(text, "\n  {}\n      {}", e.line, e.what);
    }
    texts
        .into_iter()
        .fold(program, |p, (path, text)| behind_help(p, &path, text))
}

fn behind_help(command: Command, path: &[String], text: String) -> Command {
    match path {
        [] => command.after_help(text),
        [first, rest @ ..] => command.mut_subcommand(first, |c| behind_help(c, rest, text)),
    }
}

/// Checks that each command has an example and that the program accepts each example.
///
/// # Errors
/// Describes the first problem.
pub fn check(program: &Command, examples: &[Example]) -> Result<(), String> {
    for e in examples {
        let words: Vec<_> = e.words().collect();
        if words.first() != Some(&program.get_name()) {
            return Err(format!("{}: not of {}", e.line, program.get_name()));
        }
        let parsed = program.clone().try_get_matches_from(words);
        parsed.map_err(|error| format!("{}: {error}", e.line))?;
    }
    let shown: Vec<_> = examples.iter().map(|e| e.path(program)).collect();
    let missing = leaves(program).into_iter().find(|l| !shown.contains(l));
    missing.map_or(Ok(()), |l| Err(format!("{}: no example", l.join(" "))))
}

/// Returns the paths of all visible commands without subcommands.
fn leaves(command: &Command) -> Vec<Vec<&str>> {
    let mut below = command.get_subcommands().filter(|c| !c.is_hide_set());
    let mut found = Vec::new();
    for c in &mut below {
        for mut path in leaves(c) {
            path.insert(0, c.get_name());
            found.push(path);
        }
    }
    if found.is_empty() {
        found.push(Vec::new());
    }
    found
}

/// Prints the completions of the program for a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(program: Command, shell: Shell) -> anyhow::Result<()> {
    Ok(stdout().write_all(&completions_of(program, shell))?)
}

fn completions_of(mut program: Command, shell: Shell) -> Vec<u8> {
    // The generator panics on write errors, so write to memory.
    let mut text = Vec::new();
    let name = program.get_name().to_owned();
    clap_complete::generate(shell, &mut program, name, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn program() -> Command {
        let set = Command::new("set").arg(Arg::new("limit").long("limit").required(true));
        Command::new("p")
            .subcommand(Command::new("port").subcommand(set))
            .subcommand(Command::new("run"))
            .subcommand(Command::new("inner").hide(true))
    }

    const RUN: Example = Example {
        line: "p run | jq .",
        what: "runs",
    };
    const SET: Example = Example {
        line: "p port set --limit 300kB",
        what: "sets",
    };

    #[test]
    fn examples_stand_behind_the_help_of_their_command() {
        let mut p = with_examples(program(), &[RUN, SET]);
        let set = p.find_subcommand_mut("port").unwrap();
        let help = set.find_subcommand_mut("set").unwrap().render_help();
        let help = help.to_string();
        assert!(help.contains("Examples:\n  p port set --limit 300kB\n      sets"));
        assert!(!help.contains("jq"));
    }

    #[test]
    fn what_does_not_parse_or_has_none_is_told() {
        assert_eq!(check(&program(), &[RUN, SET]), Ok(()));
        assert_eq!(
            check(&program(), &[RUN]),
            Err("port set: no example".into())
        );
        let wrong = Example {
            line: "p port set --limits 1",
            what: "",
        };
        let told = check(&program(), &[RUN, SET, wrong]).unwrap_err();
        assert!(told.starts_with("p port set --limits 1: "), "{told}");
    }

    #[test]
    fn completions_name_the_commands() {
        let out = completions_of(program(), Shell::Bash);
        assert!(String::from_utf8(out).unwrap().contains("port"));
    }
}
