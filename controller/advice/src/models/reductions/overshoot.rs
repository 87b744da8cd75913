// SPDX-License-Identifier: Apache-2.0
//! Overshoot of the occupancy above a marking threshold, at another threshold.
//!
//! Marked packets are admitted: the flows keep growing until they respond, a round trip later. The
//! overshoot measured above the threshold in force is scaled by the window at a full queue, (C·T̄ +
//! B')/(C·T̄ + B).

use tidemark_rules::traffic::Traffic;

/// Returns the overshoot above a threshold of `buffer_bytes`, bytes; `None` if none was measured
/// above the one in force, as with a limit that drops: only the packet that reached it is above.
pub(crate) fn overshoot_bytes(m: &Traffic, buffer_bytes: f64) -> Option<f64> {
    let in_force = m.limit_bytes.filter(|&b| b > 0.0)?;
    let met = *m.occupancy.as_ref()?.bytes.last()?;
    if met <= in_force + m.segment_bytes {
        return None;
    }
    let drain = m.drain_bytes_per_s();
    // The longest delay includes an occupancy and the packet in transmission.
    let waited = m.observed.map_or(0.0, |o| o.delay_max_ms / 1e3 * drain);
    let over = met.max(waited - m.segment_bytes) - in_force;
    let path = drain * m.t_mean_s.value;
    let carried = over * (path + buffer_bytes) / (path + in_force);
    carried.is_finite().then_some(carried)
}

/// Returns the threshold at which threshold plus overshoot are `most_bytes`.
pub(crate) fn threshold_within(m: &Traffic, most_bytes: f64) -> f64 {
    let (Some(at_none), Some(at_most)) = (overshoot_bytes(m, 0.0), overshoot_bytes(m, most_bytes))
    else {
        return most_bytes;
    };
    // The overshoot is linear in the threshold.
    let slope = (at_most - at_none) / most_bytes.max(1.0);
    ((most_bytes - at_none) / (1.0 + slope)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::range::Range;
    use tidemark_rules::traffic::{Observed, Occupancy};

    /// Measured on real TCP with ECN: 12 flows, a threshold of 312.5 kB.
    fn marked() -> Traffic {
        let mut m = Traffic::described(100e6, 0.0192, 12.0, 1514.0);
        m.queue_drain_bps = 100e6 * 1514.0 / 1538.0;
        m.t_mean_s = Range::exact(0.025);
        m.limit_bytes = Some(312_500.0);
        m.observed = Some(Observed {
            utilisation: 1.0,
            loss_rate: 0.0003,
            drops: 50,
            delay_mean_ms: 16.5,
            delay_p50_ms: 16.5,
            delay_p99_ms: 26.6,
            delay_max_ms: 30.9,
        });
        m.occupancy = Some(Occupancy {
            arrivals: 170_000,
            met_empty: 0.0,
            bytes: vec![120e3, 202e3, 280e3, 327e3],
        });
        m
    }

    #[test]
    fn what_was_measured_above_a_threshold_is_carried_over() {
        // 15.4 ms were measured at 145.5 kB.
        let m = marked();
        let p = crate::predict(&m, 145_481.0).unwrap();
        assert!((15.0..16.5).contains(&p.delay_ms.value), "{:?}", p.delay_ms);
        assert!(p.delay_ms.low < 12.0 && p.delay_ms.high > 16.5);
        let most = 15.4e-3 * m.drain_bytes_per_s();
        let within = threshold_within(&m, most);
        let both = within + overshoot_bytes(&m, within).unwrap();
        assert!((both - most).abs() < 1.0, "{within} {both} {most}");
    }

    #[test]
    fn nothing_is_above_a_limit_that_drops() {
        let mut m = marked();
        m.occupancy.as_mut().unwrap().bytes = vec![120e3, 202e3, 280e3, 313.9e3];
        assert_eq!(overshoot_bytes(&m, 1e5), None);
        assert_eq!(threshold_within(&m, 1e5), 1e5);
    }
}
