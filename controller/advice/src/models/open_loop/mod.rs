// SPDX-License-Identifier: Apache-2.0
//! Extrapolation to another limit for a link without bottlenecked flows.
//!
//! With T the share of arrivals that would find at least B in a queue without a limit, M/M/1/K
//! loses (1 − ρ)·T/(1 − ρ·T), for T = ρ^K. Bursts increase T but not this relation. T is taken from
//! the occupancy found by arrivals, and at the limit in force from the drops; between and beyond,
//! ln T is linear in B, as in a queue of bursts. If no drop was seen, the slope of the occupancy
//! continues. At most the packets that find B are lost: this is the upper end of the range.

use crate::models::reductions::occupancy_known;
use crate::models::sampling::Z90;
use crate::models::{Curves, Model};
use std::f64::consts::SQRT_2;
use tidemark_rules::ngi::{finite_buffer_loss, tail_of_loss};
use tidemark_rules::range::Range;
use tidemark_rules::traffic::{Occupancy, Traffic};

/// Model of the measured occupancy, extrapolated, if no flow is bottlenecked at the link.
pub static MODEL: Model = Model {
    id: "measured_open_loop",
    name: "no bottlenecked flow, measured occupancy",
    source: "M/M/1/K with its tail measured; NGI §IV-A",
    evidence: "ns-3 runs of open loops (its tests)",
    fit: |m| {
        if m.lbp_present() {
            return None;
        }
        let measured = OpenLoop::of(m)?;
        let lost = measured.clone();
        let used = |m: &Traffic, lost: f64| (m.rho.max(0.0) * (1.0 - lost)).min(1.0);
        Some(Curves {
            loss_rate: Some(Box::new(move |bytes| Ok(lost.loss_at(bytes)))),
            utilisation: Some(Box::new(move |bytes| {
                let loss = measured.loss_at(bytes);
                Ok(Range::new(
                    used(m, loss.value),
                    used(m, loss.high),
                    used(m, loss.low),
                ))
            })),
            ..Curves::default()
        })
    },
};

/// Load from which a queue without a limit has no meaningful distribution.
const LARGEST_LOAD: f64 = 0.98;
/// Points of the measured distribution that are kept for its tail.
const TAIL_POINTS: usize = 2;
/// Drops per burst, because bursts are counted. Linux sends ten segments at once.
const BURST_PKTS: f64 = 10.0;
/// Number of bursts assumed if none was counted.
const FEWEST_BURSTS: f64 = 0.5;
/// Ratio of the lower end to the value: a smaller queue is emptied more often.
const LOW: f64 = 0.5;
/// Relative error of the exponent of T beyond the occupancies found.
const BEYOND: f64 = 0.5;

/// The measured occupancy of a link without an LBP flow.
#[derive(Clone, Debug)]
pub(crate) struct OpenLoop {
    load: f64,
    /// Sampling error of the load between two measurements, in either direction.
    load_error: f64,
    arrivals: f64,
    /// Points (bytes, ln T) as found by arrivals, T falling, starting at (0, 0); never empty.
    met: Vec<(f64, f64)>,
    /// Point (bytes, ln T) at the limit in force, from the drops.
    limit: (f64, f64),
    /// Whether there were drops.
    lost: bool,
}

impl OpenLoop {
    /// Returns `None` if the occupancy is unknown or the link is full.
    pub fn of(m: &Traffic) -> Option<Self> {
        let occupancy = m.occupancy.as_ref().filter(|_| occupancy_known(m))?;
        let (observed, limit_bytes) = (m.observed?, m.limit_bytes.filter(|&b| b > 0.0)?);
        let load = m.rho;
        if !(load > 0.0 && load < LARGEST_LOAD) || m.rho_other >= 1.0 {
            return None;
        }
        let arrivals = occupancy.arrivals as f64;
        // Without a drop, less than about one burst's worth was lost.
        let lost = observed.loss_rate.max(0.5 / arrivals);
        let at_limit = tail_of_loss(load, lost).ok()?.ln();
        let mut met = tail(occupancy, limit_bytes);
        // The count at the limit takes precedence over the last points found.
        met.retain(|p| p.1 > at_limit);
        Some(Self {
            load,
            load_error: m.batches.utilisation_error().unwrap_or(0.0) * SQRT_2,
            arrivals,
            met,
            limit: (limit_bytes, at_limit),
            lost: observed.drops > 0,
        })
    }

