// SPDX-License-Identifier: Apache-2.0
//! Drops of BBR flows that share the link with other flows.
//!
//! Among flows that multiply their windows down, BBR also has a cap, and below it loses its excess,
//! whatever the others do. In simulated runs and in the lab its drops fall about linearly, from 4
//! to 12 % of all arrivals without a buffer to few at 1.3 to 2 C·T of the longest base RTT. Some
//! remain beyond, at the peaks of the other flows. Towards smaller limits the others lose more, and
//! BBR's drops are taken to stay constant.

use super::uncertainty::model_based;
use crate::models::standing_queue::{BELOW_CAP, BEYOND, WITHOUT_BUFFER, standing_queue};
use tidemark_rules::range::Range;
use tidemark_rules::traffic::{CongestionControl, Traffic};

/// Share of the loss below the cap that remains beyond it.
const REMAINS: f64 = 0.04;

/// Drops of BBR flows over all arrivals, and the limit at which most of them end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AmongOthers {
    /// Loss rate at the limit in force.
    loss_rate: f64,
    limit_bytes: f64,
    cap_bytes: Range,
}

impl AmongOthers {
    /// Returns `None` without BBR flows, without other flows, or without a known base RTT.
    pub fn of(m: &Traffic) -> Option<Self> {
        if m.model_based_share <= 0.0 || m.congestion_control == CongestionControl::Bbr {
            return None;
        }
        let loss_rate = m.observed?.loss_rate * model_based(m);
        let limit_bytes = m.limit_bytes.filter(|&b| b > 0.0)?;
        let cap = standing_queue(m)?;
        let beyond = if loss_rate < BELOW_CAP {
            Range::exact(0.0)
        } else {
            BEYOND
        };
        Some(Self {
            loss_rate,
            limit_bytes,
            cap_bytes: Range::new(
                cap.value.max(beyond.value * limit_bytes),
                cap.low.max(beyond.low * limit_bytes),
                cap.high.max(beyond.high * limit_bytes),
            ),
        })
    }

    /// Returns this with the cap at either end of its range.
    pub fn ends(self) -> [Self; 2] {
        [self.cap_bytes.low, self.cap_bytes.high].map(|bytes| Self {
            cap_bytes: Range::exact(bytes),
            ..self
        })
    }

    /// Returns BBR's drops over all arrivals at a limit; as measured at the limit in force and, if
    /// below the cap, at smaller ones.
    pub fn loss_at(&self, buffer_bytes: f64) -> f64 {
        let (cap, here) = (self.cap_bytes.value, (self.limit_bytes, self.loss_rate));
        let (from, to) = if here.0 > cap {
            ((0.0, WITHOUT_BUFFER.max(here.1)), (cap, here.1))
        } else {
            (here, (cap, REMAINS * here.1))
        };
        let part = (buffer_bytes - from.0) / (to.0 - from.0).max(f64::MIN_POSITIVE);
        from.1 + (to.1 - from.1) * part.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::traffic::Observed;

    /// Four flows each of BBR, Reno and CUBIC with RTTs of 10 to 40 ms on 100 Mb/s.
    fn mix(limit: f64, loss_rate: f64, of_bbr: f64) -> Traffic {
        let mut m = Traffic::described(100e6, 0.0192, 12.0, 1514.0);
        m.base_rtts_s = [0.01, 0.02, 0.03, 0.04].repeat(3);
        m.congestion_control = CongestionControl::Unknown;
        m.model_based_share = 0.96;
        m.limit_bytes = Some(limit);
        m.observed = Some(Observed {
            utilisation: 0.999,
            loss_rate,
            drops: 20_000,
            delay_mean_ms: 20.0,
            delay_p50_ms: 20.0,
            delay_p99_ms: 25.0,
            delay_max_ms: 25.0,
        });
        m.model_based_drops = (20_000.0 * of_bbr) as u64;
        m
    }

    /// As measured in the lab, with the measurements at other limits.
    #[test]
    fn along_a_line_to_the_cap() {
        let part = AmongOthers::of(&mix(237e3, 0.120, 0.8)).unwrap();
        for (limit, loss_rate) in [(55e3, 0.112), (142e3, 0.109), (369e3, 0.075)] {
            let expected = part.loss_at(limit);
            let off = (expected / loss_rate - 1.0f64).abs();
            assert!(off < 0.25, "{limit}: {expected}");
        }
        assert_eq!(part.loss_at(237e3), 0.12 * 0.8);
        assert!(part.loss_at(1.8e6) < 0.006);
        let [low, high] = part.ends().map(|p| p.loss_at(600e3));
        assert!(low < part.loss_at(600e3) && part.loss_at(600e3) < high);
    }

    #[test]
    fn still_lost_beyond_the_cap_it_is_further_away() {
        let part = AmongOthers::of(&mix(1e6, 0.02, 0.5)).unwrap();
        assert!(part.loss_at(1.1e6) < 0.01 && part.loss_at(1.1e6) > 0.004);
        // The low end of the cap lies where the flows still lose.
        assert!(part.ends()[0].loss_at(1.01e6) < 0.001);
        // Nothing was lost: a smaller limit is not known to be free of loss.
        let part = AmongOthers::of(&mix(3.6e6, 0.0027, 0.2)).unwrap();
        assert!(part.loss_at(3e5) > 0.03 && part.loss_at(2e6) < 0.05);
        assert!(part.loss_at(1e7) <= 0.0027 * 0.2 + 1e-12);
    }

    #[test]
    fn not_known() {
        let mut m = mix(237e3, 0.12, 0.8);
        m.congestion_control = CongestionControl::Bbr;
        assert_eq!(AmongOthers::of(&m), None);
        let mut m = mix(237e3, 0.12, 0.8);
        m.model_based_share = 0.0;
        assert_eq!(AmongOthers::of(&m), None);
    }
}
