// SPDX-License-Identifier: Apache-2.0
//! The conclusion about a link's buffer: too big, fine, too small, or the missing measurement. One
//! value for the page, the command line, the API, metrics and records.

mod words;

pub use words::size;

use crate::advise::advise;
use crate::answer::Advice;
use crate::outlook::Outlook;
use crate::prediction::{MeasuredLimit, WhatIfPoint};
use serde::{Deserialize, Serialize};
use tidemark_rules::{Options, Targets, Traffic};

/// Version of the verdict's format, for readers of stored verdicts.
pub const VERSION: u32 = 1;

/// Number of points of the curve between the measured limits.
const POINTS: usize = 24;
/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The targets hold with less buffer, and a change would save enough.
    TooBig,
    /// The limit in force lies in the advised interval and is kept.
    Fine,
    /// A target is missed, and more buffer helps.
    TooSmall,
    /// `cannot_say` gives the reason, and the measurement that would decide.
    CannotSay,
}

impl Answer {
    /// Returns the answer in words.
    pub fn label(self) -> &'static str {
        match self {
            Answer::TooBig => "too big",
            Answer::Fine => "fine",
            Answer::TooSmall => "too small",
            Answer::CannotSay => "cannot say",
        }
    }

    /// Returns the answer as a number: 1 too big, 0 fine, −1 too small.
    pub fn sign(self) -> Option<f64> {
        match self {
            Answer::TooBig => Some(1.0),
            Answer::Fine => Some(0.0),
            Answer::TooSmall => Some(-1.0),
            Answer::CannotSay => None,
        }
    }
}

/// The size of a paper's rule, and whether its assumptions hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RuleTick {
    /// Identifier of the rule.
    pub id: String,
    /// Display name of the rule.
    pub name: String,
    /// Buffer of the rule, bytes.
    pub bytes: f64,
    /// Whether all its assumptions hold; null if unknown.
    pub holds: Option<bool>,
}

/// The amount of evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Evidence {
    /// Time measured at the limit in force, s; null if unknown.
    pub seconds: Option<f64>,
    /// Loss events at the limit in force.
    pub loss_events: f64,
    /// Number of other limits that were measured under this traffic.
    pub limits_tried: usize,
    /// Share of the bytes that belong to classified flows; null if unknown.
    pub understood: Option<f64>,
}

/// The conclusion about a link's buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verdict {
    /// Version of the format.
    pub version: u32,
    /// The answer.
    pub answer: Answer,
    /// Reason why there is no answer, and the measurement that would decide.
    pub cannot_say: Option<String>,
    /// The limit in force, bytes; null if unknown or if there is none.
    pub in_force_bytes: Option<f64>,
    /// Lower end of the acceptable limits, bytes.
    pub low_bytes: Option<u64>,
    /// The limit to set, bytes.
    pub set_bytes: Option<u64>,
    /// Upper end of the acceptable limits, bytes.
    pub high_bytes: Option<u64>,
    /// The targets on which the answer is based.
    #[serde(default)]
    pub targets: Targets,
    /// Rate at which the queue drains, bytes per second as the queue counts them.
    #[serde(default)]
    pub drain_bytes_per_s: Option<f64>,
    /// Packet size of the flows, bytes as the queue counts them.
    #[serde(default)]
    pub packet_bytes: Option<f64>,
    /// Smallest of the targets' probabilities of being met at `set_bytes`.
    pub chance: Option<f64>,
    /// The limit towards which `set_bytes` is a step, bytes; null if it is not a step.
    #[serde(default)]
    pub towards_bytes: Option<u64>,
    /// Reason of the answer, one sentence.
    pub because: String,
    /// The derivation of the answer, in sentences.
    pub reasons: Vec<String>,
    /// All measured limits, starting with the one in force.
    pub measured: Vec<MeasuredLimit>,
    /// Expected outcome over the limit; at measured limits the measurement. Omitted from lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<WhatIfPoint>,
    /// Model of the loss rate between the measured limits.
    pub loss_by: Option<String>,
    /// Model of the utilisation between the measured limits.
    pub utilisation_by: Option<String>,
    /// The papers' sizes. Omitted from lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleTick>,
    /// The amount of evidence.
    pub evidence: Evidence,
    /// The limits beyond which the answer would change, in words.
    pub would_change: Vec<String>,
}

impl Verdict {
    /// Returns the verdict on a traffic, with its curve.
    pub fn of(traffic: &Traffic, targets: &Targets, options: &Options) -> Self {
        Self::by(&advise(traffic, targets, options), traffic, targets).with_curve(traffic)
    }

