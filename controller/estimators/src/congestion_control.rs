// SPDX-License-Identifier: Apache-2.0
//! Congestion control recognised from a window's trajectory.

use crate::reductions::Reduction;
use crate::stats::quantile;
use crate::types::CongestionControl;

/// Smallest window before a reduction of which the ratio means anything: a
/// window of 5 halves to 2 or 3.
const MIN_WINDOW_PKTS: f64 = 8.0;

/// Median distance of the factors from their median at most: theirs is a constant of the
/// control, that of Illinois, Westwood+ and H-TCP follows the path.
const MOST_SPREAD: f64 = 0.03;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Recognised {
    pub cc: CongestionControl,
    /// Median factor of its reductions.
    pub beta: Option<f64>,
}

/// Recognises by the factor the window is multiplied with on loss: Reno 1/2,
/// CUBIC 717/1024, Scalable 7/8, each time. Veno and HighSpeed reduce to 0.44 to 0.47, and
/// are nobody's. A window that comes back to its level within a
/// few RTTs each time follows a model of the path and not its losses: BBR.
pub(crate) fn recognise(reductions: &[Reduction]) -> Recognised {
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
        // A timeout sets the window to one; its threshold still tells.
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
    let cc = match beta.filter(|&b| spread(b) <= MOST_SPREAD) {
        Some(b) if (0.475..0.535).contains(&b) => CongestionControl::Reno,
        Some(b) if (0.665..0.73).contains(&b) => CongestionControl::Cubic,
        Some(b) if (0.85..0.9).contains(&b) => CongestionControl::Scalable,
        _ => CongestionControl::Unknown,
    };
    Recognised { cc, beta }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduction(before: f64, ratio: f64, restored: bool) -> Reduction {
        Reduction {
            time_ns: 0,
            before,
            after: before * ratio,
            threshold_ratio: Some(ratio),
            restored,
            local: true,
            counts: true,
        }
    }

    #[test]
    fn by_factor() {
        for (ratio, cc) in [
            (0.5, CongestionControl::Reno),
            (0.7, CongestionControl::Cubic),
            (0.875, CongestionControl::Scalable),
            (0.35, CongestionControl::Unknown),
        ] {
            let r = recognise(&[reduction(100.0, ratio, false); 3]);
            assert_eq!(r.cc, cc);
            assert_eq!(r.beta, Some(ratio));
        }
    }

    /// Veno and HighSpeed reduce a little further than Reno; Illinois, Westwood+ and H-TCP
    /// by what the path is like. Of 128 simulated flows 5 had another's name.
    #[test]
    fn controls_that_are_not_known_have_no_name() {
        for ratio in [0.44, 0.46, 0.56, 0.6, 0.78] {
            let r = recognise(&[reduction(100.0, ratio, false); 5]);
            assert_eq!(r.cc, CongestionControl::Unknown, "{ratio}");
            assert_eq!(r.beta, Some(ratio));
        }
        let by_the_path =
            [0.35, 0.5, 0.5, 0.65, 0.7, 0.42, 0.58].map(|r| reduction(100.0, r, false));
        assert_eq!(recognise(&by_the_path).cc, CongestionControl::Unknown);
    }

    #[test]
    fn windows_that_come_back_are_bbr() {
        assert_eq!(
            recognise(&[reduction(100.0, 0.04, true); 3]).cc,
            CongestionControl::Bbr
        );
        assert_eq!(
            recognise(&[reduction(100.0, 0.5, true)]).cc,
            CongestionControl::Reno
        );
    }

    #[test]
    fn tiny_windows_tell_nothing() {
        assert_eq!(
            recognise(&[reduction(4.0, 0.5, false); 9]).cc,
            CongestionControl::Unknown
        );
        assert_eq!(recognise(&[]).cc, CongestionControl::Unknown);
    }
}
