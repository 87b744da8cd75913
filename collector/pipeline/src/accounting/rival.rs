// SPDX-License-Identifier: Apache-2.0
//! Detects a second clock that reports as a node while the node's own does: two exporters use the
//! node's id, or someone sends a recording. Without a key, the true clock cannot be identified.

/// This many reports in a row that agree on another time count as a restart, once nothing has been
/// received on the old time axis for [`SILENCE_NS`].
pub(super) const RESTART_CONFIRMATIONS: u32 = 8;
/// A clock is given up only after it has been silent for this long: one datagram holds many
/// reports, and may be forged.
pub(super) const SILENCE_NS: u64 = 1_000_000_000;

/// Reports of another clock agree within this, ns.
const AGREEMENT_NS: i128 = 500_000_000;
/// How long the alarm lasts after the last report that raised it, ns.
const HOLD_NS: u64 = 60_000_000_000;

/// Reports off a node's time axis that advance as a clock does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rival {
    time_ns: u64,
    rx_ns: u64,
    since_rx_ns: u64,
    reports: u32,
    /// Reception time of the last report that proved two clocks.
    heard_rx_ns: Option<u64>,
}

impl Rival {
    /// Takes a report off the time axis, which itself was last heard at `axis_rx_ns`.
    pub(super) fn observe(&mut self, time_ns: u64, rx_ns: u64, axis_rx_ns: u64) {
        let passed = i128::from(rx_ns) - i128::from(self.rx_ns);
        let went = i128::from(time_ns) - i128::from(self.time_ns);
        if self.reports > 0 && (went - passed).abs() < AGREEMENT_NS {
            self.reports = self.reports.saturating_add(1);
        } else {
            (self.reports, self.since_rx_ns) = (1, rx_ns);
        }
        (self.time_ns, self.rx_ns) = (time_ns, rx_ns);
        // The axis must have gone on as long: after a restart, the old clock is silent.
        let both_ns = axis_rx_ns.saturating_sub(self.since_rx_ns);
        if self.reports >= RESTART_CONFIRMATIONS && both_ns >= SILENCE_NS {
            self.heard_rx_ns = Some(rx_ns);
        }
    }

    /// Whether both clocks are reporting at `now_rx_ns`.
    pub(super) fn is_heard(&self, now_rx_ns: u64) -> bool {
        let since = |at: u64| now_rx_ns.saturating_sub(at);
        self.heard_rx_ns.is_some_and(|at| since(at) < HOLD_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn two_clocks_are_heard_only_where_both_go_on() {
        let rival = |times: &dyn Fn(u64) -> u64, axis: &dyn Fn(u64) -> u64| {
            let mut rival = Rival::default();
            for at in (0..3000).step_by(40) {
                rival.observe(times(at), at * MS, axis(at));
            }
            rival
        };
        let steady = |at: u64| 7_000_000 * MS + at * MS;
        let both = rival(&steady, &|at| at * MS);
        assert!(both.is_heard(3000 * MS) && both.is_heard(60_000 * MS));
        assert!(!both.is_heard(63_000 * MS));
        assert!(
            !rival(&steady, &|_| 500 * MS).is_heard(3000 * MS),
            "the axis fell silent"
        );
        let scattered = |at: u64| (at * 7919 % 104_729) * 1000 * MS;
        assert!(!rival(&scattered, &|at| at * MS).is_heard(3000 * MS));
    }
}
