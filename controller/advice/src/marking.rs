// SPDX-License-Identifier: Apache-2.0
//! The limit above a marking threshold. Tidemark's own.
//!
//! # Derivation
//! A flow responds to a mark as to a drop (RFC 3168 §6.1.2; RFC 8511 and RFC 8257 use other
//! factors), so the threshold is B in the formulas: it determines utilisation, marks and delay in
//! normal operation. The limit adds room for the packets that arrive before the response, so that
//! marked flows lose nothing.
//!
//! The response takes one round trip with a full queue, T̄ + B/C: the marked packet waits in the
//! queue, and its acknowledgement travels back. Meanwhile
//!
//! * each of N_b flows grows by a segment: N_b·M (BSCL §II; the same growth
//!   causes its loss bursts);
//! * a flow in slow start doubles. If it has reached its share (C·T̄ + B)/N_b, it
//!   adds as much again. The number of flows that start in the same round trip is
//!   not measured: one is assumed.
//!
//! At most C·T̄ + B, when all flows double at once. Occupancies measured above the threshold in
//! force are a floor, scaled like the window (k of [`crate::models::reductions`]). At least an
//! initial window of ten segments (RFC 6928): one burst of a new flow.
//!
//! Flows that set ECT and do not respond to marks are not covered, nor are several that start at
//! once. They reach the limit and are dropped there, which is its purpose (RFC 3168 §7, RFC 7567
//! §4.2.1).

use crate::models::reductions::overshoot_bytes;
use serde::{Deserialize, Serialize};
use tidemark_rules::rule::Situation;

/// Initial window, segments (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;

/// The limit above the marking threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Marking {
    /// Room above the threshold, bytes.
    pub headroom_bytes: u64,
    /// Occupancy from which all packets are dropped: threshold and room, bytes.
    pub limit_bytes: u64,
    /// Queueing delay at that limit, ms.
    pub limit_ms: f64,
    /// Growth of the flows bottlenecked here before they respond to a mark, bytes.
    pub growth_bytes: f64,
    /// Growth of a flow in slow start meanwhile, bytes.
    pub slow_start_bytes: f64,
    /// Occupancy measured above the threshold in force, scaled to the advised one, bytes; null if
    /// none was measured.
    pub overshoot_bytes: Option<f64>,
    /// Derivation of the room, and what it does not cover.
    pub reason: String,
}

impl Marking {
    /// Returns the same room above another threshold, bytes.
    pub fn above(self, threshold_bytes: u64) -> Self {
        let limit_bytes = threshold_bytes.saturating_add(self.headroom_bytes);
        Self {
            limit_ms: self.limit_ms * limit_bytes as f64 / self.limit_bytes.max(1) as f64,
            limit_bytes,
            ..self
        }
    }
}

