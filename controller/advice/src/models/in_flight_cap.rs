// SPDX-License-Identifier: Apache-2.0
//! Flows that all follow a model of the path (BBR v1): the limit from which they lose nothing, and
//! their loss below it.
//!
//! A BBR flow keeps at most twice its bandwidth-delay product in flight (Cardwell et al., *BBR*,
//! 2016: `cwnd_gain` 2). A single flow leaves a queue only while it probes. Several flows each
//! estimate their bandwidth by a maximum, so their caps add up to more than twice C·T, the caps and
//! not the model bound the data in flight, and the queue stands at 1 to 1.5 C·T (Hock et al.,
//! *Experimental Evaluation of BBR Congestion Control*, ICNP 2017). If base RTTs differ, the
//! longest decides: a queue of C·T lets a flow of base RTT T keep its rate, starves shorter ones
//! and feeds longer ones.
//!
//! A smaller limit is always reached, and the excess is lost: 1 to 13 % in simulated runs of 2 to
//! 20 flows and in the lab, more with less buffer. So the loss rate is interpolated linearly
//! between known points: 10 % without a buffer, the measurements at the limit in force and at tried
//! limits, and 0 from the cap.

use super::sampling::{UTILISATION_BETWEEN_RUNS, Z90, others};
use super::standing_queue::{BELOW_CAP, BEYOND, WITHOUT_BUFFER, standing_queue};
use super::{Curves, Model, formula};
use tidemark_rules::range::Range;
use tidemark_rules::traffic::{CongestionControl, Traffic};

/// Model in which the data that BBR flows keep in flight determines loss and delay.
pub static MODEL: Model = Model {
    id: "in_flight_cap",
    name: "data that BBR flows keep in flight",
    source: "Cardwell et al., BBR, 2016; Hock et al., ICNP 2017",
    evidence: "ns-3 runs of 2 to 20 flows, four real flows (its tests)",
    fit: |m| {
        let cap = InFlightCap::of(m)?;
        let (peak, mean) = (cap.clone(), cap.clone());
        Some(Curves {
            loss_rate: Some(Box::new(move |bytes| Ok(cap.loss_at(bytes)))),
            delay_ms: Some(Box::new(move |bytes| Ok(peak.peak_ms(m, bytes)))),
            delay_mean_ms: Some(Box::new(move |bytes| Ok(mean.mean_ms(m, bytes)))),
            utilisation: Some(Box::new(move |bytes| used_at(m, bytes))),
        })
    },
};

/// Difference of utilisation between BBR runs at different limits, in either direction.
const USED_BETWEEN_LIMITS: f64 = 0.05;
/// Distance in ln B over which that difference is reached.
const NEAR: f64 = 0.2;

/// Utilisation: one of the eight phases of a cycle drains at 3/4 (UTB §3.5). The outlook corrects
/// it by the measurement.
fn used_at(m: &Traffic, bytes: f64) -> Result<Range, tidemark_rules::RuleError> {
    let used = formula::central(m, bytes)?.utilisation;
    let here = m.limit_bytes.filter(|&b| b > 0.0 && m.observed.is_some());
    let away = here.map_or(1.0, |b| {
        1.0 - (-(bytes.max(1.0) / b).ln().abs() / NEAR).exp()
    });
    let off = USED_BETWEEN_LIMITS * away + UTILISATION_BETWEEN_RUNS;
    // May exceed 1 before it is corrected.
    Ok(Range::new(used, used - off, used + off))
}

/// Ratio of the mean queue of capped flows to its peak, with its range: 0.5 to 0.8 in simulated
/// runs, 0.7 with four real flows.
const MEAN_OVER_PEAK: Range = Range {
    value: 0.65,
    low: 0.3,
    high: 1.0,
};

/// Relative error of a loss rate between known points.
const BETWEEN: f64 = 0.5;

/// Known points of the response to the limit.
#[derive(Clone, Debug)]
pub(crate) struct InFlightCap {
    /// The limit from which nothing is lost, bytes.
    pub bytes: Range,
    /// Measured limits below the cap with their loss rates, ascending.
    known: Vec<(f64, f64)>,
    /// Measurement at the limit in force.
    here: Option<(f64, f64, u64)>,
}

