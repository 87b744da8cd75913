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

/// Returns the smallest marking threshold, bytes, at which synchronised flows that reduce by half
/// the share of their marks keep the link busy: K > C·RTT/7 (eq. 13). `capacity` in
/// bytes/s, `rtt_s` in s.
///
/// # Errors
/// C not above 0, RTT below 0.
pub fn threshold_bytes(capacity: f64, rtt_s: f64) -> Result<f64, RuleError> {
    Ok(positive("C", capacity)? * not_negative("RTT", rtt_s)? / 7.0)
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

    /// 10 Gb/s and 100 µs, as in the paper's testbed: 17.9 kB, 12 packets; at 1 Gb/s a tenth.
    #[test]
    fn a_seventh_of_the_bandwidth_delay_product() {
        let bytes = threshold_bytes(10e9 / 8.0, 100e-6).unwrap();
        assert!((bytes - 17_857.0).abs() < 1.0, "{bytes}");
        assert!(threshold_bytes(0.0, 1e-4).is_err() && threshold_bytes(1.0, -1.0).is_err());
    }
}