    /// Returns ln T on the line from the middle of the points through `end`.
    fn beyond(&self, end: (f64, f64), bytes: f64) -> f64 {
        let middle = self
            .met
            .get(self.met.len() / 2)
            .copied()
            .unwrap_or((0.0, 0.0));
        let run = end.0 - middle.0;
        let slope = if run > 0.0 {
            (end.1 - middle.1) / run
        } else {
            0.0
        };
        end.1 + slope.min(0.0) * (bytes - end.0)
    }

    /// Returns ln T at a limit.
    fn ln_tail(&self, bytes: f64) -> Range {
        let last = self.met.last().copied().unwrap_or((0.0, 0.0));
        let (limit_bytes, at_limit) = self.limit;
        if bytes <= last.0 {
            let after = self.met.partition_point(|p| p.0 < bytes).max(1);
            let (from, to) = (self.met[after - 1], self.met[after.min(self.met.len() - 1)]);
            return Range::exact(between(from, to, bytes));
        }
        // The tail of the points, continued; not above the drops counted.
        let met = |b: f64| match self.met.len() {
            0..=2 => between(last, self.limit, b),
            _ => self.beyond(last, b).min(between(last, self.limit, b)),
        };
        if bytes <= limit_bytes {
            let counted = between(last, self.limit, bytes);
            let value = if self.lost { counted } else { met(bytes) };
            return Range::new(value, met(bytes), counted);
        }
        let there = if self.lost {
            at_limit
        } else {
            met(limit_bytes)
        };
        let value = self.beyond((limit_bytes, there), bytes);
        let more = BEYOND * (there - value);
        Range::new(value, value - more, at_limit + value - there + more)
    }

    /// Returns the loss rate at a limit, with its range.
    pub fn loss_at(&self, bytes: f64) -> Range {
        let t = self.ln_tail(bytes);
        let loss = |ln_tail: f64| {
            let bursts = ln_tail.min(0.0) / self.load.ln();
            finite_buffer_loss(self.load, bursts).unwrap_or(1.0)
        };
        let bursts = (t.value.exp() * self.arrivals / BURST_PKTS).max(FEWEST_BURSTS);
        let more = of_poisson(bursts);
        // T is a power of the load.
        let at_load =
            |load: f64, ln_tail: f64| ln_tail * load.clamp(1e-9, 1.0).ln() / self.load.ln();
        let low = at_load(self.load - self.load_error, t.low);
        let high = at_load(self.load + self.load_error, t.high);
        let limit_bytes = self.limit.0;
        let near = 1.0 - (bytes / limit_bytes).clamp(0.0, 1.0);
        let lowest = loss(low) * (1.0 - (1.0 - LOW) * near) / more;
        // Losses were counted at the limit in force; below it, packets that find B are lost.
        let met = loss(high) + near.sqrt() * (high.exp() - loss(high)).max(0.0);
        Range::new(loss(t.value), lowest, (met * more).min(1.0))
    }
}

/// Returns the ratio of the upper end of a 90 % interval to the count of `events` (Wilson's
/// interval for a Poisson count).
fn of_poisson(events: f64) -> f64 {
    let half = 0.5 * Z90 * Z90;
    1.0 + (half + Z90 * (events + 0.5 * half).sqrt()) / events
}

/// Interpolates ln T between two points.
fn between(from: (f64, f64), to: (f64, f64), bytes: f64) -> f64 {
    from.1 + (to.1 - from.1) * (bytes - from.0) / (to.0 - from.0).max(1e-9)
}

/// Returns the share of arrivals that found at least each occupancy, from an empty queue.
fn tail(occupancy: &Occupancy, limit_bytes: f64) -> Vec<(f64, f64)> {
    let waiting = (1.0 - occupancy.met_empty).clamp(1e-9, 1.0);
    let count = occupancy.bytes.len();
    let mut points = vec![(0.0, 0.0)];
    for (i, &bytes) in occupancy.bytes.iter().enumerate() {
        let left = count - i;
        if left < TAIL_POINTS {
            break;
        }
        // Each point represents the middle of its share.
        let part = waiting * (left as f64 - 0.5) / count as f64;
        let (last, _) = points[points.len() - 1];
        if bytes > last && bytes < limit_bytes {
            points.push((bytes, part.ln()));
        }
    }
    points
}

#[cfg(test)]
mod tests;
