// SPDX-License-Identifier: Apache-2.0
//! The operator's targets, and the advisor's options.

use serde::{Deserialize, Serialize};

/// One of the operator's three targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// High utilisation: at least this share of the capacity is used.
    Utilisation,
    /// Low loss: at most this ratio of drops to arrivals.
    Loss,
    /// Short queue: at most this queueing delay.
    Delay,
}

impl Goal {
    /// Name of the goal in sentences.
    pub fn label(self) -> &'static str {
        match self {
            Goal::Utilisation => "utilisation",
            Goal::Loss => "loss",
            Goal::Delay => "delay",
        }
    }
}

/// The operator's targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Targets {
    /// ρ̂: smallest utilisation, fraction; 0 = no target.
    pub utilisation: f64,
    /// p̂: largest loss rate, fraction; `None` = no bound.
    pub loss_rate: Option<f64>,
    /// d̂: largest queueing delay, ms; `None` = no bound.
    pub delay_ms: Option<f64>,
    /// Order in which targets are kept if they cannot all be met; targets that are not listed come
    /// after those that are.
    pub priority: Vec<Goal>,
    /// Probability with which each target is to be met at the advised limit, from 0.5 (as likely as
    /// not) to 0.99.
    pub confidence: f64,
    /// Safety margin, fraction: the advice aims at bounds of loss, delay and unused capacity that
    /// are lower by this fraction.
    pub margin: f64,
}

impl Default for Targets {
    fn default() -> Self {
        Self {
            utilisation: 0.98,
            loss_rate: Some(0.01),
            delay_ms: None,
            priority: vec![Goal::Utilisation, Goal::Loss, Goal::Delay],
            confidence: 0.9,
            margin: 0.0,
        }
    }
}

impl Targets {
    /// Returns all three goals in the order in which they are kept.
    pub fn order(&self) -> Vec<Goal> {
        let mut order: Vec<Goal> = Vec::with_capacity(3);
        let rest = [Goal::Utilisation, Goal::Loss, Goal::Delay];
        for &goal in self.priority.iter().chain(&rest) {
            if !order.contains(&goal) {
                order.push(goal);
            }
        }
        order
    }
}

impl Targets {
    /// Checks the values.
    ///
    /// # Errors
    /// The first value out of range, in words, with `key` in front of its name.
    pub fn check(&self, key: &str) -> Result<(), String> {
        let unless = |sense: bool, what: String| {
            if sense {
                Ok(())
            } else {
                Err(format!("{key}{what}"))
            }
        };
        let (u, confidence, margin) = (self.utilisation, self.confidence, self.margin);
        unless(
            (0.0..=1.0).contains(&u),
            format!("utilisation: {u} is not a fraction between 0 (none asked for) and 1"),
        )?;
        if let Some(p) = self.loss_rate {
            unless(
                p > 0.0 && p < 1.0,
                format!("loss_rate: {p} is not a fraction between 0 and 1"),
            )?;
        }
        if let Some(d) = self.delay_ms {
            unless(
                d > 0.0 && d.is_finite(),
                format!("delay_ms: {d} is not a time above 0"),
            )?;
        }
        unless(
            (0.5..=0.99).contains(&confidence),
            format!("confidence: {confidence} is not between 0.5 and 0.99"),
        )?;
        unless(
            (0.0..1.0).contains(&margin),
            format!("margin: {margin} is not a fraction of at least 0 and below 1"),
        )?;
        let twice = |g: &&Goal| self.priority.iter().filter(|o| o == g).count() > 1;
        self.priority.iter().find(twice).map_or(Ok(()), |goal| {
            Err(format!("{key}priority: {} is named twice", goal.label()))
        })
    }

    /// Returns the targets that the advice aims at: the bounds tightened by the margin.
    pub fn aimed(&self) -> Self {
        let within = 1.0 - self.margin;
        Self {
            utilisation: 1.0 - (1.0 - self.utilisation) * within,
            loss_rate: self.loss_rate.map(|p| p * within),
            delay_ms: self.delay_ms.map(|d| d * within),
            margin: 0.0,
            ..self.clone()
        }
    }
}

/// Options of the advisor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Smallest limit advised, segments: below about 20 packets bursts are lost at any load (UTB
    /// §3.6, NGI §IV-A).
    pub min_packets: f64,
    /// Largest limit the target can hold, bytes.
    pub max_bytes: Option<f64>,
    /// Limits are rounded up to a multiple of this (cell size of the target).
    pub unit_bytes: f64,
    /// Limit advised before for the same traffic and the same limit in force, bytes: the advice
    /// keeps it unless the new one differs by more than the uncertainty.
    #[serde(skip)]
    pub kept_bytes: Option<u64>,
    /// Interval that was advised with `kept_bytes`, bytes.
    #[serde(skip)]
    pub kept_interval: Option<[f64; 2]>,
    /// δ of UTB Theorem 8: accepted probability that the queue empties.
    pub bbr_delta: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            min_packets: 20.0,
            max_bytes: None,
            unit_bytes: 1.0,
            kept_bytes: None,
            kept_interval: None,
            bbr_delta: 0.01,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_makes_no_sense_is_named() {
        let wrong = |change: fn(&mut Targets)| {
            let mut targets = Targets::default();
            change(&mut targets);
            targets.check("targets.").unwrap_err()
        };
        assert_eq!(Targets::default().check("targets."), Ok(()));
        let said = wrong(|t| t.utilisation = f64::NAN);
        assert!(said.starts_with("targets.utilisation: NaN"), "{said}");
        let said = wrong(|t| t.loss_rate = Some(7.0));
        assert!(said.starts_with("targets.loss_rate: 7 is not"), "{said}");
        let said = wrong(|t| t.priority = vec![Goal::Loss, Goal::Delay, Goal::Loss]);
        assert!(
            said.starts_with("targets.priority: loss is named"),
            "{said}"
        );
    }
}
