// SPDX-License-Identifier: Apache-2.0
//! Windows derived from the occupancy found by arrivals.

use super::window_peak::{ALL_AT_ONCE, FULL, Peak};
use tidemark_rules::traffic::Occupancy;

/// Number of points for the arrivals while the link was not full.
const IDLE_POINTS: usize = 32;
/// Number of points of one sawtooth.
const SAWTOOTH_POINTS: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Aggregate window over C·Tₑ.
    pub window: f64,
    /// Number of rounds at this window, in any unit.
    pub rounds: f64,
}

/// Means at one limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means {
    pub utilisation: f64,
    /// Standard deviation of the utilisation over time.
    pub deviation: f64,
    pub queue_bdp: f64,
}

/// Returns the windows that explain the occupancy found by arrivals. Time is counted in services
/// per arrival: every arrival counts 1, and the idle time, 1/utilisation − 1, is spread over the
/// arrivals that found the least.
pub(super) fn samples(
    occupancy: &Occupancy,
    peak: Peak,
    utilisation: f64,
    others: f64,
) -> Vec<Sample> {
    let empty = if occupancy.bytes.is_empty() {
        1.0
    } else {
        occupancy.met_empty.clamp(0.0, 1.0)
    };
    let idle = (1.0 / utilisation - 1.0 / FULL).max(0.0);
    let lowest = (ALL_AT_ONCE * peak.over_bdp()).clamp(0.0, 0.9);
    // Mean utilisation of the evenly spread arrivals: f/(f + idle), with f their share.
    let even = others + (1.0 - others) * 0.5 * (1.0 + lowest);
    let arrivals = (idle * even / (1.0 - even)).clamp(if idle > 0.0 { empty } else { 0.0 }, 1.0);
    let mut all = Vec::with_capacity(occupancy.bytes.len() + IDLE_POINTS + 1);
    if arrivals > 0.0 {
        let mean = ((arrivals / (arrivals + idle) - others) / (1.0 - others)).clamp(0.0, 1.0);
        let (low, high) = if mean >= 0.5 {
            (2.0 * mean - 1.0, 1.0)
        } else {
            (0.0, 2.0 * mean)
        };
        all.extend((0..IDLE_POINTS).map(|i| Sample {
            window: low + (high - low) * (i as f64 + 0.5) / IDLE_POINTS as f64,
            rounds: (arrivals + idle) / IDLE_POINTS as f64,
        }));
    }
    // The other arrivals, after those that found the least.
    let mut taken = arrivals;
    let each = (1.0 - empty) / occupancy.bytes.len().max(1) as f64;
    for (part, queue_bytes) in
        std::iter::once((empty, 0.0)).chain(occupancy.bytes.iter().map(|&b| (each, b)))
    {
        let left = (part - taken).max(0.0);
        taken = (taken - part).max(0.0);
        if left > 0.0 {
            let window = 1.0 + queue_bytes.max(0.0) / peak.bdp_bytes;
            all.push(Sample {
                window,
                rounds: left / window,
            });
        }
    }
    all
}

/// Returns one sawtooth of the window, from `lowest` times `peak` (over C·Tₑ) to `peak`.
pub(super) fn sawtooth_samples(lowest: f64, peak: f64) -> Vec<Sample> {
    let at = |i: usize| (i as f64 + 0.5) / SAWTOOTH_POINTS as f64;
    let window = |part: f64| peak * (lowest + (1.0 - lowest) * part);
    (0..SAWTOOTH_POINTS)
        .map(|i| Sample {
            window: window(at(i)),
            rounds: 1.0,
        })
        .collect()
}

/// Returns the means over the samples with every window multiplied by `k`.
pub(super) fn means(samples: &[Sample], others: f64, k: f64) -> Option<Means> {
    let (mut time, mut work, mut square, mut queue) = (0.0, 0.0, 0.0, 0.0);
    for s in samples {
        let w = s.window * k;
        let spent = s.rounds * w.max(1.0);
        let u = others + (1.0 - others) * w.min(1.0);
        time += spent;
        work += spent * u;
        square += spent * u * u;
        queue += spent * u * (w - 1.0).max(0.0);
    }
    (time > 0.0 && work > 0.0).then(|| {
        let utilisation = work / time;
        Means {
            utilisation,
            deviation: (square / time - utilisation * utilisation).max(0.0).sqrt(),
            queue_bdp: queue / work,
        }
    })
}
