// SPDX-License-Identifier: Apache-2.0
//! Reports why a command failed and what to do, in clap's format. Wrong usage and
//! failures have different exit statuses.

use clap::Command;
use clap::error::{Error, ErrorKind};
use std::io::Write as _;
use std::process::ExitCode;

/// Exit status for wrong usage, the same as clap's.
const USAGE: u8 = 2;

/// Exit status of a command that found nothing to read.
const NOTHING_READ: u8 = 3;

/// Error for invalid arguments, alone or in combination.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(String);

impl Usage {
    /// Creates an error; the message says which argument and what it may be.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Converts any error of an argument.
    pub fn of(e: &anyhow::Error) -> Self {
        Self(in_words(e))
    }

    /// Returns `Ok` if the arguments make sense.
    ///
    /// # Errors
    /// The message, if they do not.
    pub fn unless(sense: bool, message: impl Into<String>) -> Result<(), Self> {
        if sense {
            Ok(())
        } else {
            Err(Self::new(message))
        }
    }
}

/// A command found nothing to read in its input, which is neither an error nor a success.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NothingRead(String);

impl NothingRead {
    /// Creates the error; the message says what was there instead.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Prints the error that ended a command on standard error. Returns the exit status: 2 for
/// wrong usage, 3 if the command found nothing to read, otherwise 1.
pub fn failed(e: &anyhow::Error) -> ExitCode {
    if e.is::<NothingRead>() {
        // If the terminal is gone, nothing can be done.
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

/// Prints an error on standard error as clap does: after `error:`, coloured on a
/// terminal.
pub fn print_error(message: &str) {
    // The kind only selects the stream; the command enables colours.
    let error: Error = Error::raw(ErrorKind::Io, format!("{message}\n"));
    // If the terminal is gone, nothing can be done.
    let _ = error.with_cmd(&Command::new("")).print();
}

/// Returns an error and its causes on one line, without a cause that the text already
/// contains.
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
