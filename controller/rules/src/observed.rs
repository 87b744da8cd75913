// SPDX-License-Identifier: Apache-2.0
//! What was measured at the limit in force, carried over to another limit.
//! Tidemark's own; it takes from the papers only how windows and loss relate.
//!
//! # Derivation
//! While LBP flows fill the link, the window of flow i is w = rate·(T + Q/C) and
//! their sum, over its value at an empty queue, is W = 1 + Q/(C·Tₑ). Drops begin
//! when Q reaches the limit B, so W peaks at 1 + B/(C·Tₑ). Decrease is
//! multiplicative and growth starts from there, so the swing below the peak
//! keeps its shape when the peak moves: at a limit B'
//!
//! W' = k·W,  k = (C·Tₑ + B')/(C·Tₑ + B).
//!
//! * Loss: p ∝ 1/W² at the same rate (BSCL eq. 2 and 18 with the constant
//!   measured instead of 0.87), so p' = p/k².
//! * Utilisation: of the time at window W' the LBP flows use min(1, W') of what
//!   the others leave. A round lasts T·max(1, W), one segment of growth per
//!   flow, so rounds, not seconds, keep their number between two decreases.
//! * Queue: Q' = C·Tₑ·max(0, W' − 1).
//!
//! The distribution of W is that of the occupancy met by arrivals. Windows below
//! 1 cannot be told from it, and where packets come in clumps an arrival may meet
//! a queue although the link idles between clumps. So the idle time measured is
//! put on the arrivals that met least: they are spread evenly between 1 and the
//! window of all flows halving at once, as many as make up the idle time.
//!
//! A smaller limit means more drops (p'/p = 1/k²), and the measured swing holds
//! the synchrony, the timeouts and the clumps only of those there were. The
//! others, 1 − k² of all, are taken as falling on all flows at once: with that
//! weight utilisation is that of a swing from the peak to its half
//! ([`crate::predict::swing`]), which is also the lower end of the range. This
//! weight is an assumption, not a result.
//!
//! At B' = B everything is as measured. All are monotone in B'.
//!
//! Nothing of Cₑ enters k: the share of the LBP flows cancels.

use crate::error::{RuleError, not_negative, positive};
use crate::measured::{CongestionControl, Interval, Measured, Occupancy, Regime};
use crate::predict;

/// Drops needed before the measured loss rate is scaled, and before the limit
/// counts as what the windows run against.
pub const LEAST_DROPS: u64 = 20;
/// Arrivals needed before their occupancy counts as a distribution.
pub const LEAST_ARRIVALS: u64 = 2_000;
/// Share of the capacity that LBP flows must carry.
pub const LEAST_SHARE: f64 = 0.5;
/// Loss rate above which timeouts, not decreases, set the windows.
pub const LARGEST_LOSS: f64 = 0.1;
/// Utilisation that counts as full; the rest is fluctuation of the measurement.
pub const FULL: f64 = 0.999;

/// How uncertain the exponent of k is: 1 for windows (2 for loss) within this.
const EXPONENT_ERROR: f64 = 0.15;
/// CUBIC's window grows with time and not with RTTs: its exponent for loss is
/// between 1 and 2.
const CUBIC_EXPONENT_LOW: f64 = 0.5;
/// Points that stand for the arrivals at a link that was not full.
const IDLE_POINTS: usize = 32;
/// Lowest window over the peak when all flows lose at once; also taken for
/// CUBIC, since a flow may lose again in the same event.
const ALL_AT_ONCE: f64 = 0.5;
/// Normal quantile of a two-sided 90 % interval.
const Z90: f64 = 1.645;

/// A condition in words and whether it holds; `None` when that is unknown.
pub type Condition = (String, Option<bool>);

/// Conditions of both scalings.
pub fn conditions(m: &Measured) -> Vec<Condition> {
    let drops = m.observed.map_or(0, |o| o.drops);
    let mut all = vec![
        (
            format!(
                "LBP flows carry at least 50 % of the capacity and fill it ({:.0} %, elastic regime)",
                m.c_e_share.value * 100.0
            ),
            match m.regime {
                Regime::Unknown => None,
                regime => Some(
                    regime == Regime::Elastic
                        && m.n_b.value >= 1.0
                        && m.saturable != Some(false)
                        && m.c_e_share.value >= LEAST_SHARE,
                ),
            },
        ),
        (
            "windows are multiplied down on loss (not BBR)".to_owned(),
            match m.congestion_control {
                CongestionControl::Unknown => None,
                cc => Some(cc != CongestionControl::Bbr),
            },
        ),
        (
            format!("at least {LEAST_DROPS} drops at the limit in force ({drops})"),
            Some(drops >= LEAST_DROPS),
        ),
    ];
    if let Some(o) = m.observed {
        all.push((
            format!("loss measured below 10 % ({:.2} %)", o.loss_rate * 100.0),
            Some(o.loss_rate < LARGEST_LOSS),
        ));
    }
    all
}

