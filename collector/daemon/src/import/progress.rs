// SPDX-License-Identifier: Apache-2.0
//! How far an import is.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const WIDTH: usize = 30;

/// A bar on standard error that is renewed; nothing when that is no terminal.
pub(super) struct Progress {
    shown: bool,
    next: Instant,
    started: Instant,
}

impl Progress {
    pub(super) fn new(wanted: bool) -> Self {
        let now = Instant::now();
        Self {
            shown: wanted && std::io::stderr().is_terminal(),
            next: now,
            started: now,
        }
    }

    /// `fraction`: the part of the pcap read, 0 to 1.
    pub(super) fn tick(&mut self, datagrams: u64, fraction: f64) {
        if self.shown && datagrams.is_multiple_of(4096) && Instant::now() >= self.next {
            self.next = Instant::now() + Duration::from_millis(200);
            self.print(datagrams, fraction);
        }
    }

    fn print(&self, datagrams: u64, fraction: f64) {
        // Nothing to do about a terminal that is gone.
        let _ = write!(
            std::io::stderr(),
            "\r{}",
            line(datagrams, fraction, self.started.elapsed().as_secs_f64())
        );
    }

    pub(super) fn end(&self, datagrams: u64) {
        if self.shown {
            self.print(datagrams, 1.0);
            let _ = writeln!(std::io::stderr());
        }
    }
}

fn line(datagrams: u64, fraction: f64, elapsed_s: f64) -> String {
    let done = ((fraction * WIDTH as f64).round() as usize).min(WIDTH);
    let rate = datagrams as f64 / elapsed_s.max(1e-3) / 1e6;
    format!(
        "[{}{}] {:3.0} % {datagrams} datagrams, {rate:.2} M/s ",
        "#".repeat(done),
        ".".repeat(WIDTH - done),
        100.0 * fraction
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar() {
        assert_eq!(
            line(1_000_000, 0.5, 2.0),
            "[###############...............]  50 % 1000000 datagrams, 0.50 M/s "
        );
        assert!(line(0, 2.0, 0.0).starts_with("[##############################]"));
    }
}
