// SPDX-License-Identifier: Apache-2.0
//! Reads the tracepoints of this machine, for the collector and for an agent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tcp_probe::Event;
use tcp_probe::perf::{Counts, PerfReader};

/// How often the rings are read.
const POLL: Duration = Duration::from_millis(5);

/// Reads the rings until `stop` is set or reading fails, and then once more. `give` takes the
/// events and counts, and whether they are the last; it returns whether to go on.
pub(crate) fn read(
    mut reader: PerfReader,
    stop: &AtomicBool,
    mut give: impl FnMut(Vec<Event>, Counts, bool) -> bool,
) {
    loop {
        let mut last = stop.load(Ordering::Relaxed);
        if !last && let Err(e) = reader.poll(POLL) {
            tracing::error!("tcp_probe: {e}");
            last = true;
        }
        let mut events = Vec::new();
        if last {
            reader.finish(|e| events.push(e));
        } else {
            reader.drain(|e| events.push(e));
        }
        if !give(events, reader.counts(), last) || last {
            return;
        }
    }
}
