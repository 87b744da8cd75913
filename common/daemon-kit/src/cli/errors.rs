// SPDX-License-Identifier: Apache-2.0
//! How a command says that it failed: what, where, and what to do, as clap prints it.
//! Who called it wrongly gets another exit status than who asked for what went wrong.

use clap::Command;
use clap::error::{Error, ErrorKind};
use std::io::Write as _;
use std::process::ExitCode;

/// Exit status of a command that was called wrongly, as clap has it.
const USAGE: u8 = 2;

/// Exit status of a command that read nothing.
const NOTHING_READ: u8 = 3;

/// Arguments that make no sense, alone or together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(String);

impl Usage {
    /// An error that says which argument and what it may be.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Any error of an argument.
    pub fn of(e: &anyhow::Error) -> Self {
        Self(in_words(e))
    }

    /// `Ok` where the arguments make sense.
    ///
    /// # Errors
    /// The message where they do not.
    pub fn unless(sense: bool, message: impl Into<String>) -> Result<(), Self> {
        if sense {
            Ok(())
        } else {
            Err(Self::new(message))
        }
    }
}

/// A command that reads found nothing to read in its input: no error, and no success.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NothingRead(String);

impl NothingRead {
    /// Says what was there instead.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Prints the error that ended a command on standard error; the exit status: 2 where it
/// was called wrongly, 3 where it read nothing, else 1.
pub fn failed(e: &anyhow::Error) -> ExitCode {
    if e.is::<NothingRead>() {
        // Nothing to do about a terminal that is gone.
        let _ = writeln!(std::io::stderr(), "warning: {}", in_words(e));
        return ExitCode::from(NOTHING_READ);
    }
    if e.is::<Usage>() {
        print_error(&format!(
            "{}\n\nFor more information, try '--help'.",
            in_words(e)
        ));
        return ExitCode::from(USAGE);
    }
    print_error(&in_words(e));
    ExitCode::FAILURE
}

/// Prints an error on standard error as clap prints its own: after `error:`, which has a
/// colour in a terminal.
pub fn print_error(message: &str) {
    // The kind decides nothing but the stream; the command says that there are colours.
    let error: Error = Error::raw(ErrorKind::Io, format!("{message}\n"));
    // Nothing to do about a terminal that is gone.
    let _ = error.with_cmd(&Command::new("")).print();
}

/// An error and what caused it, on one line. What the error before told already of its
/// cause is not told twice.
pub fn in_words(e: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in e.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[derive(Debug, thiserror::Error)]
    #[error("no server answers: {0}")]
    struct Away(#[source] std::io::Error);

    #[test]
    fn a_cause_is_told_once() {
        let refused = || std::io::Error::other("connection refused");
        let e = anyhow!(Away(refused())).context("load");
        assert_eq!(in_words(&e), "load: no server answers: connection refused");
        let e = anyhow!(refused()).context("run.toml").context("load");
        assert_eq!(in_words(&e), "load: run.toml: connection refused");
    }

    #[test]
    fn who_called_wrongly_gets_another_status() {
        let wrong = || anyhow!(Usage::new("--speed: must be above 0"));
        let status = |e: &anyhow::Error| format!("{:?}", failed(e));
        let usage = format!("{:?}", ExitCode::from(2));
        assert_eq!(status(&wrong()), usage);
        assert_eq!(status(&wrong().context("replay")), usage);
        let failure = format!("{:?}", ExitCode::from(1));
        assert_eq!(status(&anyhow!("disk full")), failure);
        assert_ne!(usage, failure);
        let nothing = anyhow!(NothingRead::new("0 of 3 frames"));
        assert_eq!(status(&nothing), format!("{:?}", ExitCode::from(3)));
    }
}