/// The further condition of the utilisation's scaling.
pub fn enough_arrivals(m: &Measured) -> Condition {
    let arrivals = m.occupancy.as_ref().map_or(0, |o| o.arrivals);
    (
        format!(
            "occupancy known of at least {LEAST_ARRIVALS} arrivals at a constant limit ({arrivals})"
        ),
        Some(arrivals >= LEAST_ARRIVALS),
    )
}

fn hold(conditions: &[Condition]) -> bool {
    conditions.iter().all(|c| c.1 != Some(false))
}

/// The peak of the aggregate window at the limit in force.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Peak {
    bdp_bytes: f64,
    limit_bytes: f64,
}

impl Peak {
    fn of(m: &Measured, t_e_s: f64) -> Option<Self> {
        let bdp_bytes = m.drain_bytes_per_s() * t_e_s;
        let limit_bytes = m.limit_bytes?;
        (bdp_bytes.is_finite() && bdp_bytes > 0.0 && limit_bytes.is_finite() && limit_bytes > 0.0)
            .then_some(Self {
                bdp_bytes,
                limit_bytes,
            })
    }

    /// Largest aggregate window over C·Tₑ.
    fn over_bdp(self) -> f64 {
        1.0 + self.limit_bytes / self.bdp_bytes
    }

    fn scale(self, buffer_bytes: f64) -> f64 {
        (self.bdp_bytes + buffer_bytes) / (self.bdp_bytes + self.limit_bytes)
    }
}

/// Relative sampling error of a loss rate (90 %): drops come in bursts of
/// L̄ = α·N_b, and bursts are what is counted.
fn loss_sampling_error(m: &Measured) -> f64 {
    Z90 / loss_events(m).sqrt()
}

fn loss_events(m: &Measured) -> f64 {
    let burst = if m.alpha_measured {
        (m.alpha.value * m.n_b.value).max(1.0)
    } else {
        1.0
    };
    (m.observed.map_or(0, |o| o.drops) as f64 / burst).max(1.0)
}

/// Lowest and highest exponent of k for windows.
fn exponents(m: &Measured) -> [f64; 2] {
    let low = if m.congestion_control == CongestionControl::Cubic {
        CUBIC_EXPONENT_LOW
    } else {
        1.0 - EXPONENT_ERROR
    };
    [low, 1.0 + EXPONENT_ERROR]
}

/// The measured loss rate, scaled.
#[derive(Clone, Debug)]
pub struct LossScaling<'a> {
    m: &'a Measured,
    peak: Peak,
    loss_rate: f64,
}

impl<'a> LossScaling<'a> {
    /// `None` where a condition fails or an input is missing.
    pub fn of(m: &'a Measured) -> Option<Self> {
        let loss_rate = m.observed?.loss_rate;
        let peak = Peak::of(m, m.t_e_s.value)?;
        (hold(&conditions(m)) && loss_rate > 0.0).then_some(Self { m, peak, loss_rate })
    }

    /// Loss rate expected at a limit.
    ///
    /// # Errors
    /// `buffer_bytes` below 0.
    pub fn loss_at(&self, buffer_bytes: f64) -> Result<f64, RuleError> {
        let b = not_negative("B (bytes)", buffer_bytes)?;
        Ok((self.loss_rate / self.peak.scale(b).powi(2)).min(1.0))
    }

    /// The same with the range left by the sampling error of the measurement,
    /// Tₑ, and the exponent.
    ///
    /// # Errors
    /// As [`Self::loss_at`].
    pub fn interval_at(&self, buffer_bytes: f64) -> Result<Interval, RuleError> {
        let value = self.loss_at(buffer_bytes)?;
        let error = loss_sampling_error(self.m);
        let (mut low, mut high) = (value, value);
        for t_e_s in [self.m.t_e_s.low, self.m.t_e_s.high] {
            let Some(peak) = Peak::of(self.m, t_e_s) else {
                continue;
            };
            for exponent in exponents(self.m) {
                let p = self.loss_rate / peak.scale(buffer_bytes).powf(2.0 * exponent);
                low = low.min(p);
                high = high.max(p);
            }
        }
        Ok(Interval::new(
            value,
            (low * (1.0 - error)).max(0.0),
            (high * (1.0 + error)).min(1.0),
        ))
    }

