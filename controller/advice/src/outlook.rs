// SPDX-License-Identifier: Apache-2.0
//! Predictions over the limit: the measurements, and between and beyond them the first model that
//! applies.
//!
//! At a measured limit the prediction is the measurement. A model's curve f only gives the values
//! between: loss is c(B)·f(B), with c(B) = p/f at each measured limit, ln c linear in ln B between
//! two of them and constant beyond; utilisation and mean delay use the difference instead of the
//! ratio. The range is the model's as seen from the limit in force; next to another measured limit
//! the distance from that limit counts. Differences between two measurements correct the curve only
//! as far as they exceed their sampling errors.

use crate::models::reductions::overshoot_bytes;
use crate::models::sampling::{LOSS_BETWEEN_RUNS, UTILISATION_BETWEEN_RUNS, Z90, others};
use crate::models::{Curve, MODELS, Model, envelope, formula};
use crate::prediction::{MeasuredLimit, Prediction, WhatIfPoint};
use std::f64::consts::SQRT_2;
use tidemark_rules::error::{RuleError, not_negative, positive};
use tidemark_rules::{Range, RuleId, Traffic};

/// A curve and its model.
struct Part<'a> {
    by: &'static Model,
    curve: Curve<'a>,
}

impl Part<'_> {
    fn at(&self, bytes: f64) -> Result<Range, RuleError> {
        (self.curve)(bytes)
    }
}

/// A measured limit, and the deviation of the measurement from the curves there.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    ln_bytes: f64,
    /// ln(p/f); 0 if either is 0.
    loss: f64,
    utilisation: f64,
    delay_mean_ms: f64,
}

/// Returns the part of a difference between two measurements that is not chance: δ³/(δ² + σ²).
fn believed(difference: f64, variance: f64) -> f64 {
    let square = difference * difference;
    difference * square / (square + variance).max(f64::MIN_POSITIVE)
}

/// Predicted utilisation, loss and delay of a link over the limit.
pub struct Outlook<'a> {
    m: &'a Traffic,
    utilisation: Part<'a>,
    loss_rate: Part<'a>,
    delay_mean_ms: Part<'a>,
    delay_ms: Part<'a>,
    /// Measured limits, ascending, including the limit in force.
    anchors: Vec<Anchor>,
    in_force: Option<f64>,
    /// The curve's loss rate at the limit in force, if nothing was lost there.
    unlost: Option<f64>,
}

impl<'a> Outlook<'a> {
    /// Fits the models to a traffic.
    ///
    /// # Errors
    /// Unknown capacity or segment size, or a quantity out of range.
    pub fn of(m: &'a Traffic) -> Result<Self, RuleError> {
        positive("queue drain rate (bits/s)", m.queue_drain_bps)?;
        positive("M (bytes)", m.segment_bytes)?;
        let (mut utilisation, mut loss_rate) = (None, None);
        let (mut delay_mean_ms, mut delay_ms) = (None, None);
        for by in MODELS {
            let Some(curves) = (by.fit)(m) else { continue };
            for (known, of) in [
                (&mut utilisation, curves.utilisation),
                (&mut loss_rate, curves.loss_rate),
                (&mut delay_mean_ms, curves.delay_mean_ms),
                (&mut delay_ms, curves.delay_ms),
            ] {
                if known.is_none() {
                    *known = of.map(|curve| Part { by, curve });
                }
            }
        }
        let missing = || RuleError {
            name: "models that apply",
            value: 0.0,
            must: "one for each quantity",
        };
        let mut outlook = Self {
            m,
            utilisation: utilisation.ok_or_else(missing)?,
            loss_rate: loss_rate.ok_or_else(missing)?,
            delay_mean_ms: delay_mean_ms.ok_or_else(missing)?,
            delay_ms: delay_ms.ok_or_else(missing)?,
            anchors: Vec::new(),
            in_force: None,
            unlost: None,
        };
        outlook.anchor()?;
        Ok(outlook)
    }

