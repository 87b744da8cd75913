// SPDX-License-Identifier: Apache-2.0
//! Random early detection: S. Floyd, V. Jacobson, *Random Early Detection Gateways for
//! Congestion Avoidance*, IEEE/ACM Transactions on Networking 1(4), 1993.
//!
//! The queue is measured in bytes, but each packet has the same probability, whatever its size
//! (RFC 7141 §2.2).

use super::packet::{Random, Seen, Verdict};

/// Parameters of RED, by the paper's §4.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedConfig {
    /// `min_th`: no packet is dropped while the average is below it.
    pub min_threshold_bytes: u64,
    /// `max_th`: average at which the probability reaches `max_probability`.
    pub max_threshold_bytes: u64,
    /// `max_p`: probability at `max_th`.
    pub max_probability: f64,
    /// `w_q`: weight of a new value in the average.
    pub weight: f64,
    /// Size of a typical packet: the average of a queue that was empty decays as if the line had
    /// sent packets of this size meanwhile.
    pub mean_packet_bytes: u64,
    /// Whether the probability rises to 1 between `max_th` and twice that (S. Floyd,
    /// *Recommendation on using the "gentle" variant of RED*, 2000) instead of being 1 from
    /// `max_th` on.
    pub gentle: bool,
    /// Whether ECN-capable packets are marked, unless the average is so high that all are
    /// dropped (RFC 3168 §7).
    pub ecn: bool,
}

impl RedConfig {
    /// Uses the paper's `max_p`, `w_q` and ratio of thresholds (§5), with gentle mode.
    pub fn from_threshold(min_threshold_bytes: u64) -> Self {
        Self {
            min_threshold_bytes,
            max_threshold_bytes: min_threshold_bytes.saturating_mul(3),
            max_probability: 0.02,
            weight: 0.002,
            mean_packet_bytes: 1000,
            gentle: true,
            ecn: false,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let (min, max) = (self.min_threshold_bytes, self.max_threshold_bytes);
        if min == 0 || max <= min {
            return Err(format!(
                "max_threshold ({max} B) must be above min_threshold ({min} B), which must be above 0"
            ));
        }
        for (name, value) in [
            ("max_probability", self.max_probability),
            ("weight", self.weight),
        ] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(format!("{name} ({value}) must be above 0 and at most 1"));
            }
        }
        if self.mean_packet_bytes == 0 {
            return Err("mean_packet must be above 0 B".into());
        }
        Ok(())
    }

    /// `p_b`: returns the probability for a packet that meets this average.
    fn probability(&self, average_bytes: f64) -> f64 {
        let min = self.min_threshold_bytes as f64;
        let max = self.max_threshold_bytes as f64;
        if average_bytes < min {
            0.0
        } else if average_bytes < max {
            self.max_probability * (average_bytes - min) / (max - min)
        } else if self.gentle && average_bytes < 2.0 * max {
            self.max_probability + (1.0 - self.max_probability) * (average_bytes - max) / max
        } else {
            1.0
        }
    }
}

#[derive(Debug)]
pub(super) struct Red {
    config: RedConfig,
    average_bytes: f64,
    /// `count`: packets since the last drop or mark.
    passed: u64,
    /// `q_time`: time at which the queue became empty.
    empty_since_ns: u64,
}

impl Red {
    pub(super) fn new(config: RedConfig) -> Self {
        Self {
            config,
            average_bytes: 0.0,
            passed: 0,
            empty_since_ns: 0,
        }
    }

    /// Decides the fate of an arriving packet (the paper's fig. 2).
    pub(super) fn arrive(&mut self, seen: &Seen, random: &mut Random) -> Verdict {
        self.average(seen);
        let p = self.config.probability(self.average_bytes);
        if p <= 0.0 {
            self.passed = 0;
            return Verdict::Pass;
        }
        // §7, method 2: the gap between two drops is uniform, not geometric.
        let rest = 1.0 - self.passed as f64 * p;
        if rest <= p || random.fraction() < p / rest {
            self.passed = 0;
            return Verdict::signal(seen.markable && p < 1.0);
        }
        self.passed += 1;
        Verdict::Pass
    }

    pub(super) fn leave(&mut self, seen: &Seen) {
        if seen.queue_bytes == 0 {
            self.empty_since_ns = seen.now_ns;
        }
    }

    fn average(&mut self, seen: &Seen) {
        let c = &self.config;
        if seen.queue_bytes > 0 {
            self.average_bytes += c.weight * (seen.queue_bytes as f64 - self.average_bytes);
            return;
        }
        let idle_ns = seen.now_ns.saturating_sub(self.empty_since_ns);
        let sent_bits = u128::from(idle_ns) * u128::from(seen.rate_bps) / 1_000_000_000;
        let packets = sent_bits / (u128::from(c.mean_packet_bytes) * 8);
        self.average_bytes *= match seen.rate_bps {
            0 => 0.0,
            _ => (1.0 - c.weight).powi(i32::try_from(packets).unwrap_or(i32::MAX)),
        };
    }
}

#[cfg(test)]
mod tests;
