// SPDX-License-Identifier: Apache-2.0
//! Recognises the congestion control from a window's trajectory.

use crate::reductions::Reduction;
use crate::stats::quantile;
use crate::types::CongestionControl;
use std::ops::Range;

/// Smallest window before a reduction with which the ratio is meaningful: a window of 5 halves to 2
/// or 3.
const MIN_WINDOW_PKTS: f64 = 8.0;

/// Largest median distance of the factors from their median: a recognised control reduces by a
/// constant factor; Illinois, Westwood+ and H-TCP follow the path.
const MOST_SPREAD: f64 = 0.03;

/// Length of recovery before the window grows, round trips.
const RECOVERY_ROUNDS: f64 = 1.5;
/// Fewest round trips with which growth is measured.
const LEAST_ROUNDS: f64 = 3.0;
/// Segments per round trip; half a segment if every second segment is acknowledged.
const RENO_GROWTH: Range<f64> = 0.25..2.0;
/// Relative to 1 % of the window per round trip (Kelly 2003), or one segment if more (Linux).
const SCALABLE_GROWTH: Range<f64> = 0.25..2.0;
const SCALABLE_PART: f64 = 0.01;
/// Relative to the expected window.
const CUBIC_GROWTH: Range<f64> = 0.6..1.35;
/// Reduction relative to half the share of marks.
const DCTCP_OF_SHARE: Range<f64> = 0.5..2.0;
/// C of RFC 9438, segments/s^3, and its alpha for beta 0.7, segments per round trip.
const CUBIC_C: f64 = 0.4;
const CUBIC_RENO: f64 = 0.53;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Recognised {
    pub cc: CongestionControl,
    /// Median factor of the reductions.
    pub beta: Option<f64>,
}

/// Recognises the control by the factor by which losses multiply the window, and by its growth up
/// to the next loss. The factor is constant: Reno 1/2, CUBIC 717/1024, Scalable 7/8. Veno and
/// HighSpeed, 0.44 to 0.47, match no name. A window that returns to its level within a few RTTs
/// each time follows a model of the path instead of its losses: BBR. DCTCP reduces by half the
/// share `marked` of its packets, given if more are marked than dropped; other controls reduce by
/// far more than that.
pub(crate) fn recognise(reductions: &[Reduction], marked: Option<f64>) -> Recognised {
    let wide: Vec<&Reduction> = reductions
        .iter()
        .filter(|r| r.before >= MIN_WINDOW_PKTS)
        .collect();
    let restored = wide.iter().filter(|r| r.restored).count();
    if wide.len() >= 2 && restored * 3 >= wide.len() * 2 {
        return Recognised {
            cc: CongestionControl::Bbr,
            beta: None,
        };
    }
    let ratios: Vec<f64> = wide
        .iter()
        // After a timeout the window is one; the threshold still shows the factor.
        .filter_map(|r| {
            r.threshold_ratio
                .or((r.after > 2.0).then_some(r.after / r.before))
        })
        .filter(|ratio| (0.3..0.97).contains(ratio))
        .collect();
    let beta = quantile(&ratios, 0.5);
    let spread = |b: f64| {
        let off: Vec<f64> = ratios.iter().map(|r| (r - b).abs()).collect();
        quantile(&off, 0.5).unwrap_or(0.0)
    };
    let by_share = |b: f64| marked.is_some_and(|m| DCTCP_OF_SHARE.contains(&(2.0 * (1.0 - b) / m)));
    let cc = match beta.filter(|&b| spread(b) <= MOST_SPREAD || by_share(b)) {
        Some(b) if by_share(b) => CongestionControl::Dctcp,
        Some(b) if (0.475..0.535).contains(&b) => CongestionControl::Reno,
        Some(b) if (0.665..0.73).contains(&b) => CongestionControl::Cubic,
        Some(b) if (0.85..0.9).contains(&b) && marked.is_none() => CongestionControl::Scalable,
        _ => CongestionControl::Unknown,
    };
    let cc = if grows_as(cc, reductions) {
        cc
    } else {
        CongestionControl::Unknown
    };
    Recognised { cc, beta }
}

/// Whether the median growth between reductions is that of the control.
fn grows_as(cc: CongestionControl, reductions: &[Reduction]) -> bool {
    let growth = reductions.windows(2).filter_map(|pair| {
        let [a, b] = pair else { return None };
        Growth::between(a, b)
    });
    let (law, range): (fn(Growth) -> f64, _) = match cc {
        CongestionControl::Reno => (Growth::per_round, RENO_GROWTH),
        CongestionControl::Cubic => (Growth::of_cubic, CUBIC_GROWTH),
        CongestionControl::Scalable => (Growth::of_scalable, SCALABLE_GROWTH),
        _ => return true,
    };
    let grown: Vec<f64> = growth.map(law).collect();
    quantile(&grown, 0.5).is_some_and(|g| range.contains(&g))
}

/// Growth from a reduction to the level before the next reduction.
#[derive(Clone, Copy)]
struct Growth {
    before: f64,
    from: f64,
    to: f64,
    seconds: f64,
    rounds: f64,
}

impl Growth {
    /// `None` if the window is unknown, or the time is too short to measure growth.
    fn between(a: &Reduction, b: &Reduction) -> Option<Self> {
        let from = a.after.max(a.threshold_ratio.map_or(0.0, |r| r * a.before));
        let recovery_s = RECOVERY_ROUNDS * a.rtt_ns as f64 / 1e9;
        let seconds = b.time_ns.saturating_sub(a.time_ns) as f64 / 1e9 - recovery_s;
        let rounds = seconds / (a.rtt_ns as f64 / 1e9);
        (from >= 2.0 && b.before.is_finite() && a.rtt_ns > 0 && rounds >= LEAST_ROUNDS).then_some(
            Self {
                before: a.before,
                from,
                to: b.before,
                seconds,
                rounds,
            },
        )
    }

