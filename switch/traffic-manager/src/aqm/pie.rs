// SPDX-License-Identifier: Apache-2.0
//! Proportional integral controller enhanced (PIE, RFC 8033): drops arriving packets with a
//! probability that follows the queueing delay.
//!
//! The delay is measured on the last packet that left, from its arrival time (§4.3). Of the
//! RFC's options, ECN (§5.1), derandomisation (§5.4) and the capped increase (§5.5) are included.

use super::packet::{Random, Seen, Verdict};

/// `2 * MEAN_PKTSIZE` of RFC 8033 §4.1: no packet is dropped if the backlog is at most this.
const SHORT_QUEUE_BYTES: u64 = 2 * 1514;
/// `mark_ecnth` of RFC 8033 §5.1: above this probability, ECN-capable packets are dropped too.
const MOST_MARKING: f64 = 0.1;
/// Steps of auto-tuning (RFC 8033 §4.2): (upper limit of the probability, divisor of its change).
const TUNING: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];

/// Parameters of PIE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PieConfig {
    /// `QDELAY_REF`: target of the delay.
    pub target_ns: u64,
    /// `T_UPDATE`: time between two updates of the probability.
    pub update_interval_ns: u64,
    /// `MAX_BURST`: how long a burst into an idle queue is let through.
    pub max_burst_ns: u64,
    /// Weight of the delay's distance from the target, in 1/s.
    pub alpha: f64,
    /// Weight of the delay's change, in 1/s.
    pub beta: f64,
    /// Whether ECN-capable packets are marked while the probability is at most 10 %.
    pub ecn: bool,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target_ns: 15_000_000,
            update_interval_ns: 15_000_000,
            max_burst_ns: 150_000_000,
            alpha: 0.125,
            beta: 1.25,
            ecn: false,
        }
    }
}

impl PieConfig {
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, ns) in [
            ("target", self.target_ns),
            ("update_interval", self.update_interval_ns),
        ] {
            if ns < 1_000 {
                return Err(format!("{name} ({ns} ns) must be at least 1us"));
            }
        }
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(value > 0.0 && value <= 1000.0) {
                return Err(format!("{name} ({value}) must be above 0 and at most 1000"));
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Pie {
    config: PieConfig,
    probability: f64,
    /// `accu_prob_`: sum of the probabilities since the last drop.
    accumulated: f64,
    burst_allowance_ns: u64,
    delay_ns: u64,
    old_delay_ns: u64,
    next_update_ns: u64,
}

impl Pie {
    pub(super) fn new(config: PieConfig) -> Self {
        Self {
            config,
            probability: 0.0,
            accumulated: 0.0,
            burst_allowance_ns: config.max_burst_ns,
            delay_ns: 0,
            old_delay_ns: 0,
            next_update_ns: config.update_interval_ns,
        }
    }

    /// Decides the fate of an arriving packet (RFC 8033 §4.1).
    pub(super) fn arrive(&mut self, seen: &Seen, random: &mut Random) -> Verdict {
        self.run_until(seen.now_ns);
        let p = self.probability;
        let is_harmless = self.old_delay_ns < self.config.target_ns / 2 && p < 0.2
            || seen.queue_bytes <= SHORT_QUEUE_BYTES;
        if self.burst_allowance_ns > 0 || is_harmless || !self.draw(p, random) {
            return Verdict::Pass;
        }
        Verdict::signal(seen.markable && p <= MOST_MARKING)
    }

    pub(super) fn leave(&mut self, seen: &Seen, sojourn_ns: u64) {
        self.run_until(seen.now_ns);
        // After the last packet the queue is empty.
        self.delay_ns = if seen.queue_bytes == 0 { 0 } else { sojourn_ns };
    }

    /// Draws at random, but never two drops close together, nor a long gap (RFC 8033 §5.4).
    fn draw(&mut self, p: f64, random: &mut Random) -> bool {
        if p <= 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += p;
        let is_hit = self.accumulated >= 0.85 && (self.accumulated >= 8.5 || random.fraction() < p);
        if is_hit {
            self.accumulated = 0.0;
        }
        is_hit
    }

    /// Makes all updates that are due: between packets the delay does not change.
    fn run_until(&mut self, now_ns: u64) {
        while self.next_update_ns <= now_ns {
            self.update();
            self.next_update_ns += self.config.update_interval_ns;
            let is_at_rest = self.probability <= 0.0
                && self.delay_ns.max(self.old_delay_ns) == 0
                && self.burst_allowance_ns == self.config.max_burst_ns;
            if is_at_rest {
                let missed = now_ns.saturating_sub(self.next_update_ns);
                let interval = self.config.update_interval_ns;
                self.next_update_ns += missed / interval * interval;
            }
        }
    }

    /// Updates the probability and the burst allowance (RFC 8033 §4.2 and §4.4).
    fn update(&mut self) {
        let c = &self.config;
        let seconds = |ns: u64| ns as f64 / 1e9;
        let (delay, old) = (seconds(self.delay_ns), seconds(self.old_delay_ns));
        let change = c.alpha * (delay - seconds(c.target_ns)) + c.beta * (delay - old);
        let step = TUNING.iter().find(|(below, _)| self.probability < *below);
        let change = change / step.map_or(1.0, |(_, by)| *by);
        // Capped increase, §5.5.
        let is_high = self.probability >= 0.1;
        self.probability += if is_high { change.min(0.02) } else { change };
        if self.delay_ns.max(self.old_delay_ns) == 0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_allowance_ns = self.burst_allowance_ns.saturating_sub(c.update_interval_ns);
        let is_low = self.delay_ns.max(self.old_delay_ns) < c.target_ns / 2;
        if self.probability <= 0.0 && is_low {
            self.burst_allowance_ns = c.max_burst_ns;
        }
        self.old_delay_ns = self.delay_ns;
    }
}

#[cfg(test)]
mod tests;
