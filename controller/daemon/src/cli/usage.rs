// SPDX-License-Identifier: Apache-2.0
//! Errors of how a command was called, told from those of what it did.

use std::process::ExitCode;

/// Exit status of a command that was called wrongly, as clap has it.
const USAGE: u8 = 2;

/// Arguments that make no sense, alone or together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Usage(String);

impl Usage {
    /// An error that says which argument and what it may be.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Any error of an argument.
    pub(super) fn of(e: &anyhow::Error) -> Self {
        Self(format!("{e:#}"))
    }

    /// `Ok` where the arguments make sense.
    pub(super) fn unless(sense: bool, message: impl Into<String>) -> Result<(), Self> {
        if sense {
            Ok(())
        } else {
            Err(Self::new(message))
        }
    }
}

/// The exit status of a command that ended with this error.
pub(super) fn exit_code(e: &anyhow::Error) -> ExitCode {
    if e.is::<Usage>() {
        ExitCode::from(USAGE)
    } else {
        ExitCode::FAILURE
    }
}
