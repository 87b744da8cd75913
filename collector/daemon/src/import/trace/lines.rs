// SPDX-License-Identifier: Apache-2.0
//! Reads the lines of a text trace, each of bounded length.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use tidemark_pcap::open;

/// Maximum length of a line of a trace; longer lines are discarded.
const MAX_LINE_BYTES: usize = 64 * 1024;

pub(super) struct Lines {
    path: PathBuf,
    input: BufReader<Box<dyn Read>>,
    /// Bytes of the buffer that the last returned line took.
    given: usize,
    /// A line that extends past the end of the buffer.
    line: Vec<u8>,
}

impl Lines {
    /// # Errors
    /// If the file cannot be opened, or begins like another known format.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut lines = Self {
            path: path.to_path_buf(),
            input: BufReader::with_capacity(1 << 18, open(path)?.0),
            given: 0,
            line: Vec::new(),
        };
        let start = lines.input.fill_buf();
        let start = start.with_context(|| path.display().to_string())?;
        if let Some(name) = tcp_probe::text::foreign(start) {
            bail!("{}: not a text trace but {name}", path.display());
        }
        Ok(lines)
    }

    /// Reads the next line, without its line end; `None` at the end of the file. Of a line that is
    /// too long, returns only the last part, with `true`.
    pub(super) fn next_line(&mut self) -> Result<Option<(&[u8], bool)>> {
        self.input.consume(std::mem::take(&mut self.given));
        // Nearly every line is entirely in the buffer.
        if let Some(end) = memchr::memchr(b'\n', self.input.buffer())
            && end < MAX_LINE_BYTES
        {
            self.given = end + 1;
            let line = self.input.buffer().get(..end).unwrap_or_default();
            return Ok(Some((line.strip_suffix(b"\r").unwrap_or(line), false)));
        }
        self.line.clear();
        let mut read = self.read_part()?;
        if read == 0 {
            return Ok(None);
        }
        let too_long = read == MAX_LINE_BYTES && self.line.last() != Some(&b'\n');
        while read == MAX_LINE_BYTES && self.line.last() != Some(&b'\n') {
            self.line.clear();
            read = self.read_part()?;
        }
        while self.line.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
            self.line.pop();
        }
        Ok(Some((&self.line, too_long)))
    }

    fn read_part(&mut self) -> Result<usize> {
        let mut part = self.input.by_ref().take(MAX_LINE_BYTES as u64);
        let read = part.read_until(b'\n', &mut self.line);
        read.with_context(|| self.path.display().to_string())
    }
}