    /// Returns the model of the loss rate.
    pub fn loss_by(&self) -> &'static Model {
        self.loss_rate.by
    }

    /// Returns the model of the utilisation.
    pub fn utilisation_by(&self) -> &'static Model {
        self.utilisation.by
    }

    /// Whether loss and utilisation follow from laws of the traffic and not only from an envelope.
    pub fn by_law(&self) -> bool {
        let mere = [envelope::MODEL.id, formula::MODEL.id];
        let by = [self.loss_rate.by.id, self.utilisation.by.id];
        self.in_force.is_none() || by.iter().all(|id| !mere.contains(id))
    }

    /// Returns the limits that were measured, bytes.
    pub fn measured_limits(&self) -> impl Iterator<Item = f64> {
        self.anchors.iter().map(|a| a.ln_bytes.exp())
    }

    /// Returns the measurements, starting with the limit in force.
    pub fn measurements(&self) -> impl Iterator<Item = MeasuredLimit> {
        let m = self.m;
        let here = self.in_force.zip(m.observed).map(|(limit, o)| {
            let events = if o.drops > 0 { m.loss_events() } else { 0.0 };
            let used_error = m.batches.utilisation_error().unwrap_or(0.0);
            (
                limit,
                (o.utilisation, used_error),
                o.loss_rate,
                o.delay_mean_ms,
                events,
            )
        });
        let tried = others(m).map(|t| {
            (
                t.limit_bytes,
                (t.utilisation, 0.0),
                t.loss_rate,
                t.delay_mean_ms,
                t.loss_events,
            )
        });
        here.into_iter().chain(tried).map(
            |(limit_bytes, (used, used_error), lost, delay_mean_ms, loss_events)| {
                let sampled = Z90 * LOSS_BETWEEN_RUNS.hypot(loss_events.max(1.0).powf(-0.5));
                let idle = ((1.0 - used) * sampled)
                    .max(UTILISATION_BETWEEN_RUNS)
                    .max(used_error);
                MeasuredLimit {
                    limit_bytes,
                    utilisation: Range::new(used, used - idle, (used + idle).min(used.max(1.0))),
                    loss_rate: Range::new(
                        lost,
                        lost * (-sampled).exp(),
                        (lost * sampled.exp()).min(1.0),
                    ),
                    delay_mean_ms,
                    loss_events,
                }
            },
        )
    }

    /// Returns the identifier of the decision for a measured limit.
    pub(crate) fn measured_as(&self, bytes: f64) -> RuleId {
        match self.in_force {
            Some(b) if (b / bytes - 1.0).abs() < 1e-6 => RuleId::LimitInForce,
            _ => RuleId::LimitTried,
        }
    }

    /// Compares the curves with the measurements.
    fn anchor(&mut self) -> Result<(), RuleError> {
        let m = self.m;
        let here = m.limit_bytes.filter(|&b| b > 0.0).zip(m.observed);
        let Some((in_force, observed)) = here else {
            return Ok(());
        };
        let curve = self.loss_rate.at(in_force)?.value;
        let lost = observed.loss_rate.clamp(0.0, 1.0);
        if lost <= 0.0 {
            self.unlost = Some(curve);
        }
        let here = Anchor {
            ln_bytes: in_force.ln(),
            loss: if lost > 0.0 && curve > 0.0 {
                (lost / curve).ln()
            } else {
                0.0
            },
            utilisation: observed.utilisation.clamp(0.0, 1.0)
                - self.utilisation.at(in_force)?.value,
            delay_mean_ms: observed.delay_mean_ms - self.delay_mean_ms.at(in_force)?.value,
        };
        self.anchors.push(here);
        let variance = |events: f64| 1.0 / events.max(1.0) + LOSS_BETWEEN_RUNS * LOSS_BETWEEN_RUNS;
        for tried in others(m).filter(|t| t.limit_bytes > 0.0) {
            let (bytes, lost) = (tried.limit_bytes, tried.loss_rate.clamp(0.0, 1.0));
            let curve = self.loss_rate.at(bytes)?.value * here.loss.exp();
            let off = if lost > 0.0 && curve > 0.0 {
                (lost / curve).ln()
            } else {
                0.0
            };
            let by_chance = variance(m.loss_events()) + variance(tried.loss_events);
            let used = self.utilisation.at(bytes)?.value + here.utilisation;
            let off_used = tried.utilisation.clamp(0.0, 1.0) - used;
            let idle = (1.0 - tried.utilisation).max(0.0);
            let used_by_chance =
                (UTILISATION_BETWEEN_RUNS / Z90).powi(2) + idle * idle / tried.loss_events.max(1.0);
            self.anchors.push(Anchor {
                ln_bytes: bytes.ln(),
                loss: here.loss + believed(off, by_chance),
                utilisation: here.utilisation + believed(off_used, used_by_chance),
                delay_mean_ms: tried.delay_mean_ms - self.delay_mean_ms.at(bytes)?.value,
            });
        }
        self.anchors
            .sort_by(|a, b| a.ln_bytes.total_cmp(&b.ln_bytes));
        self.in_force = Some(in_force);
        Ok(())
    }

    /// Returns the correction at a limit, interpolated between measured limits.
    fn correction(&self, ln_bytes: f64, of: fn(&Anchor) -> f64) -> f64 {
        let after = self.anchors.partition_point(|a| a.ln_bytes < ln_bytes);
        match (
            after.checked_sub(1).map(|i| &self.anchors[i]),
            self.anchors.get(after),
        ) {
            (Some(a), Some(b)) => {
                let part = (ln_bytes - a.ln_bytes) / (b.ln_bytes - a.ln_bytes).max(1e-9);
                of(a) + (of(b) - of(a)) * part
            }
            (Some(a), None) | (None, Some(a)) => of(a),
            (None, None) => 0.0,
        }
    }

    /// Returns the part of the model's range that remains: the ratio of the distances from the
    /// nearest measured limit and from the limit in force.
    fn open(&self, ln_bytes: f64) -> f64 {
        let Some(from) = self.in_force.filter(|_| self.anchors.len() > 1) else {
            return 1.0;
        };
        let distance = (ln_bytes - from.ln()).abs();
        let nearest = self.anchors.iter().map(|a| (ln_bytes - a.ln_bytes).abs());
        let nearest = nearest.fold(f64::INFINITY, f64::min);
        if distance <= 0.0 {
            1.0
        } else {
            (nearest / distance).min(1.0)
        }
    }

    /// Predicts the loss rate at a limit, drops over arrivals.
    ///
    /// # Errors
    /// `bytes` below 0.
    pub fn loss_at(&self, bytes: f64) -> Result<Range, RuleError> {
        let curve = self.loss_rate.at(not_negative("B (bytes)", bytes)?)?;
        let ln_bytes = bytes.max(1.0).ln();
        if let Some(there) = self.unlost.filter(|&f| f > 0.0) {
            let value = (curve.value - there).max(0.0);
            return Ok(Range::new(value, 0.0, curve.high));
        }
        let factor = self.correction(ln_bytes, |a| a.loss).exp();
        let sampled = (Z90 * LOSS_BETWEEN_RUNS.hypot(self.m.loss_events().powf(-0.5))).exp();
        let open = self.open(ln_bytes);
        let end = |end: f64, least: f64| {
            let ratio = end / curve.value;
            if open < 1.0 && ratio > 0.0 && ratio.is_finite() {
                let ratio = ratio.powf(open);
                curve.value
                    * if least > 1.0 {
                        ratio.max(least)
                    } else {
                        ratio.min(least)
                    }
            } else {
                end
            }
        };
        let at = |v: f64| (v * factor).min(1.0);
        Ok(Range::new(
            at(curve.value),
            at(end(curve.low, 1.0 / sampled)),
            at(end(curve.high, sampled)),
        ))
    }

    /// Predicts the utilisation at a limit, fraction.
    ///
    /// # Errors
    /// `bytes` below 0.
    pub fn utilisation_at(&self, bytes: f64) -> Result<Range, RuleError> {
        let curve = self.utilisation.at(not_negative("B (bytes)", bytes)?)?;
        let ln_bytes = bytes.max(1.0).ln();
        let (off, open) = (
            self.correction(ln_bytes, |a| a.utilisation),
            self.open(ln_bytes),
        );
        let at = |v: f64| (curve.value + (v - curve.value) * open + off).clamp(0.0, 1.0);
        let mut used = Range::new(at(curve.value), at(curve.low), at(curve.high));
        // Two measurements each have a sampling error.
        let by_chance = SQRT_2 * self.m.batches.utilisation_error().unwrap_or(0.0);
        used.widen((used.value - by_chance).max(0.0));
        used.widen((used.value + by_chance).min(1.0));
        Ok(used)
    }

    /// Predicts the largest queueing delay at a limit, ms.
    ///
    /// # Errors
    /// `bytes` below 0.
    pub fn delay_at(&self, bytes: f64) -> Result<Range, RuleError> {
        let delay = self.delay_ms.at(not_negative("B (bytes)", bytes)?)?;
        // Packets above a marking threshold are admitted until the flows respond: none of them, as
        // many as were measured, or twice as many.
        let Some(over) = overshoot_bytes(self.m, bytes) else {
            return Ok(delay);
        };
        let ms = over / self.m.drain_bytes_per_s() * 1e3;
        Ok(Range::new(
            delay.value + ms,
            delay.low,
            delay.high + 2.0 * ms,
        ))
    }

    /// Predicts all quantities at a limit.
    ///
    /// # Errors
    /// `bytes` below 0.
    pub fn at(&self, bytes: f64) -> Result<Prediction, RuleError> {
        let delay_ms = self.delay_at(bytes)?;
        let mean = self.delay_mean_ms.at(bytes)?;
        let off = self.correction(bytes.max(1.0).ln(), |a| a.delay_mean_ms);
        let most = delay_ms.value.max(0.0);
        let kept = |v: f64| (v + off).clamp(0.0, most);
        let measured = self.in_force.is_some() && self.loss_rate.by.id != formula::MODEL.id;
        Ok(Prediction {
            utilisation: self.utilisation_at(bytes)?,
            loss_rate: self.loss_at(bytes)?,
            delay_ms,
            delay_mean_ms: Range::new(kept(mean.value), kept(mean.low), kept(mean.high)),
            formula: if measured {
                formula::central(self.m, bytes).ok()
            } else {
                None
            },
        })
    }
}

/// Predicts the outcome at one limit.
///
/// # Errors
/// Unknown capacity or segment size, or a quantity out of range.
pub fn predict(m: &Traffic, buffer_bytes: f64) -> Result<Prediction, RuleError> {
    Outlook::of(m)?.at(buffer_bytes)
}

/// Predicts the outcomes at several limits, for charts.
///
/// # Errors
/// As for [`predict`].
pub fn what_if(
    m: &Traffic,
    buffers_bytes: impl IntoIterator<Item = f64>,
) -> Result<Vec<WhatIfPoint>, RuleError> {
    let outlook = Outlook::of(m)?;
    let point = |buffer_bytes| {
        Ok(WhatIfPoint {
            buffer_bytes,
            predicted: outlook.at(buffer_bytes)?,
        })
    };
    buffers_bytes.into_iter().map(point).collect()
}
