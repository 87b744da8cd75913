// SPDX-License-Identifier: Apache-2.0
//! Converts the Unix time that the kernel stamps on a datagram to the pipeline's clock.

/// Longest time that a datagram waits in socket and channel, in ns.
const LONGEST_WAIT_NS: u64 = 10_000_000_000;
/// Smallest jump of the Unix time that counts as a step, in ns; a smaller one does no harm.
const LEAST_STEP_NS: u64 = 10_000_000;

/// How far the pipeline's clock is ahead of the Unix time, now and before its last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceptionClock {
    /// The pipeline's clock minus the Unix time, in ns.
    pub clock_minus_unix_ns: i64,
    /// Offset before the last step, and until when datagrams stamped before it may be read.
    before: Option<(i64, u64)>,
}

impl ReceptionClock {
    /// Creates a clock whose Unix time has not stepped yet.
    pub fn new(clock_minus_unix_ns: i64) -> Self {
        Self {
            clock_minus_unix_ns,
            before: None,
        }
    }

    /// Takes a reading of both clocks; `now_ns` is the time on the pipeline's clock.
    pub fn observe(&mut self, clock_minus_unix_ns: i64, now_ns: u64) {
        let moved_ns = clock_minus_unix_ns.abs_diff(self.clock_minus_unix_ns);
        if moved_ns >= LEAST_STEP_NS {
            let until_ns = now_ns.saturating_add(LONGEST_WAIT_NS);
            self.before = Some((self.clock_minus_unix_ns, until_ns));
        } else if self.before.is_some_and(|(_, until_ns)| now_ns > until_ns) {
            self.before = None;
        }
        self.clock_minus_unix_ns = clock_minus_unix_ns;
    }

    /// Returns when a datagram stamped at `unix_ns` was received, on the pipeline's clock, whose
    /// time is `now_ns`.
    ///
    /// If the Unix time was set between stamp and reading, the offset before the step may apply;
    /// the stamp does not say which of the two does. The later result is used, so that no datagram
    /// seems older than it is. If neither offset gives a plausible time, the datagram counts as
    /// received now: a time in the future would hold up everything that is due by then.
    #[inline]
    pub(crate) fn rx_ns(&self, unix_ns: u64, now_ns: u64) -> u64 {
        let by_now = believed(unix_ns, self.clock_minus_unix_ns, now_ns);
        let Some((before, _)) = self.before else {
            return by_now.unwrap_or(now_ns);
        };
        by_now
            .max(believed(unix_ns, before, now_ns))
            .unwrap_or(now_ns)
    }
}

#[inline]
fn believed(unix_ns: u64, clock_minus_unix_ns: i64, now_ns: u64) -> Option<u64> {
    let rx_ns = unix_ns.saturating_add_signed(clock_minus_unix_ns);
    let waits = now_ns.saturating_sub(LONGEST_WAIT_NS)..=now_ns;
    waits.contains(&rx_ns).then_some(rx_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const OFFSET: i64 = 5 * 3600 * S as i64;
    const NOW: u64 = 10 * 3600 * S;
    /// Stamp of a datagram received one second ago, in Unix time as it was then.
    const STAMP: u64 = NOW - S - OFFSET as u64;

    #[test]
    fn a_stamp_of_another_time_of_day_is_not_believed() {
        let hour = 3600 * S as i64;
        let rx = |offset| ReceptionClock::new(offset).rx_ns(STAMP, NOW);
        assert_eq!(rx(OFFSET), NOW - S);
        assert_eq!(rx(OFFSET + hour), NOW);
        assert_eq!(rx(OFFSET - hour), NOW);
    }

    /// A step of less than the longest wait: datagrams stamped before it seemed to be received that
    /// much earlier, and their reports were refused as being from the future.
    #[test]
    fn a_step_between_stamp_and_reading_is_known() {
        // Set back by as much as the datagram waited, the stamp could also be from now.
        let waited = [
            (-9, NOW - S),
            (-1, NOW),
            (1, NOW - S),
            (9, NOW - S),
            (4000, NOW - S),
        ];
        for (step_s, rx_ns) in waited {
            let mut clock = ReceptionClock::new(OFFSET);
            clock.observe(OFFSET - step_s * S as i64, NOW);
            assert_eq!(clock.rx_ns(STAMP, NOW), rx_ns, "{step_s}");
            // A datagram from after the step, received now.
            let stamp = STAMP.saturating_add_signed((1 + step_s) * S as i64);
            assert_eq!(clock.rx_ns(stamp, NOW), NOW, "{step_s}");
        }
    }

    #[test]
    fn a_step_is_over_when_nothing_of_before_it_can_come() {
        let mut clock = ReceptionClock::new(OFFSET);
        let stepped = OFFSET - S as i64;
        clock.observe(stepped, NOW);
        clock.observe(stepped + 5_000, NOW + 10 * S);
        assert!(clock.before.is_some());
        clock.observe(stepped, NOW + 10 * S + 1);
        assert_eq!(clock, ReceptionClock::new(stepped));
    }
}
