// SPDX-License-Identifier: Apache-2.0
//! The peak of the aggregate window at the limit in force.

use tidemark_rules::bscl;
use tidemark_rules::traffic::Traffic;

/// Utilisation that counts as full; the rest is measurement noise.
pub(super) const FULL: f64 = 0.999;

/// Lowest window over the peak if all flows lose at once; also used for CUBIC, since a flow may
/// lose again in the same event.
pub(super) const ALL_AT_ONCE: f64 = 0.5;

/// N_b below which a single flow determines the swing.
pub(super) const ONE_FLOW: f64 = 1.5;
/// Segments sent at once: an acknowledgement of two segments releases two.
const AT_ONCE: f64 = 2.0;

/// Whether there are several flows, but too few to smooth out each other's bursts.
fn few(m: &Traffic) -> bool {
    (ONE_FLOW..bscl::FEW_FLOWS).contains(&m.n_b.value)
}

/// Returns the ratio of the largest window to that of a full path and a full queue, with the bursts
/// of a few flows; `None` for one or many flows.
pub(crate) fn short_by_bursts(m: &Traffic, buffer_bytes: f64) -> Option<f64> {
    let peak = Peak {
        bdp_bytes: m.drain_bytes_per_s() * m.t_e_s.value,
        limit_bytes: buffer_bytes,
        segment_bytes: m.segment_bytes,
        burst_bytes: AT_ONCE * m.segment_bytes,
    };
    few(m).then(|| peak.short_of(buffer_bytes))
}

/// The peak of the aggregate window at the limit in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peak {
    pub bdp_bytes: f64,
    pub limit_bytes: f64,
    segment_bytes: f64,
    /// Data sent at once that does not arrive in time to fill the path; 0 if many flows smooth it
    /// out.
    burst_bytes: f64,
}

impl Peak {
    pub fn of(m: &Traffic, t_e_s: f64) -> Option<Self> {
        let bdp_bytes = m.drain_bytes_per_s() * t_e_s;
        let limit_bytes = m.limit_bytes?;
        (bdp_bytes.is_finite() && bdp_bytes > 0.0 && limit_bytes.is_finite() && limit_bytes > 0.0)
            .then_some(Self {
                bdp_bytes,
                limit_bytes,
                segment_bytes: m.segment_bytes,
                burst_bytes: 0.0,
            })
    }

    /// Returns this peak, and the peak if bursts of a few flows fill a queue of a few packets
    /// before the windows fill the path.
    pub fn possible(self, m: &Traffic) -> impl Iterator<Item = Self> {
        let bursts = few(m).then_some(Self {
            burst_bytes: AT_ONCE * m.segment_bytes,
            ..self
        });
        std::iter::once(self).chain(bursts)
    }

    /// Returns the largest aggregate window over C·Tₑ.
    pub fn over_bdp(self) -> f64 {
        self.at(self.limit_bytes) / self.bdp_bytes
    }

    pub fn scale(self, buffer_bytes: f64) -> f64 {
        self.at(buffer_bytes) / self.at(self.limit_bytes)
    }

    /// Returns the largest aggregate window at a limit. A queue of K packets, one of them in
    /// transmission, that overflows by chance leaves a part of the path idle that falls with 1/K
    /// (drift against variance, as in heavy traffic).
    fn at(self, buffer_bytes: f64) -> f64 {
        self.bdp_bytes * self.full_path(buffer_bytes) + buffer_bytes
    }

    /// Returns the filled part of the path while the queue is full.
    fn full_path(self, buffer_bytes: f64) -> f64 {
        let room = buffer_bytes + self.segment_bytes;
        room / (room + self.burst_bytes).max(f64::MIN_POSITIVE)
    }

    /// Returns the ratio of the window at a full queue to that with a full path.
    pub fn short_of(self, buffer_bytes: f64) -> f64 {
        self.at(buffer_bytes) / (self.bdp_bytes + buffer_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_of_a_few_flows_leave_a_short_queue_unused() {
        let of = |flows: f64| Traffic::described(10e6, 0.04, flows, 1500.0);
        // A path of 33 packets: with 4 packets of queue 5/7 of it is filled, with 400 almost all.
        let path = 10e6 / 8.0 * 0.04 / 1500.0;
        let short = short_by_bursts(&of(2.0), 6_000.0).unwrap();
        assert!((short - (path * 5.0 / 7.0 + 4.0) / (path + 4.0)).abs() < 1e-12);
        assert!(short_by_bursts(&of(2.0), 600_000.0).unwrap() > 0.999);
        for flows in [1.0, 5.0, 20.0] {
            assert_eq!(short_by_bursts(&of(flows), 6_000.0), None);
        }
    }

    #[test]
    fn the_peak_has_bursts_beside_it_for_a_few_flows_only() {
        let mut m = Traffic::described(10e6, 0.04, 3.0, 1500.0);
        m.limit_bytes = Some(60_000.0);
        let scales = |m: &Traffic| -> Vec<f64> {
            let peak = Peak::of(m, 0.04).unwrap();
            peak.possible(m).map(|p| p.scale(6_000.0)).collect()
        };
        let few = scales(&m);
        assert!(few.len() == 2 && few[1] < few[0], "{few:?}");
        m.n_b = tidemark_rules::range::Range::exact(12.0);
        assert_eq!(scales(&m), [few[0]]);
    }
}
