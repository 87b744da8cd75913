// SPDX-License-Identifier: Apache-2.0
//! Shows the progress of long operations and the remaining time.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const WIDTH: usize = 30;
/// Time before the bar is shown; faster operations need none.
const QUICK: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_millis(200);

/// A progress line on standard error that is updated in place; not shown if standard error
/// is not a terminal, or within the first two seconds.
#[derive(Debug)]
pub struct Progress {
    of: &'static str,
    terminal: bool,
    shown: bool,
    next: Instant,
    started: Instant,
}

impl Progress {
    /// Starts a progress line that counts `of`, for example "rows"; shown only if `wanted`.
    pub fn new(of: &'static str, wanted: bool) -> Self {
        let now = Instant::now();
        Self {
            of,
            terminal: wanted && std::io::stderr().is_terminal(),
            shown: false,
            next: now + QUICK,
            started: now,
        }
    }

    /// Reports that `done` items are done, and which fraction (0 to 1) of all; `None` if
    /// unknown.
    pub fn tick(&mut self, done: u64, fraction: Option<f64>) {
        if self.terminal && Instant::now() >= self.next {
            self.next = Instant::now() + PERIOD;
            self.shown = true;
            self.print(done, fraction);
        }
    }

    fn print(&self, done: u64, fraction: Option<f64>) {
        let line = line(
            self.of,
            done,
            fraction,
            self.started.elapsed().as_secs_f64(),
        );
        // Nothing to do about a terminal that is gone.
        let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
    }

    /// Reports that everything is done.
    pub fn end(self, done: u64) {
        if self.shown {
            self.print(done, Some(1.0));
        }
    }
}

/// Ends the line, so that the next output, for example an error, starts a new line.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // Nothing to do about a terminal that is gone.
            let _ = writeln!(std::io::stderr());
        }
    }
}

fn line(of: &str, done: u64, fraction: Option<f64>, elapsed_s: f64) -> String {
    let rate = done as f64 / elapsed_s.max(1e-3) / 1e6;
    let counted = format!("{done} {of}, {rate:.2} M/s");
    let Some(fraction) = fraction.map(|f| f.clamp(0.0, 1.0)) else {
        return counted;
    };
    let full = ((fraction * WIDTH as f64).round() as usize).min(WIDTH);
    let left = match fraction {
        f if f > 0.0 && f < 1.0 => format!(", {} left", duration(elapsed_s * (1.0 - f) / f)),
        _ => String::new(),
    };
    format!(
        "[{}{}] {:3.0} % {counted}{left}",
        "#".repeat(full),
        ".".repeat(WIDTH - full),
        100.0 * fraction
    )
}

fn duration(s: f64) -> String {
    match s.ceil() as u64 {
        s @ ..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_how_much_is_left() {
        assert_eq!(
            line("datagrams", 1_000_000, Some(0.5), 2.0),
            "[###############...............]  50 % 1000000 datagrams, 0.50 M/s, 2 s left"
        );
        assert_eq!(line("rows", 5, None, 1.0), "5 rows, 0.00 M/s");
        let all = line("rows", 0, Some(2.0), 0.0);
        assert!(all.starts_with("[##############################] 100 % 0 rows"));
        assert!(!all.contains("left"));
        assert!(!line("rows", 0, Some(0.0), 3.0).contains("left"));
        assert_eq!(duration(59.2), "1 min 0 s");
        assert_eq!(duration(7321.0), "2 h 2 min");
    }
}
