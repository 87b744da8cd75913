// SPDX-License-Identifier: Apache-2.0
//! Loss as a function of the window, for each congestion control.
//!
//! * Additive increase (Reno): one loss per sawtooth gives p = a/w². The packets of
//!   a sawtooth grow with w² + 2w, and with windows of a few segments a loss costs
//!   a timeout, so small windows need not shrink in proportion. p ∝ 1/(w + 2.5)²
//!   has both: a local exponent of 1.5 at 8 segments, 1.7 at 16, 1.9 at 40.
//!   Simulated links of many flows have 1.47 to 1.61 at 6 to 19 segments, the lab
//!   1.2 to 2.0 at 15 to 30.
//! * CUBIC (RFC 9438): the larger of two windows. Its own, if the window follows
//!   the time since the last loss, has p = 1.07·RTT/w^(4/3) (§5.1), so p ∝ RTT^(-1/3)
//!   at a constant rate: more buffer helps little. That of its Reno-friendly region
//!   (§4.3) has p = 1.5/w², like Reno.
//! * Scalable TCP: multiplicative increase, p ∝ 1/w.

use super::window_peak::Peak;
use tidemark_rules::traffic::Traffic;

/// Segments added to a window in the law of additive increase.
const OFFSET_PKTS: f64 = 2.5;
/// a of p = a/w² in CUBIC's Reno-friendly region (RFC 9438 §4.3, §5.1).
const FRIENDLY: f64 = 1.5;
/// p = 1.07·RTT/w^(4/3), C = 0.4 and β = 0.7 (RFC 9438 §5.1).
const CUBIC: f64 = 1.07;

/// Relative uncertainty of the exponent of an additive law.
const ADDITIVE_ERROR: f64 = 0.15;
/// Range of an unrecognised law's exponent, relative to additive increase: simulated Westwood+,
/// Illinois and H-TCP have up to 2 times its exponent, and Hybla loses 2.2 and 2.0 % at a limit and
/// at twice that limit.
const UNKNOWN_LOW: f64 = 0.0;
const UNKNOWN_HIGH: f64 = 2.5;
/// Uncertainty of CUBIC's exponent of w: simulated links of 100 CUBIC flows lose the same at one to
/// eight times the buffer, over which RTT^(-1/3) halves.
const CUBIC_ERROR: f64 = 0.5;
/// Uncertainty of Scalable TCP's exponent; nothing was measured.
const SCALABLE_ERROR: f64 = 0.3;

/// The law of loss over a flow's window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    Additive,
    Cubic,
    Scalable,
    /// Not recognised: taken as additive, and possibly CUBIC.
    Unknown,
}

/// Window and round-trip time of a flow at one limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FlowWindow {
    pub segments: f64,
    pub rtt_s: f64,
}

impl FlowWindow {
    /// Returns the ratio of this window to another one.
    pub fn over(self, other: Self) -> f64 {
        self.segments / other.segments
    }
}

/// Returns the window of each LBP flow while the queue is full. Their rates, w/(Tᵢ + B/C), add up
/// to Cₑ (BSCL eq. 8, 9); base RTTs are multiplied by `stretch`.
pub(super) fn flow_window(m: &Traffic, peak: Peak, stretch: f64, buffer_bytes: f64) -> FlowWindow {
    let drain = m.drain_bytes_per_s();
    let known = m.base_rtts_s.iter().filter(|&&t| t > 0.0);
    let inverses = known.map(|t| 1.0 / (t * stretch + buffer_bytes / drain));
    let (sum, count) = inverses.fold((0.0, 0.0), |(s, n), i| (s + i, n + 1.0));
    let rtt_s = if sum > 0.0 && f64::is_finite(sum) {
        count / sum
    } else {
        (peak.bdp_bytes + buffer_bytes) / drain
    };
    let flow_bytes_per_s = drain * m.c_e_share.value.clamp(0.0, 1.0) / m.n_b.value.max(1.0);
    FlowWindow {
        segments: flow_bytes_per_s * rtt_s * peak.short_of(buffer_bytes) / m.segment_bytes,
        rtt_s,
    }
}

