// SPDX-License-Identifier: Apache-2.0
//! Reads a trace once before it is used, to see whether it is one and in what order it is.

use super::lines::Lines;
use anyhow::{Result, bail};
use std::path::Path;

/// Size of the sorting window, in events. `trace_pipe` takes turns between the CPUs' buffers, so
/// that neighbours change places; whole buffers one after the other exceed the window.
pub(super) const WINDOW: usize = 1 << 16;

/// How a file's events are ordered in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    ByTime,
    /// No event comes after more than [`WINDOW`] events that should follow it.
    WithinWindow,
    Mixed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Survey {
    pub order: Order,
    pub events: u64,
    /// Events that come after an event with a later time.
    pub out_of_order: u64,
}

/// Determines the order of times that are added one by one.
struct Times {
    seen: u64,
    latest_ns: u64,
    /// Latest time before the last half to whole window of events, and before the last half window
    /// at most.
    before_ns: [u64; 2],
    survey: Survey,
}

impl Times {
    fn new() -> Self {
        Self {
            seen: 0,
            latest_ns: 0,
            before_ns: [0; 2],
            survey: Survey {
                order: Order::ByTime,
                events: 0,
                out_of_order: 0,
            },
        }
    }

    #[inline]
    fn add(&mut self, time_ns: u64) {
        if self.seen.is_multiple_of(WINDOW as u64 / 2) {
            self.before_ns = [self.before_ns[1], self.latest_ns];
        }
        self.seen += 1;
        if time_ns < self.latest_ns {
            self.survey.out_of_order += 1;
            // The window has passed on no event that is later than `before_ns[0]`.
            let mixed = time_ns < self.before_ns[0] || self.survey.order == Order::Mixed;
            self.survey.order = if mixed {
                Order::Mixed
            } else {
                Order::WithinWindow
            };
        }
        self.latest_ns = self.latest_ns.max(time_ns);
    }

    fn end(self) -> Survey {
        Survey {
            events: self.seen,
            ..self.survey
        }
    }
}

/// # Errors
/// If the file cannot be read, or none of its lines is from a trace.
pub(super) fn survey(path: &Path) -> Result<Survey> {
    let mut lines = Lines::open(path)?;
    let mut times = Times::new();
    let (mut others, mut of_trace) = (0u64, false);
    while let Some((line, too_long)) = lines.next_line()? {
        if let Some(time_ns) = tcp_probe::text::time_ns(line).filter(|_| !too_long) {
            times.add(time_ns);
        } else if too_long || !(line.is_empty() || line.starts_with(b"#")) {
            others += 1;
            of_trace = of_trace
                || tcp_probe::text::is_of_a_trace(line)
                || tcp_probe::text::lost_events(line).is_some();
        }
    }
    let survey = times.end();
    if survey.events == 0 && others > 0 && !of_trace {
        bail!(
            "{}: none of its {others} lines is of a trace; the output of `trace_pipe`, \
             `trace-cmd report` and `perf script` is read",
            path.display()
        );
    }
    if survey.events == 0 {
        tracing::warn!(
            "{}: holds no event of tcp_probe: was the tracepoint tcp:tcp_probe recorded?",
            path.display()
        );
    }
    Ok(survey)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(times: impl IntoIterator<Item = u64>) -> (Order, u64) {
        let mut all = Times::new();
        times.into_iter().for_each(|t| all.add(t));
        let survey = all.end();
        (survey.order, survey.out_of_order)
    }

    #[test]
    fn neighbours_are_within_the_window_and_whole_buffers_are_not() {
        assert_eq!(order([1, 2, 2, 3]), (Order::ByTime, 0));
        assert_eq!(order([1, 3, 2, 4]), (Order::WithinWindow, 1));
        let n = WINDOW as u64;
        assert_eq!(
            order((0..n / 2).chain(0..n / 2)),
            (Order::WithinWindow, n / 2 - 1)
        );
        assert_eq!(order((0..3 * n).chain(0..n)), (Order::Mixed, n));
    }
}