    /// K of B = K·M·N_b/√p − C·Tₑ (BSCL eq. 21-22 have 0.87 and Cₑ·Tₑ).
    pub fn constant(&self) -> f64 {
        self.loss_rate.sqrt() * (self.peak.bdp_bytes + self.peak.limit_bytes)
            / (self.m.segment_bytes * self.m.n_b.value)
    }

    /// Smallest buffer with an expected loss rate within `bound`, bytes; below 0
    /// when none is needed. `conservative` takes the measured loss rate at the
    /// upper end of its sampling error.
    ///
    /// # Errors
    /// `bound` not above 0.
    pub fn buffer_for(&self, bound: f64, conservative: bool) -> Result<f64, RuleError> {
        let bound = positive("p (loss bound)", bound)?;
        let p = if conservative {
            self.loss_rate * (1.0 + loss_sampling_error(self.m))
        } else {
            self.loss_rate
        };
        let peak = self.peak;
        Ok((p / bound).sqrt() * (peak.bdp_bytes + peak.limit_bytes) - peak.bdp_bytes)
    }
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Aggregate window over C·Tₑ.
    window: f64,
    /// Rounds spent there, any unit.
    rounds: f64,
}

/// Means at one limit.
#[derive(Clone, Copy, Debug)]
struct Means {
    utilisation: f64,
    /// Standard deviation of the utilisation over time.
    deviation: f64,
    queue_bdp: f64,
}

/// The measured window, scaled.
#[derive(Clone, Debug)]
pub struct WindowScaling<'a> {
    m: &'a Measured,
    peak: Peak,
    samples: Vec<Sample>,
    /// Part of the capacity that others use.
    others: f64,
    utilisation: f64,
    delay_mean_ms: f64,
    there: Means,
}

impl<'a> WindowScaling<'a> {
    /// `None` where a condition fails or an input is missing.
    pub fn of(m: &'a Measured) -> Option<Self> {
        let holds = hold(&conditions(m)) && hold(&[enough_arrivals(m)]);
        if !holds {
            return None;
        }
        Self::with(m, m.t_e_s.value, m.c_e_share.value)
    }

    fn with(m: &'a Measured, t_e_s: f64, lbp_share: f64) -> Option<Self> {
        let observed = m.observed?;
        let occupancy = m.occupancy.as_ref()?;
        let peak = Peak::of(m, t_e_s)?;
        let utilisation = observed.utilisation.min(1.0);
        if utilisation.is_nan() || utilisation <= 0.0 {
            return None;
        }
        let others = (utilisation - lbp_share).clamp(0.0, 0.9);
        let samples = samples(occupancy, peak, utilisation, others);
        let there = means(&samples, others, 1.0)?;
        Some(Self {
            m,
            peak,
            samples,
            others,
            utilisation,
            delay_mean_ms: observed.delay_mean_ms,
            there,
        })
    }

    fn at_scale(&self, k: f64) -> Option<Means> {
        means(&self.samples, self.others, k)
    }

    /// Utilisation at a scale: what is idle above the limit in force, and what is
    /// used below it, in proportion, so that there it is exactly what was
    /// measured.
    fn utilisation_of(&self, means: &Means) -> f64 {
        let (now, there) = (self.utilisation, self.there.utilisation);
        if means.utilisation <= there {
            return now * means.utilisation / there;
        }
        let idle = (1.0 - means.utilisation).max(0.0) / (1.0 - there).max(1e-9);
        1.0 - (1.0 - now) * idle.min(1.0)
    }

    /// Utilisation when all flows halve at once, not above `scaled`.
    fn synchronised(&self, k: f64, scaled: f64) -> f64 {
        let peak = k * self.peak.over_bdp();
        match predict::swing(ALL_AT_ONCE * peak, peak) {
            Ok(s) => (self.others + (1.0 - self.others) * s.utilisation).min(scaled),
            Err(_) => scaled,
        }
    }

    fn expected(&self, k: f64) -> f64 {
        let scaled = self.utilisation_of(&self.at_scale(k).unwrap_or(self.there));
        let more = (1.0 - k * k).max(0.0);
        scaled - more * (scaled - self.synchronised(k, scaled))
    }

    /// Utilisation expected at a limit.
    ///
    /// # Errors
    /// `buffer_bytes` below 0.
    pub fn utilisation_at(&self, buffer_bytes: f64) -> Result<f64, RuleError> {
        let b = not_negative("B (bytes)", buffer_bytes)?;
        Ok(self.expected(self.peak.scale(b)))
    }