/// Returns the limit above this threshold; `None` if the round-trip time is unknown.
pub(crate) fn above(s: &Situation<'_>, threshold_bytes: f64) -> Option<Marking> {
    let m = s.traffic;
    let full_bytes = s.drain_bytes_per_s() * m.t_mean_s.value + threshold_bytes;
    if !(full_bytes.is_finite() && full_bytes > 0.0) {
        return None;
    }
    let growth_bytes = m.n_b.high.max(0.0) * m.segment_bytes;
    let slow_start_bytes = full_bytes / m.n_b.value.max(1.0);
    let expected = (growth_bytes + slow_start_bytes).min(full_bytes);
    let overshoot_bytes = overshoot_bytes(m, threshold_bytes);
    let least = INITIAL_WINDOW * m.segment_bytes;
    let wanted = expected.max(overshoot_bytes.unwrap_or(0.0)).max(least);
    let largest = s.largest_limit_bytes();
    let headroom_bytes = wanted.ceil() as u64;
    let limit_bytes = (threshold_bytes as u64).saturating_add(headroom_bytes);
    let packets = |bytes: f64| bytes / m.segment_bytes;
    let by = match overshoot_bytes {
        Some(o) if o > expected.max(least) => {
            format!("{o:.0} bytes above the threshold were measured, carried over")
        }
        Some(o) => format!(
            "{:.0} packets: {:.0} of growth in a round trip and {:.0} of a flow in slow start; {o:.0} bytes were measured",
            packets(wanted),
            packets(growth_bytes),
            packets(slow_start_bytes)
        ),
        None => format!(
            "{:.0} packets: {:.0} of growth in a round trip and {:.0} of a flow in slow start; a guess, nothing was measured above a threshold",
            packets(wanted),
            packets(growth_bytes),
            packets(slow_start_bytes)
        ),
    };
    let cut = if limit_bytes as f64 > largest {
        format!("; more than the largest limit, {largest:.0} bytes: the threshold must be lowered")
    } else {
        String::new()
    };
    Some(Marking {
        headroom_bytes,
        limit_bytes,
        limit_ms: limit_bytes as f64 / s.drain_bytes_per_s() * 1e3,
        growth_bytes,
        slow_start_bytes,
        overshoot_bytes,
        reason: format!(
            "a port that marks has {headroom_bytes} bytes above the threshold ({by}); several flows that start at once, or that do not answer marks, are dropped beyond{cut}"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::range::Range;
    use tidemark_rules::targets::{Options, Targets};
    use tidemark_rules::traffic::{Occupancy, Traffic};

    const M: f64 = 1514.0;

    fn of(m: &Traffic, threshold_bytes: f64) -> Marking {
        let (targets, options) = (Targets::default(), Options::default());
        let s = Situation {
            traffic: m,
            targets: &targets,
            options: &options,
        };
        above(&s, threshold_bytes).unwrap()
    }

    /// 100 Mb/s, 20 ms.
    fn link(flows: f64) -> Traffic {
        Traffic::described(100e6, 0.02, flows, M)
    }

    #[test]
    fn growth_and_one_slow_start_in_a_round_trip() {
        let a = of(&link(8.0), 125_000.0);
        assert_eq!(a.growth_bytes, 8.0 * M);
        assert_eq!(a.slow_start_bytes, (250_000.0 + 125_000.0) / 8.0);
        assert_eq!(a.headroom_bytes, 12_112 + 46_875);
        assert_eq!(a.limit_bytes, 125_000 + a.headroom_bytes);
        assert!((a.limit_ms - a.limit_bytes as f64 * 8.0 / 1e5).abs() < 1e-9);
        assert!(a.reason.contains("guess"), "{}", a.reason);
    }

    /// Eight Reno flows with ECN reached up to 148 372 bytes over such a link at a threshold of 125
    /// 000 without a limit (lab): the room is twice the overshoot.
    #[test]
    fn it_holds_what_reno_flows_were_seen_to_overshoot() {
        assert!(of(&link(8.0), 125_000.0).headroom_bytes > 2 * (148_372 - 125_000));
    }

    #[test]
    fn never_more_than_all_doubling_at_once_and_never_less_than_a_burst() {
        let one = of(&link(1.0), 125_000.0);
        assert_eq!(one.headroom_bytes, 375_000);
        let mut m = link(1000.0);
        m.n_b = Range::exact(1000.0);
        assert_eq!(of(&m, 125_000.0).headroom_bytes, 375_000);
        // A path so short that ten segments are more.
        let short = Traffic::described(100e6, 0.0001, 8.0, M);
        assert_eq!(
            of(&short, 10.0 * M).headroom_bytes,
            (8.0 * M + (1250.0 + 10.0 * M) / 8.0).ceil().max(10.0 * M) as u64
        );
    }

    #[test]
    fn what_was_measured_is_a_floor() {
        let mut m = link(8.0);
        m.limit_bytes = Some(125_000.0);
        let met = |largest: f64| Occupancy {
            arrivals: 1000,
            met_empty: 0.0,
            bytes: vec![1e5, largest],
        };
        m.occupancy = Some(met(225_000.0));
        let a = of(&m, 125_000.0);
        assert_eq!((a.overshoot_bytes, a.headroom_bytes), (Some(1e5), 100_000));
        assert!(a.reason.contains("were measured"), "{}", a.reason);
        // Another threshold changes the window, and with it the amount that doubles.
        assert_eq!(of(&m, 500_000.0).headroom_bytes, 200_000);
        m.occupancy = Some(met(126_000.0));
        assert_eq!(
            of(&m, 125_000.0).overshoot_bytes,
            None,
            "a packet is no overshoot"
        );
    }

    #[test]
    fn another_threshold_keeps_the_room() {
        let a = of(&link(8.0), 125_000.0);
        let b = a.clone().above(250_000);
        assert_eq!(b.headroom_bytes, a.headroom_bytes);
        assert_eq!(b.limit_bytes, 250_000 + a.headroom_bytes);
        assert!((b.limit_ms - b.limit_bytes as f64 * 8.0 / 1e5).abs() < 1e-6);
    }

    #[test]
    fn too_little_room_is_said() {
        let options = Options {
            max_bytes: Some(130_000.0),
            ..Options::default()
        };
        let (m, targets) = (link(8.0), Targets::default());
        let s = Situation {
            traffic: &m,
            targets: &targets,
            options: &options,
        };
        let a = above(&s, 125_000.0).unwrap();
        assert!(a.reason.contains("must be lowered"), "{}", a.reason);
    }
}