    /// Returns the verdict that follows from an advice, without the curve.
    pub fn by(advice: &Advice, traffic: &Traffic, targets: &Targets) -> Self {
        let outlook = Outlook::of(traffic).ok();
        let interval = advice.interval_bytes;
        let dropped = traffic.observed.filter(|o| o.drops > 0);
        let mut verdict = Self {
            version: VERSION,
            answer: answer(advice),
            cannot_say: None,
            in_force_bytes: traffic.limit_bytes.filter(|&b| b > 0.0),
            low_bytes: interval.map(|i| i[0].floor() as u64),
            set_bytes: advice.limit_bytes,
            high_bytes: interval.map(|i| i[1].ceil() as u64),
            targets: targets.clone(),
            drain_bytes_per_s: Some(traffic.drain_bytes_per_s()).filter(|&d| d > 0.0),
            packet_bytes: Some(traffic.segment_bytes).filter(|&b| b > 0.0),
            chance: advice.chance,
            towards_bytes: advice.towards_bytes,
            because: String::new(),
            reasons: advice.reasons.clone(),
            measured: outlook.iter().flat_map(Outlook::measurements).collect(),
            curve: Vec::new(),
            loss_by: outlook.as_ref().map(|o| o.loss_by().id.into()),
            utilisation_by: outlook.as_ref().map(|o| o.utilisation_by().id.into()),
            rules: ticks(advice),
            evidence: Evidence {
                seconds: (traffic.seconds > 0.0).then_some(traffic.seconds),
                loss_events: dropped.map_or(0.0, |_| traffic.loss_events()),
                limits_tried: traffic.tried.len(),
                understood: traffic.understood,
            },
            would_change: words::would_change(advice),
        };
        verdict.cannot_say = verdict.no_answer(advice, traffic, outlook.as_ref());
        if verdict.cannot_say.is_some() {
            verdict.answer = Answer::CannotSay;
        }
        verdict.because = verdict.sentence(traffic, targets, advice);
        verdict
    }

    /// Adds the expected outcome over the limit to the verdict.
    pub fn with_curve(mut self, traffic: &Traffic) -> Self {
        self.curve = Outlook::of(traffic)
            .map(|o| self.points(&o))
            .unwrap_or_default();
        self
    }

    /// Returns the curve, including the measured and the advised limits.
    fn points(&self, outlook: &Outlook<'_>) -> Vec<WhatIfPoint> {
        let known = self.measured.iter().map(|m| m.limit_bytes);
        let named = [self.low_bytes, self.set_bytes, self.high_bytes];
        let mut limits: Vec<f64> = known
            .chain(named.into_iter().flatten().map(|b| b as f64))
            .collect();
        limits.retain(|&b| b >= 1.0);
        let (low, high) = limits
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(l, h), &b| (l.min(b), h.max(b)));
        if !low.is_finite() {
            return Vec::new();
        }
        let (low, ratio) = (low / 4.0, 16.0 * high / low);
        limits.extend((0..POINTS).map(|i| low * ratio.powf(i as f64 / (POINTS - 1) as f64)));
        limits.sort_by(f64::total_cmp);
        limits.dedup_by(|a, b| (*a / *b - 1.0).abs() < 1e-6);
        let point = |buffer_bytes| {
            outlook.at(buffer_bytes).ok().map(|predicted| WhatIfPoint {
                buffer_bytes,
                predicted,
            })
        };
        limits.into_iter().filter_map(point).collect()
    }
}

fn answer(advice: &Advice) -> Answer {
    let in_force = advice.present.as_ref().map(|p| p.limit_bytes);
    match (in_force.filter(|&b| b > 0.0), advice.limit_bytes) {
        // A limit is a whole number of bytes and of the switch's units.
        (Some(b), Some(set)) if set as f64 > b + 1.0 => Answer::TooSmall,
        (Some(b), Some(set)) if (set as f64) < b - 1.0 => Answer::TooBig,
        (Some(_), Some(_)) => Answer::Fine,
        _ => Answer::CannotSay,
    }
}

fn ticks(advice: &Advice) -> Vec<RuleTick> {
    let sized = advice
        .rules
        .iter()
        .filter_map(|r| Some((r, r.buffer_bytes?)));
    sized
        .map(|(r, bytes)| RuleTick {
            id: r.id.to_string(),
            name: r.name.clone(),
            bytes,
            holds: if r.assumptions.iter().any(|a| a.holds == Some(false)) {
                Some(false)
            } else if r.assumptions.iter().any(|a| a.holds.is_none()) {
                None
            } else {
                Some(true)
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_measurement_nothing_is_concluded() {
        let m = Traffic::described(50e6, 0.06, 20.0, 1500.0);
        let v = Verdict::of(&m, &Targets::default(), &Options::default());
        assert_eq!(v.answer, Answer::CannotSay);
        assert!(v.because.contains("nothing was measured"), "{}", v.because);
        assert!(v.set_bytes.is_some());
        let json = serde_json::to_string(&v).unwrap();
        let read: Verdict = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (read.answer, read.set_bytes, read.because),
            (v.answer, v.set_bytes, v.because)
        );
    }
}
