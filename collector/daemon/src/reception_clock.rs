// SPDX-License-Identifier: Apache-2.0
//! From the Unix time that the kernel stamps on a datagram to the pipeline's clock.

/// A datagram waits no longer than this in socket and channel, ns.
const LONGEST_WAIT_NS: u64 = 10_000_000_000;
/// Least jump of the time of day that counts as a step; a smaller one does no harm.
const LEAST_STEP_NS: u64 = 10_000_000;

/// How far the pipeline's clock is ahead of the Unix time, now and before its last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceptionClock {
    /// The pipeline's clock less the Unix time, ns.
    pub clock_minus_unix_ns: i64,
    /// Before the last step, and until when datagrams of that time may be read.
    before: Option<(i64, u64)>,
}

impl ReceptionClock {
    /// A clock whose Unix time was never set.
    pub fn new(clock_minus_unix_ns: i64) -> Self {
        Self {
            clock_minus_unix_ns,
            before: None,
        }
    }

    /// Takes a reading of both clocks at `now_ns` of the pipeline's.
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

    /// When a datagram stamped at `unix_ns` was received, on the pipeline's clock, which
    /// is `now_ns`.
    ///
    /// If the Unix time was set between stamp and reading, the offset before the step may apply;
    /// the stamp does not say which of the two does. The later result counts: it takes nothing for
    /// older than it is. A stamp that makes sense with neither says nothing, and the datagram
    /// counts as received now: one in the future would hold up everything that is due by then.
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
    /// Of a datagram received one second ago, by the time of day then.
    const STAMP: u64 = NOW - S - OFFSET as u64;

    #[test]
    fn a_stamp_of_another_time_of_day_is_not_believed() {
        let hour = 3600 * S as i64;
        let rx = |offset| ReceptionClock::new(offset).rx_ns(STAMP, NOW);
        assert_eq!(rx(OFFSET), NOW - S);
        assert_eq!(rx(OFFSET + hour), NOW);
        assert_eq!(rx(OFFSET - hour), NOW);
    }

    /// A step of less than the longest wait: what was stamped before it looked received
    /// so much earlier, and its report was refused as one of the future.
    #[test]
    fn a_step_between_stamp_and_reading_is_known() {
        // Set back by as much as the datagram waited, it could be one of now as well.
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
            // One of after the step, received now.
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
