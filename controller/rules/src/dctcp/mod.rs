// SPDX-License-Identifier: Apache-2.0
//! Alizadeh et al.: *Data Center TCP (DCTCP)*, SIGCOMM 2010 (DCTCP).

use crate::error::{RuleError, not_negative, positive};
use crate::rule::{Assumption, Condition, Input, LBP_FLOWS, Paper, Rule};
use crate::targets::Goal;

/// The paper.
pub static PAPER: Paper = Paper {
    name: "DCTCP",
    citation: "M. Alizadeh et al.: Data Center TCP (DCTCP). ACM SIGCOMM 2010",
};

/// Rules of this folder.
pub const RULES: &[&Rule] = &[&THRESHOLD];

/// Smallest marking threshold, bytes, with which synchronised flows that reduce by half the
/// share of their marks never leave the link idle: K > C·RTT/7 (eq. 13). `capacity` in
/// bytes/s, `rtt_s` in s.
///
/// # Errors
/// C not above 0, RTT below 0.
pub fn threshold_bytes(capacity: f64, rtt_s: f64) -> Result<f64, RuleError> {
    Ok(positive("C", capacity)? * not_negative("RTT", rtt_s)? / 7.0)
}

/// Queue of synchronised flows above and below the marking threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sawtooth {
    /// Largest queue, bytes: K + N·M (eq. 4).
    pub highest_bytes: f64,
    /// Amplitude of the queue, bytes: sqrt(N·(C·RTT + K)/2) segments (eq. 8).
    pub amplitude_bytes: f64,
    /// Share of the capacity that is used: 1 unless the queue empties (eq. 10 below 0).
    pub utilisation: f64,
}

/// Sawtooth of the queue with `flows` of segments of `segment_bytes` that reduce by half the
/// share of their marks, above a threshold of `threshold_bytes` (eq. 4 to 10). `bdp_bytes` is
/// C·RTT. While the queue is empty the windows are short of C·RTT by as much as the queue
/// would be below 0, in the mean by half of the most.
///
/// # Errors
/// C·RTT, the segment or the number of flows not above 0, the threshold below 0.
pub fn sawtooth(
    bdp_bytes: f64,
    threshold_bytes: f64,
    flows: f64,
    segment_bytes: f64,
) -> Result<Sawtooth, RuleError> {
    let bdp_bytes = positive("C*RTT", bdp_bytes)?;
    let segment_bytes = positive("M", segment_bytes)?;
    let flows = positive("N", flows)?;
    let threshold_bytes = not_negative("K", threshold_bytes)?;
    let highest_bytes = threshold_bytes + flows * segment_bytes;
    let in_flight = (bdp_bytes + threshold_bytes) / segment_bytes;
    let amplitude_bytes = (flows * in_flight / 2.0).sqrt() * segment_bytes;
    let short = (amplitude_bytes - highest_bytes).max(0.0);
    let idle = short / amplitude_bytes * short / (2.0 * bdp_bytes);
    Ok(Sawtooth {
        highest_bytes,
        amplitude_bytes,
        utilisation: (1.0 - idle).max(0.0),
    })
}

/// K > C·RTT/7: [`threshold_bytes`].
pub static THRESHOLD: Rule = Rule {
    id: "dctcp_threshold",
    name: "marking threshold of DCTCP",
    paper: &PAPER,
    equation: "eq. 13",
    formula: "K = C*RTT/7",
    goals: &[Goal::Utilisation],
    basis: crate::rule::Basis::Model,
    assumptions: &[&LBP_FLOWS, &SHARE_OF_MARKS],
    inputs: |s| {
        vec![
            Input::new("C", s.drain_bytes_per_s() * 8.0, "bit/s"),
            Input::new("RTT", s.traffic.t_e_s.value, "s"),
        ]
    },
    size_bytes: |s| {
        Ok(threshold_bytes(
            s.drain_bytes_per_s(),
            s.traffic.t_e_s.value,
        )?)
    },
};

static SHARE_OF_MARKS: Assumption = Assumption {
    statement: "the port marks, and every flow reduces by the share of its marks",
    check: |s, _| {
        Some(Condition::new(
            "every flow reduces by the share of its marks (RFC 8257, L4S)",
            s.traffic.heeds_share_of_marks(),
        ))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gb/s and 100 µs, as the paper's testbed: 17.9 kB, 12 packets; at 1 Gb/s a tenth.
    #[test]
    fn a_seventh_of_the_bandwidth_delay_product() {
        let bytes = threshold_bytes(10e9 / 8.0, 100e-6).unwrap();
        assert!((bytes - 17_857.0).abs() < 1.0, "{bytes}");
        assert!(threshold_bytes(0.0, 1e-4).is_err() && threshold_bytes(1.0, -1.0).is_err());
    }

    /// The threshold of eq. 13 is that at which the queue just stays above 0 for the number
    /// of flows that takes most.
    #[test]
    fn no_number_of_flows_empties_the_queue_above_a_seventh() {
        let (bdp, m) = (250_000.0, 1500.0);
        let k = threshold_bytes(bdp, 1.0).unwrap();
        let lowest = |k: f64| {
            let all = (1..200).map(|n| sawtooth(bdp, k, f64::from(n), m).unwrap().utilisation);
            all.fold(1.0, f64::min)
        };
        assert_eq!(lowest(1.001 * k), 1.0);
        assert!(lowest(0.9 * k) < 1.0 && lowest(0.0) < lowest(0.5 * k));
        assert!(sawtooth(bdp, k, 0.0, m).is_err());
    }
}
