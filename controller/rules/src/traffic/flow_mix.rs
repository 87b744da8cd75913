// SPDX-License-Identifier: Apache-2.0
//! Congestion controls of the flows.

use super::CongestionControl;
use serde::{Deserialize, Serialize};

/// Shares of the LBP flows by number, however much the limit lets each of them send or lose; the
/// rest are Reno and Scalable. Fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowMix {
    /// Flows whose window follows a model of the path (BBR).
    pub model_based: f64,
    /// CUBIC flows.
    pub cubic: f64,
    /// Unrecognised flows.
    pub unknown: f64,
}

/// Largest difference between shares of the same traffic.
const SAME: f64 = 0.3;

impl FlowMix {
    /// Returns the mix of these flows; without flows, all count as unknown.
    pub fn of(flows: impl IntoIterator<Item = CongestionControl>) -> Self {
        let (mut mix, mut all) = (Self::default(), 0.0);
        for flow in flows {
            let count = match flow {
                CongestionControl::Bbr => &mut mix.model_based,
                CongestionControl::Cubic => &mut mix.cubic,
                CongestionControl::Unknown => &mut mix.unknown,
                CongestionControl::Reno
                | CongestionControl::Scalable
                | CongestionControl::Dctcp => &mut 0.0,
            };
            *count += 1.0;
            all += 1.0;
        }
        if all <= 0.0 {
            return Self {
                unknown: 1.0,
                ..mix
            };
        }
        Self {
            model_based: mix.model_based / all,
            cubic: mix.cubic / all,
            unknown: mix.unknown / all,
        }
    }

    /// Whether both mixes may describe the same flows: unrecognised flows may be of any kind.
    pub fn may_equal(self, other: Self) -> bool {
        let apart = |a: f64, b: f64| (a - b - other.unknown).max(b - a - self.unknown);
        apart(self.model_based, other.model_based) <= SAME && apart(self.cubic, other.cubic) <= SAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CongestionControl::{Bbr, Cubic, Reno, Scalable, Unknown};

    #[test]
    fn counts_flows() {
        let mix = FlowMix::of([Bbr, Cubic, Cubic, Reno, Scalable, Unknown, Reno, Reno]);
        let wanted = FlowMix {
            model_based: 0.125,
            cubic: 0.25,
            unknown: 0.125,
        };
        assert_eq!(mix, wanted);
        assert_eq!(FlowMix::of([]), FlowMix::of([Unknown]));
    }

    #[test]
    fn the_same_flows() {
        let (reno, cubic, bbr) = (
            FlowMix::of([Reno]),
            FlowMix::of([Cubic]),
            FlowMix::of([Bbr]),
        );
        let half = FlowMix::of([Reno, Cubic]);
        let most = FlowMix::of([Reno, Cubic, Cubic, Cubic]);
        for other in [reno, cubic, bbr] {
            assert!(other.may_equal(other) && !half.may_equal(other));
        }
        assert!(half.may_equal(most) && most.may_equal(half));
        // An unrecognised flow matches any.
        let unknown = FlowMix::of([Unknown]);
        let part = FlowMix::of([Reno, Unknown]);
        for other in [reno, cubic, bbr, half] {
            assert!(unknown.may_equal(other) && other.may_equal(unknown));
        }
        assert!(part.may_equal(half) && !part.may_equal(cubic) && !cubic.may_equal(part));
    }
}
