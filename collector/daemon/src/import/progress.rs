// SPDX-License-Identifier: Apache-2.0
//! How far an import is.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line on standard error that is renewed; nothing when that is no terminal.
pub struct Progress {
    shown: bool,
    next: Instant,
    started: Instant,
}

impl Progress {
    pub fn new(wanted: bool) -> Self {
        let now = Instant::now();
        Self {
            shown: wanted && std::io::stderr().is_terminal(),
            next: now,
            started: now,
        }
    }

    pub fn tick(&mut self, datagrams: u64) {
        if self.shown && datagrams % 4096 == 0 && Instant::now() >= self.next {
            self.next = Instant::now() + Duration::from_millis(200);
            self.print(datagrams);
        }
    }

    fn print(&self, datagrams: u64) {
        let rate = datagrams as f64 / self.started.elapsed().as_secs_f64().max(1e-3);
        // Nothing to do about a terminal that is gone.
        let _ = write!(
            std::io::stderr(),
            "\r{datagrams} datagrams, {:.2} M/s ",
            rate / 1e6
        );
    }

    pub fn end(&self, datagrams: u64) {
        if self.shown {
            self.print(datagrams);
            let _ = writeln!(std::io::stderr());
        }
    }
}