    fn per_round(self) -> f64 {
        (self.to - self.from) / self.rounds
    }

    fn of_scalable(self) -> f64 {
        self.per_round() / (SCALABLE_PART * f64::midpoint(self.from, self.to)).max(1.0)
    }

    /// Relative to the window that CUBIC reaches in this time (RFC 9438, sections 4.2 and 4.3).
    fn of_cubic(self) -> f64 {
        let k = ((self.before - self.from).max(0.0) / CUBIC_C).cbrt();
        let cubic = CUBIC_C * (self.seconds - k).powi(3) + self.before;
        let reno = self.from + CUBIC_RENO * self.rounds;
        self.to / cubic.max(reno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_S: f64 = 0.02;

    fn reduction(before: f64, ratio: f64, restored: bool) -> Reduction {
        Reduction {
            time_ns: 0,
            rtt_ns: (RTT_S * 1e9) as u64,
            before,
            after: before * ratio,
            threshold_ratio: Some(ratio),
            restored,
            local: true,
            counts: true,
        }
    }

    /// Reductions by these factors, `rounds` round trips of growth apart.
    fn sawtooth(ratios: &[f64], rounds: f64) -> Vec<Reduction> {
        let at = |i: usize| (i as f64 * (rounds + RECOVERY_ROUNDS) * RTT_S * 1e9) as u64;
        let all = ratios.iter().enumerate();
        all.map(|(i, &ratio)| Reduction {
            time_ns: at(i),
            ..reduction(100.0, ratio, false)
        })
        .collect()
    }

    #[test]
    fn by_factor_and_growth() {
        // At short RTTs CUBIC grows by 0.53 segments per round trip.
        for (ratio, rounds, cc) in [
            (0.5, 50.0, CongestionControl::Reno),
            (0.5, 100.0, CongestionControl::Reno),
            (0.7, 57.0, CongestionControl::Cubic),
            (0.875, 13.4, CongestionControl::Scalable),
            (0.35, 50.0, CongestionControl::Unknown),
        ] {
            let r = recognise(&sawtooth(&[ratio; 3], rounds), None);
            assert_eq!(r.cc, cc, "{ratio}");
            assert_eq!(r.beta, Some(ratio));
        }
    }

    /// Hybla grows faster than Reno, Vegas does not grow; DCTCP reduces every few round trips.
    #[test]
    fn one_that_grows_otherwise_has_no_name() {
        for (ratio, rounds) in [
            (0.5, 10.0),
            (0.5, 1000.0),
            (0.7, 5.0),
            (0.875, 2.0),
            (0.875, 4.0),
        ] {
            let r = recognise(&sawtooth(&[ratio; 3], rounds), None);
            assert_eq!(r.cc, CongestionControl::Unknown, "{ratio} {rounds}");
        }
        assert_eq!(
            recognise(&sawtooth(&[0.5], 50.0), None).cc,
            CongestionControl::Unknown
        );
    }

    /// Veno and HighSpeed reduce a little further than Reno; Illinois, Westwood+ and H-TCP depend
    /// on the path. Of 128 simulated flows 5 got a wrong name.
    #[test]
    fn controls_that_are_not_known_have_no_name() {
        for ratio in [0.44, 0.46, 0.56, 0.6, 0.78] {
            let r = recognise(&sawtooth(&[ratio; 5], 50.0), None);
            assert_eq!(r.cc, CongestionControl::Unknown, "{ratio}");
            assert_eq!(r.beta, Some(ratio));
        }
        let by_the_path = sawtooth(&[0.35, 0.5, 0.5, 0.65, 0.7, 0.42, 0.58], 50.0);
        assert_eq!(recognise(&by_the_path, None).cc, CongestionControl::Unknown);
    }

    #[test]
    fn windows_that_come_back_are_bbr() {
        assert_eq!(
            recognise(&[reduction(100.0, 0.04, true); 3], None).cc,
            CongestionControl::Bbr
        );
        assert_eq!(
            recognise(&[reduction(100.0, 0.5, true)], None).cc,
            CongestionControl::Unknown
        );
    }

    #[test]
    fn tiny_windows_tell_nothing() {
        assert_eq!(
            recognise(&[reduction(4.0, 0.5, false); 9], None).cc,
            CongestionControl::Unknown
        );
        assert_eq!(recognise(&[], None).cc, CongestionControl::Unknown);
    }

    /// DCTCP marks about a fifth of a flow of 40 packets; with Scalable a thirteenth is marked.
    #[test]
    fn one_that_reduces_by_half_the_share_of_marks_is_dctcp() {
        let named = |ratio, marked| recognise(&sawtooth(&[ratio; 5], 8.0), marked).cc;
        assert_eq!(named(0.89, Some(0.2)), CongestionControl::Dctcp);
        assert_eq!(named(0.75, Some(0.45)), CongestionControl::Dctcp);
        assert_eq!(named(0.875, Some(0.075)), CongestionControl::Unknown);
        assert_eq!(named(0.5, Some(0.04)), CongestionControl::Unknown);
        assert_ne!(named(0.89, None), CongestionControl::Dctcp);
    }
}
