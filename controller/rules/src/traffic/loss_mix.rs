// SPDX-License-Identifier: Apache-2.0
//! Congestion controls of the flows whose packets are dropped.

use super::CongestionControl;
use serde::{Deserialize, Serialize};

/// Shares of the drops of LBP flows that multiply their windows down, by congestion control; the
/// rest are Reno and DCTCP, which halves on loss. Fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LossMix {
    /// Drops of CUBIC flows.
    pub cubic: f64,
    /// Drops of Scalable TCP flows.
    pub scalable: f64,
    /// Drops of unrecognised flows.
    pub unknown: f64,
}

impl LossMix {
    /// Returns the mix of flows that all have one congestion control.
    pub fn of(all: CongestionControl) -> Self {
        let part = |cc| f64::from(u8::from(all == cc));
        Self {
            cubic: part(CongestionControl::Cubic),
            scalable: part(CongestionControl::Scalable),
            unknown: part(CongestionControl::Unknown),
        }
    }

    /// Computes the mix from counts of drops; `None` without drops.
    pub fn of_drops(drops: impl IntoIterator<Item = (CongestionControl, u64)>) -> Option<Self> {
        let (mut mix, mut all) = (Self::default(), 0.0);
        for (cc, drops) in drops {
            let part = match cc {
                // Drops of flows that follow a model of the path are counted separately.
                CongestionControl::Bbr => continue,
                CongestionControl::Cubic => &mut mix.cubic,
                CongestionControl::Scalable => &mut mix.scalable,
                CongestionControl::Unknown => &mut mix.unknown,
                CongestionControl::Reno | CongestionControl::Dctcp => &mut 0.0,
            };
            *part += drops as f64;
            all += drops as f64;
        }
        (all > 0.0).then(|| Self {
            cubic: mix.cubic / all,
            scalable: mix.scalable / all,
            unknown: mix.unknown / all,
        })
    }

    /// Share of the drops of Reno flows.
    pub fn reno(self) -> f64 {
        (1.0 - self.cubic - self.scalable - self.unknown).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CongestionControl::{Bbr, Cubic, Reno, Unknown};

    #[test]
    fn one_flow_among_many_does_not_decide() {
        let drops = (0..99).map(|_| (Cubic, 10)).chain([(Reno, 10), (Bbr, 500)]);
        let mix = LossMix::of_drops(drops).unwrap();
        assert!((mix.cubic - 0.99).abs() < 1e-12 && (mix.reno() - 0.01).abs() < 1e-12);
        assert_eq!(LossMix::of_drops([(Bbr, 5), (Reno, 0)]), None);
        assert_eq!(LossMix::of(Unknown).unknown, 1.0);
        assert_eq!(LossMix::of(Reno).reno(), 1.0);
    }
}
