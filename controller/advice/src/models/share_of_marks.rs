// SPDX-License-Identifier: Apache-2.0
//! Flows that all reduce by half the share of their marks (DCTCP, RFC 8257; L4S): the queue
//! that they leave above a marking threshold, and what they use below it.
//!
//! Their sawtooth follows from the number of flows (Alizadeh et al. 2010, eq. 4 to 10): they
//! swing by far less than halvings do, so that a seventh of C·T keeps the link busy (eq. 13).
//! It is that of synchronised flows: others swing less, so the use expected is at most too
//! low. With a confidence the number of flows counts that swings farthest. What is marked is
//! admitted: the threshold moves no loss.

use super::sampling::UTILISATION_BETWEEN_RUNS;
use super::{Curves, Model, formula};
use tidemark_rules::dctcp::{Sawtooth, sawtooth};
use tidemark_rules::error::RuleError;
use tidemark_rules::range::Range;
use tidemark_rules::traffic::Traffic;

/// The sawtooth of DCTCP decides utilisation and delay.
pub static MODEL: Model = Model {
    id: "share_of_marks",
    name: "sawtooth of flows that reduce by the share of their marks",
    source: "Alizadeh et al., DCTCP, SIGCOMM 2010, eq. 4 to 13",
    evidence: "real flows of the lab's DCTCP (its tests)",
    fit: |m| {
        if m.heeds_share_of_marks() != Some(true) {
            return None;
        }
        let loss = m.observed.map_or(0.0, |o| o.loss_rate);
        Some(Curves {
            utilisation: Some(Box::new(|bytes| used_at(m, bytes))),
            loss_rate: Some(Box::new(move |_| Ok(Range::exact(loss)))),
            delay_ms: Some(Box::new(|bytes| {
                let s = of(m, bytes, m.n_b.value)?;
                Ok(Range::exact(ms(m, s.highest_bytes)))
            })),
            delay_mean_ms: Some(Box::new(|bytes| {
                let s = of(m, bytes, m.n_b.value)?;
                let lowest = (s.highest_bytes - s.amplitude_bytes).max(0.0);
                let mean = 0.5 * (s.highest_bytes + lowest);
                Ok(Range::new(
                    ms(m, mean),
                    ms(m, lowest),
                    ms(m, s.highest_bytes),
                ))
            })),
        })
    },
};

fn ms(m: &Traffic, bytes: f64) -> f64 {
    (bytes / m.drain_bytes_per_s() * 1e3).min(formula::full_ms(m, bytes))
}

fn of(m: &Traffic, threshold_bytes: f64, flows: f64) -> Result<Sawtooth, RuleError> {
    let bdp_bytes = m.drain_bytes_per_s() * m.t_e_s.value;
    sawtooth(bdp_bytes, threshold_bytes, flows.max(1.0), m.segment_bytes)
}

fn used_at(m: &Traffic, bytes: f64) -> Result<Range, RuleError> {
    let value = of(m, bytes, m.n_b.value)?.utilisation;
    // Flows that swing farthest: amplitude - K - N is largest for N = (C·T + K)/8 segments.
    let bdp_bytes = m.drain_bytes_per_s() * m.t_e_s.high;
    let farthest = ((bdp_bytes + bytes) / m.segment_bytes / 8.0).max(1.0);
    let least = sawtooth(bdp_bytes, bytes, farthest, m.segment_bytes)?.utilisation;
    Ok(Range::new(
        value,
        least.min(value) - UTILISATION_BETWEEN_RUNS,
        value,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::dctcp::threshold_bytes;
    use tidemark_rules::traffic::{CongestionControl, Observed};
    use tidemark_rules::{Options, Targets};

    const LIMIT_BYTES: f64 = 250_000.0;

    /// 100 Mb/s and 20 ms, a threshold of one bandwidth-delay product in force.
    fn marked(flows: f64, cc: CongestionControl) -> Traffic {
        let mut m = Traffic::described(100e6, 0.02, flows, 1514.0);
        m.congestion_control = cc;
        m.loss_based_share = f64::from(u8::from(cc == CongestionControl::Reno));
        m.limit_bytes = Some(LIMIT_BYTES);
        m.observed = Some(Observed {
            utilisation: 1.0,
            loss_rate: 0.0,
            drops: 0,
            delay_mean_ms: 18.0,
            delay_p50_ms: 18.0,
            delay_p99_ms: 20.0,
            delay_max_ms: 21.0,
        });
        m
    }

    /// A seventh of C·T is sure, and less may do; flows that halve are not advised by it.
    #[test]
    fn a_seventh_is_sure() {
        let advised = |m: &Traffic| crate::advise(m, &Targets::default(), &Options::default());
        for flows in [2.0, 8.0, 20.0] {
            let m = marked(flows, CongestionControl::Dctcp);
            let advice = advised(&m);
            let seventh = threshold_bytes(12.5e6, 0.02).unwrap();
            let limit = advice.limit_bytes.unwrap() as f64;
            assert_eq!(advice.rule.unwrap().as_str(), "share_of_marks");
            assert!(
                limit <= 1.05 * seventh && limit >= 0.2 * seventh,
                "{flows}: {limit}"
            );
            assert!(advice.marking.is_some());
        }
        let halving = advised(&marked(8.0, CongestionControl::Reno));
        assert_ne!(halving.rule.unwrap().as_str(), "share_of_marks");
    }

    #[test]
    fn a_queue_above_the_threshold_by_a_segment_of_each_flow() {
        let m = marked(8.0, CongestionControl::Dctcp);
        let curves = (MODEL.fit)(&m).unwrap();
        let peak = curves.delay_ms.unwrap()(35_714.0).unwrap().value;
        assert!(
            (peak - (35_714.0 + 8.0 * 1514.0) / 12_500.0).abs() < 0.01,
            "{peak}"
        );
        assert!((MODEL.fit)(&marked(8.0, CongestionControl::Cubic)).is_none());
    }
}
