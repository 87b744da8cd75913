// SPDX-License-Identifier: Apache-2.0
//! The text trace, line by line.

use super::report::TraceReport;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use tcp_probe::Event;
use tidemark_pcap::open;

/// A trace file, event by event.
pub(crate) struct Trace {
    path: PathBuf,
    input: Option<BufReader<Box<dyn Read>>>,
    line: Vec<u8>,
    next: Option<Event>,
    pub report: TraceReport,
}

impl Trace {
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let input = match path {
            Some(path) => Some(BufReader::with_capacity(1 << 18, open(path)?.0)),
            None => None,
        };
        let mut trace = Self {
            path: path.map(Path::to_path_buf).unwrap_or_default(),
            input,
            line: Vec::new(),
            next: None,
            report: TraceReport::default(),
        };
        trace.advance()?;
        Ok(trace)
    }

    fn advance(&mut self) -> Result<()> {
        self.next = None;
        let Some(input) = &mut self.input else {
            return Ok(());
        };
        loop {
            self.line.clear();
            let read = input.read_until(b'\n', &mut self.line);
            let n = read.with_context(|| self.path.display().to_string())?;
            if n == 0 {
                return Ok(());
            }
            while self.line.last().is_some_and(|b| matches!(b, b'\n' | b'\r')) {
                self.line.pop();
            }
            self.report.lines += 1;
            if let Some(lost) = tcp_probe::text::lost_events(&self.line) {
                self.report.lost += lost;
                continue;
            }
            match tcp_probe::text::parse_line(&self.line) {
                Ok(Some(event)) => {
                    self.report.events += 1;
                    if matches!(event, Event::Probe(_)) {
                        self.report.samples += 1;
                    }
                    self.next = Some(event);
                    return Ok(());
                }
                Ok(None) => {}
                Err(_) => self.report.malformed += 1,
            }
        }
    }

    /// The next event if it is not later than `time_ns`.
    pub(crate) fn until(&mut self, time_ns: u64) -> Result<Option<Event>> {
        if self.next.as_ref().is_some_and(|e| e.time_ns() <= time_ns) {
            let event = self.next.take();
            self.advance()?;
            return Ok(event);
        }
        Ok(None)
    }
}