    /// The same with the range left by the number of loss events seen, Tₑ, Cₑ
    /// and the exponent.
    ///
    /// # Errors
    /// As [`Self::utilisation_at`].
    pub fn interval_at(&self, buffer_bytes: f64) -> Result<Interval, RuleError> {
        let value = self.utilisation_at(buffer_bytes)?;
        let (mut low, mut high) = (value, value);
        let error = Z90 / loss_events(self.m).sqrt();
        for t_e_s in [self.m.t_e_s.low, self.m.t_e_s.value, self.m.t_e_s.high] {
            for share in [self.m.c_e_share.low, self.m.c_e_share.high] {
                let Some(other) = Self::with(self.m, t_e_s, share) else {
                    continue;
                };
                for exponent in exponents(self.m) {
                    let k = other.peak.scale(buffer_bytes).powf(exponent);
                    let Some(means) = other.at_scale(k) else {
                        continue;
                    };
                    let u = other.utilisation_of(&means);
                    let least = if k < 1.0 { other.synchronised(k, u) } else { u };
                    low = low.min(least - error * means.deviation);
                    high = high.max(u + error * means.deviation);
                }
            }
        }
        Ok(Interval::new(value, low.max(0.0), high.min(1.0)))
    }

    /// Mean queueing delay expected at a limit, ms.
    ///
    /// # Errors
    /// As [`Self::utilisation_at`].
    pub fn mean_delay_ms_at(&self, buffer_bytes: f64) -> Result<f64, RuleError> {
        let b = not_negative("B (bytes)", buffer_bytes)?;
        let means = self.at_scale(self.peak.scale(b)).unwrap_or(self.there);
        Ok(self.delay_of(&means))
    }

    fn delay_of(&self, means: &Means) -> f64 {
        let more = (means.queue_bdp - self.there.queue_bdp) * self.peak.bdp_bytes
            / self.m.drain_bytes_per_s();
        (self.delay_mean_ms + more * 1e3).max(0.0)
    }

    /// The same with its range.
    ///
    /// # Errors
    /// As [`Self::utilisation_at`].
    pub fn delay_interval_at(&self, buffer_bytes: f64) -> Result<Interval, RuleError> {
        let value = self.mean_delay_ms_at(buffer_bytes)?;
        let (mut low, mut high) = (value, value);
        for t_e_s in [self.m.t_e_s.low, self.m.t_e_s.high] {
            let Some(other) = Self::with(self.m, t_e_s, self.m.c_e_share.value) else {
                continue;
            };
            for exponent in exponents(self.m) {
                let k = other.peak.scale(buffer_bytes).powf(exponent);
                if let Some(means) = other.at_scale(k) {
                    low = low.min(other.delay_of(&means));
                    high = high.max(other.delay_of(&means));
                }
            }
        }
        Ok(Interval::new(value, low, high))
    }

    /// Smallest buffer with an expected utilisation of `target` (of [`FULL`]
    /// where more is asked), up to `largest_bytes`; `None` when that is not
    /// enough.
    pub fn buffer_for(&self, target: f64, largest_bytes: f64) -> Option<f64> {
        let target = target.min(FULL);
        let meets = |b: f64| self.utilisation_at(b).is_ok_and(|u| u >= target - 1e-12);
        if meets(0.0) {
            return Some(0.0);
        }
        if !meets(largest_bytes) {
            return None;
        }
        let (mut low, mut high) = (0.0, largest_bytes);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if meets(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }

    /// Lowest aggregate window over the peak, as measured: its 5th percentile
    /// over rounds.
    pub fn lowest_over_peak(&self) -> f64 {
        let total: f64 = self.samples.iter().map(|s| s.rounds).sum();
        let mut sorted: Vec<&Sample> = self.samples.iter().collect();
        sorted.sort_by(|a, b| a.window.total_cmp(&b.window));
        let mut before = 0.0;
        let peak = self.peak.over_bdp();
        for s in sorted {
            before += s.rounds;
            if before >= 0.05 * total {
                return (s.window / peak).min(1.0);
            }
        }
        1.0
    }
}

/// The windows behind the occupancy met by arrivals. Time is counted in services
/// per arrival: every arrival stands for one, and 1/utilisation − 1 of idle time
/// is spread over those that met least.
fn samples(occupancy: &Occupancy, peak: Peak, utilisation: f64, others: f64) -> Vec<Sample> {
    let empty = if occupancy.bytes.is_empty() {
        1.0
    } else {
        occupancy.met_empty.clamp(0.0, 1.0)
    };
    let idle = (1.0 / utilisation - 1.0 / FULL).max(0.0);
    let lowest = (ALL_AT_ONCE * peak.over_bdp()).clamp(0.0, 0.9);
    // Mean utilisation of the evenly spread: f/(f + idle), f the arrivals.
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
    // Those left, from the ones that met least.
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

/// Means over the samples with every window multiplied by `k`.
fn means(samples: &[Sample], others: f64, k: f64) -> Option<Means> {
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

#[cfg(test)]
mod tests;