impl InFlightCap {
    /// Returns `None` if not all flows follow a model of the path, or no base RTT is known.
    pub fn of(m: &Traffic) -> Option<Self> {
        if m.congestion_control != CongestionControl::Bbr {
            return None;
        }
        let mut bytes = standing_queue(m)?;
        let here = m.observed.zip(m.limit_bytes.filter(|&b| b > 0.0));
        let here = here.map(|(o, limit)| (limit, o.loss_rate, o.drops));
        let tried = others(m).map(|t| (t.limit_bytes, t.loss_rate));
        let mut known: Vec<(f64, f64)> = here.iter().map(|h| (h.0, h.1)).chain(tried).collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        for &(limit, _) in known.iter().filter(|k| k.1 >= BELOW_CAP) {
            bytes = Range::new(
                bytes.value.max(BEYOND.value * limit),
                bytes.low.max(BEYOND.low * limit),
                bytes.high.max(BEYOND.high * limit),
            );
        }
        // The standing queue if nothing limits it.
        if let (Some(o), Some((limit, loss, _))) = (m.observed, here) {
            let most = m.drain_bytes_per_s() * o.delay_max_ms / 1e3;
            if loss < BELOW_CAP && most > 0.0 && most < 0.95 * limit {
                bytes = Range::new(most, 0.75 * most, 1.1 * most);
            }
        }
        for &(limit, _) in known.iter().filter(|k| k.1 < BELOW_CAP) {
            bytes = Range::new(
                bytes.value.min(limit),
                bytes.low.min(limit),
                bytes.high.min(limit),
            );
        }
        known.retain(|&(limit, _)| limit < bytes.value);
        Some(Self { bytes, known, here })
    }

    /// Returns the expected loss rate at a limit, with its range; at the limit in force the
    /// measured one.
    pub fn loss_at(&self, buffer_bytes: f64) -> Range {
        let value = self.along(buffer_bytes, self.bytes.value);
        let least = self
            .known
            .iter()
            .map(|k| k.1)
            .fold(WITHOUT_BUFFER, f64::min);
        let low = self.along(buffer_bytes, self.bytes.low.max(f64::MIN_POSITIVE));
        let high = self.along(buffer_bytes, self.bytes.high);
        let mut range = Range::new(
            value,
            low.min(least) * (1.0 - BETWEEN),
            (high * (1.0 + BETWEEN)).max(BELOW_CAP),
        );
        if let Some((limit, loss, drops)) = self.here
            && (buffer_bytes / limit - 1.0).abs() < 0.02
        {
            let error = (Z90 / (drops.max(1) as f64).sqrt()).min(1.0);
            range = Range::new(loss, loss * (1.0 - error), (loss * (1.0 + error)).min(1.0));
        }
        range
    }

    /// Returns the largest queueing delay at a limit, ms.
    fn peak_ms(&self, m: &Traffic, buffer_bytes: f64) -> Range {
        let full_ms = formula::full_ms(m, buffer_bytes);
        let peak = |bytes: f64| (bytes / m.drain_bytes_per_s() * 1e3).min(full_ms);
        Range::new(
            peak(self.bytes.value),
            peak(self.bytes.low),
            peak(self.bytes.high),
        )
    }

    /// Returns the mean queueing delay at a limit, ms.
    fn mean_ms(&self, m: &Traffic, buffer_bytes: f64) -> Range {
        let peak = self.peak_ms(m, buffer_bytes);
        let mean = match m.observed.zip(m.limit_bytes) {
            // Neither limit bounds the queue.
            Some((o, limit)) if limit.min(buffer_bytes) >= self.bytes.value => o.delay_mean_ms,
            _ => MEAN_OVER_PEAK.value * peak.value,
        };
        Range::new(
            mean.min(formula::full_ms(m, buffer_bytes)),
            MEAN_OVER_PEAK.low * peak.low,
            MEAN_OVER_PEAK.high * peak.high,
        )
    }

