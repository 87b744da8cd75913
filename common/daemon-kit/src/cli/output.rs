// SPDX-License-Identifier: Apache-2.0
//! Standard output of a command. A reader that closes the pipe, as `head` does, ends the command quietly.

use serde::Serialize;
use std::fmt::{self, Display};
use std::io::{self, ErrorKind, Write};

/// Standard output. [`is_closed`] recognises the error of a closed pipe, and no other error.
#[derive(Debug)]
pub struct Output(io::Stdout);

/// Returns the standard output of this program.
pub fn stdout() -> Output {
    Output(io::stdout())
}

/// Marks the error of a closed standard output, unlike a socket's broken pipe.
#[derive(Debug)]
struct Closed;

impl Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl std::error::Error for Closed {}

fn marked(e: io::Error) -> io::Error {
    match e.kind() {
        ErrorKind::BrokenPipe => io::Error::new(ErrorKind::BrokenPipe, Closed),
        _ => e,
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(marked)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(marked)
    }
}

/// Returns whether an error was caused by a reader that closed standard output.
pub fn is_closed(e: &anyhow::Error) -> bool {
    let mut causes = e.chain().filter_map(|c| c.downcast_ref::<io::Error>());
    causes.any(|e| e.get_ref().is_some_and(|inner| inner.is::<Closed>()))
}

/// Prints a line.
///
/// # Errors
/// Standard output is closed ([`is_closed`]) or cannot be written.
pub fn print(line: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(stdout(), "{line}")?)
}

/// Prints a value as indented JSON, with a line for each field.
///
/// # Errors
/// Same as [`print`]; also if the value cannot be serialised.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(serde_json::to_string_pretty(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn only_standard_output_counts_as_closed() {
        let pipe = || io::Error::from(ErrorKind::BrokenPipe);
        let closed: Result<(), _> = Err(marked(pipe()));
        assert!(is_closed(&closed.context("export").unwrap_err()));
        assert!(!is_closed(&pipe().into()));
        let full = marked(io::Error::from(ErrorKind::StorageFull));
        assert!(!is_closed(&full.into()));
    }
}