/// Deviation of a law's exponent within its range: 0 for the law itself, −1 and 1 for the ends at
/// which windows matter least and most.
pub(super) type Deviation = f64;

impl Law {
    /// Returns p'/p of the drops that cause decreases, between two limits.
    pub fn ratio(self, from: FlowWindow, to: FlowWindow, deviation: Deviation) -> f64 {
        let ratio = self.loss(to) / self.loss(from);
        match self {
            Law::Additive => ratio.powf(1.0 + ADDITIVE_ERROR * deviation),
            Law::Unknown if deviation < 0.0 => ratio.powf(1.0 + (1.0 - UNKNOWN_LOW) * deviation),
            Law::Unknown => ratio.powf(1.0 + (UNKNOWN_HIGH - 1.0) * deviation),
            Law::Scalable => ratio.powf(1.0 + SCALABLE_ERROR * deviation),
            Law::Cubic => ratio * to.over(from).powf(-CUBIC_ERROR * deviation),
        }
    }

    /// Returns the loss rate of a window, up to a constant of the stack.
    fn loss(self, at: FlowWindow) -> f64 {
        let w = at.segments.max(f64::MIN_POSITIVE);
        let additive = (w + OFFSET_PKTS).powi(-2);
        match self {
            Law::Additive | Law::Unknown => additive,
            Law::Scalable => 1.0 / (w + OFFSET_PKTS),
            Law::Cubic => (FRIENDLY * additive).max(CUBIC * at.rtt_s / w.powf(4.0 / 3.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 flows on 50 Mb/s: packets of 1500 bytes take 24 ms per flow and round.
    fn at(segments: f64) -> FlowWindow {
        let rtt_s = segments * 0.024;
        FlowWindow { segments, rtt_s }
    }

    /// Returns e of p ∝ k^-e between two windows.
    fn exponent(law: Law, from: f64, to: f64) -> f64 {
        -law.ratio(at(from), at(to), 0.0).ln() / (to / from).ln()
    }

    #[test]
    fn exponents_of_additive_increase() {
        // Simulated with 200, 100, 60 and 40 Reno flows.
        for (from, to, simulated) in [
            (5.0, 9.2, 1.47),
            (5.7, 11.5, 1.53),
            (6.6, 19.2, 1.59),
            (8.75, 16.5, 1.61),
        ] {
            let e = exponent(Law::Additive, from, to);
            assert!((e - simulated).abs() < 0.1, "{from} to {to}: {e}");
        }
        assert!(exponent(Law::Additive, 400.0, 800.0) > 1.98);
    }

    #[test]
    fn cubic_is_friendly_with_small_windows_and_flat_with_large_ones() {
        // Like Reno below 8 segments, RTT^(-1/3) above.
        assert!((exponent(Law::Cubic, 3.0, 6.0) - exponent(Law::Additive, 3.0, 6.0)).abs() < 1e-9);
        assert!((exponent(Law::Cubic, 20.0, 60.0) - 1.0 / 3.0).abs() < 1e-9);
        // Simulated at limits of 904, 1739, 3326 and 7407 packets, without overshoots: 2.44, 2.37,
        // 2.52, 2.77 %, within the range.
        let drops = [(11.5, 2.44), (19.9, 2.37), (35.8, 2.52), (76.6, 2.77)];
        for pair in drops.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let ends = [-1.0, 1.0].map(|d| from.1 * Law::Cubic.ratio(at(from.0), at(to.0), d));
            assert!(ends[1] < to.1 && to.1 < ends[0], "{ends:?} {to:?}");
        }
    }

    #[test]
    fn ranges_hold_the_law_and_grow_with_distance() {
        for law in [Law::Additive, Law::Cubic, Law::Scalable, Law::Unknown] {
            for to in [1.0, 8.0, 64.0] {
                let [least, own, most] = [-1.0, 0.0, 1.0].map(|d| law.ratio(at(16.0), at(to), d));
                let (low, high) = (least.min(most), least.max(most));
                assert!(low < own && own < high, "{law:?} {to}");
            }
            assert_eq!(law.ratio(at(16.0), at(16.0), 1.0), 1.0);
        }
    }
}