    /// Interpolates between known limits, down to 0 at `cap`.
    fn along(&self, buffer_bytes: f64, cap: f64) -> f64 {
        let most = self
            .known
            .iter()
            .map(|k| k.1)
            .fold(WITHOUT_BUFFER, f64::max);
        let mut from = (0.0, most);
        for &(limit, loss) in self.known.iter().filter(|k| k.0 < cap).chain(&[(cap, 0.0)]) {
            if buffer_bytes <= limit {
                let part = (buffer_bytes - from.0) / (limit - from.0).max(f64::MIN_POSITIVE);
                return from.1 + (loss - from.1) * part.clamp(0.0, 1.0);
            }
            from = (limit, loss);
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::traffic::{Observed, TriedLimit};

    /// Four flows with RTTs of 10 to 40 ms on 100 Mb/s.
    fn four(limit: f64, loss_rate: f64, delay_max_ms: f64) -> Traffic {
        let mut m = Traffic::described(100e6, 0.0192, 4.0, 1514.0);
        m.base_rtts_s = vec![0.01, 0.02, 0.03, 0.04];
        m.congestion_control = CongestionControl::Bbr;
        m.limit_bytes = Some(limit);
        m.observed = Some(Observed {
            utilisation: 0.982,
            loss_rate,
            drops: (loss_rate * 1e5) as u64,
            delay_mean_ms: 20.0,
            delay_p50_ms: 20.0,
            delay_p99_ms: delay_max_ms,
            delay_max_ms,
        });
        m
    }

    #[test]
    fn several_flows_lose_until_the_cap_of_the_longest_fits() {
        let cap = InFlightCap::of(&four(310e3, 0.09, 25.0)).unwrap();
        // Real flows at 2.1 MB and more: a peak of 65 ms, 820 kB.
        assert!(
            cap.bytes.low <= 820e3 && 820e3 <= cap.bytes.high,
            "{:?}",
            cap.bytes
        );
        assert_eq!(cap.loss_at(310e3).value, 0.09);
        // Measured at 205 and 369 kB: 8.4 and 9.6 %.
        for (limit, measured) in [(205e3, 0.084), (369e3, 0.096), (2.15e6, 0.0)] {
            let loss = cap.loss_at(limit);
            assert!(
                loss.low <= measured && measured <= loss.high,
                "{limit} {loss:?}"
            );
        }
        assert_eq!(cap.loss_at(2.15e6).value, 0.0);
    }

    #[test]
    fn what_was_tried_moves_the_cap() {
        let mut m = four(310e3, 0.09, 25.0);
        let tried = TriedLimit::of(&four(900e3, 0.02, 72.0), 0).unwrap();
        m.tried = vec![tried];
        let cap = InFlightCap::of(&m).unwrap();
        assert!(cap.bytes.value > 900e3, "{:?}", cap.bytes);
        assert!((cap.loss_at(900e3).value - 0.02).abs() < 1e-9);
        m.tried = vec![TriedLimit::of(&four(600e3, 0.0, 45.0), 0).unwrap()];
        let cap = InFlightCap::of(&m).unwrap();
        assert!(cap.bytes.high <= 600e3 && cap.loss_at(600e3).value == 0.0);
    }

    #[test]
    fn where_nothing_is_lost_the_queue_says_what_is_needed() {
        let cap = InFlightCap::of(&four(4.7e6, 0.0, 65.0)).unwrap();
        assert!((cap.bytes.value - 812e3).abs() < 10e3, "{:?}", cap.bytes);
        assert!(cap.loss_at(113e3).value > 0.05);
    }

    #[test]
    fn loss_falls_with_the_limit_and_others_have_no_cap() {
        let m = four(310e3, 0.09, 25.0);
        let cap = InFlightCap::of(&m).unwrap();
        let mut before = f64::INFINITY;
        for limit in (0..60).map(|i| f64::from(i) * 25e3) {
            let loss = cap.loss_at(limit);
            assert!(loss.value <= before + 1e-12 && loss.low <= loss.value);
            before = loss.value;
        }
        let mut reno = m;
        reno.congestion_control = CongestionControl::Reno;
        assert!(InFlightCap::of(&reno).is_none());
    }
}
