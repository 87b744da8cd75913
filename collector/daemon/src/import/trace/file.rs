// SPDX-License-Identifier: Apache-2.0
//! Reads the events of one text trace in time order.

use super::lines::Lines;
use super::survey::{Order, Survey, WINDOW, survey};
use crate::import::report::TraceReport;
use anyhow::{Result, bail};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use tcp_probe::Event;

/// Maximum number of a file's events that are sorted in memory: about a gigabyte.
const MAX_SORTED: u64 = 8_000_000;

/// An event with its position in the file, so that events of equal time keep their order.
#[derive(Debug)]
struct Placed(u64, Event);

impl Placed {
    fn key(&self) -> (u64, u64) {
        (self.1.time_ns(), self.0)
    }
}

impl PartialEq for Placed {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Placed {}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Placed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// A file that was surveyed and can be opened.
pub(super) struct Looked {
    path: PathBuf,
    pub survey: Survey,
}

impl Looked {
    /// # Errors
    /// If the file cannot be read, is not a trace, or is too long to be sorted.
    pub(super) fn at(path: &Path) -> Result<Self> {
        let survey = survey(path)?;
        if survey.order == Order::Mixed && survey.events > MAX_SORTED {
            bail!(
                "{}: its {} events are not in time order, and at most {MAX_SORTED} can be \
                 sorted: give the trace of each CPU as a file, with --tcp-probe HOST=FILE \
                 for each and one HOST for all",
                path.display(),
                survey.events
            );
        }
        Ok(Self {
            path: path.to_path_buf(),
            survey,
        })
    }

    /// # Errors
    /// When the file cannot be read.
    pub(super) fn open(&self) -> Result<TraceFile> {
        let mut file = TraceFile {
            lines: Lines::open(&self.path)?,
            waiting: BinaryHeap::new(),
            // One more than the window: once that many wait, the first event is next in time.
            wait_for: match self.survey.order {
                Order::ByTime => 1,
                Order::WithinWindow => WINDOW + 1,
                Order::Mixed => usize::MAX,
            },
            read: 0,
            next: None,
            report: TraceReport {
                out_of_order: self.survey.out_of_order,
                ..TraceReport::default()
            },
        };
        file.advance()?;
        Ok(file)
    }
}

pub(super) struct TraceFile {
    lines: Lines,
    waiting: BinaryHeap<Reverse<Placed>>,
    wait_for: usize,
    read: u64,
    next: Option<Event>,
    pub report: TraceReport,
}

impl TraceFile {
    /// Time of the next event; `None` at the end.
    #[inline]
    pub(super) fn time_ns(&self) -> Option<u64> {
        self.next.as_ref().map(Event::time_ns)
    }

    pub(super) fn take(&mut self) -> Result<Option<Event>> {
        let event = self.next.take();
        self.advance()?;
        Ok(event)
    }

    fn advance(&mut self) -> Result<()> {
        if self.wait_for == 1 {
            self.next = self.read()?;
            return Ok(());
        }
        while self.waiting.len() < self.wait_for
            && let Some(event) = self.read()?
        {
            self.waiting.push(Reverse(Placed(self.read, event)));
            self.read += 1;
        }
        self.next = self.waiting.pop().map(|Reverse(placed)| placed.1);
        Ok(())
    }

    /// Reads the next event of the file.
    fn read(&mut self) -> Result<Option<Event>> {
        while let Some((line, too_long)) = self.lines.next_line()? {
            self.report.lines += 1;
            match tcp_probe::text::parse_line(line) {
                _ if too_long => self.report.malformed += 1,
                Ok(Some(event)) => {
                    self.report.events += 1;
                    if matches!(event, Event::Probe(_)) {
                        self.report.samples += 1;
                    }
                    return Ok(Some(event));
                }
                Ok(None) => {
                    self.report.other += 1;
                    self.report.lost += tcp_probe::text::lost_events(line).unwrap_or(0);
                }
                Err(_) => self.report.malformed += 1,
            }
        }
        Ok(None)
    }
}
