// SPDX-License-Identifier: Apache-2.0
//! The verdict in words: the reason, why there is no answer, and what would change it.

use super::{Answer, Verdict};
use crate::answer::Advice;
use crate::outlook::Outlook;
use tidemark_rules::{Goal, Targets, Traffic};

/// Largest share of lost reports at which a conclusion is drawn.
const MOST_LOST: f64 = 0.1;
/// Smallest share of bytes of classified flows for a conclusion without a trusted law.
const LEAST_UNDERSTOOD: f64 = 0.5;
/// Shortest measured time at which a conclusion is drawn, s.
const LEAST_S: f64 = 5.0;
/// Largest ratio of the interval's ends at which it does not cover both answers.
const WIDEST: f64 = 8.0;

impl Verdict {
    /// Returns the answer and its limits on one line: "buffer too big: 250 kB in force, 41.0 kB to
    /// 63.1 kB serve; set 50.2 kB (90 % sure)".
    pub fn headline(&self) -> String {
        let bytes = |b: u64| size(b as f64);
        let mut parts = Vec::new();
        parts.extend(self.in_force_bytes.map(|b| format!("{} in force", size(b))));
        let range = self.low_bytes.zip(self.high_bytes);
        parts.extend(range.map(|(l, h)| format!("{} to {} serve", bytes(l), bytes(h))));
        let set = self.set_bytes.map(|set| {
            let why = match (self.towards_bytes, self.chance) {
                (Some(aim), _) => format!(" (a step towards {})", bytes(aim)),
                (None, Some(p)) => format!(" ({:.0} % sure)", p * 100.0),
                (None, None) => String::new(),
            };
            format!("; set {}{why}", bytes(set))
        });
        let answer = match self.in_force_bytes {
            None if set.is_some() => "buffer".to_owned(),
            _ => format!("buffer {}", self.answer.label()),
        };
        let limits = parts.join(", ") + set.as_deref().unwrap_or("");
        if limits.is_empty() {
            answer
        } else {
            format!("{answer}: {limits}")
        }
    }

    /// Returns why nothing can be concluded.
    pub(super) fn no_answer(
        &self,
        advice: &Advice,
        m: &Traffic,
        outlook: Option<&Outlook<'_>>,
    ) -> Option<String> {
        let Some(set) = advice.limit_bytes else {
            let why = advice.reasons.iter().find(|r| r.starts_with("no advice"));
            return Some(why.map_or("too little was measured", |r| r).into());
        };
        let lost = m.reports_lost.unwrap_or(0.0);
        if lost > MOST_LOST {
            return Some(format!(
                "{:.0} % of the reports were lost: fix their path to the collector first",
                lost * 100.0
            ));
        }
        if m.seconds > 0.0 && m.seconds < LEAST_S {
            return Some(format!(
                "only {:.1} s were measured; wait for {LEAST_S:.0} s",
                m.seconds
            ));
        }
        let Some(in_force) = self.in_force_bytes else {
            return Some(match m.observed {
                Some(_) => format!(
                    "no limit in force is known: set {} and measure",
                    size(set as f64)
                ),
                None => format!(
                    "nothing was measured: {} is what the models expect{}",
                    size(set as f64),
                    given_up(advice)
                ),
            });
        };
        let trusted = outlook.is_some_and(Outlook::by_law);
        let understood = m.understood.unwrap_or(1.0);
        if !trusted && understood < LEAST_UNDERSTOOD && m.tried.is_empty() {
            return Some(format!(
                "{:.0} % of the bytes belong to flows that were not classified, and no other limit was measured: a trial at {} would decide",
                (1.0 - understood) * 100.0,
                size(trial(in_force, set as f64))
            ));
        }
        let (low, high) = (self.low_bytes? as f64, self.high_bytes? as f64);
        let wide = high / low.max(1.0) > WIDEST && (low..=high).contains(&in_force);
        (wide && !trusted && m.tried.is_empty()).then(|| {
            format!(
                "the range of limits that may serve, {} to {}, covers both answers: a trial at {} would decide",
                size(low),
                size(high),
                size((low * in_force).sqrt())
            )
        })
    }

    /// Returns the reason of the answer.
    pub(super) fn sentence(&self, m: &Traffic, targets: &Targets, advice: &Advice) -> String {
        if let Some(why) = &self.cannot_say {
            return why.clone();
        }
        let set = self.set_bytes.unwrap_or(0) as f64;
        let chance = self.chance.unwrap_or(0.0);
        let there = m.observed.map(|o| {
            let lost = targets.loss_rate.map_or(String::new(), |p| {
                format!(" and loss {} for {}", percent(o.loss_rate), percent(p))
            });
            let used = format!(
                "utilisation is {} for {}",
                percent(o.utilisation),
                percent(targets.utilisation)
            );
            format!("{used}{lost}")
        });
        let there = there.unwrap_or_else(|| "nothing was measured".into());
        let in_force = size(self.in_force_bytes.unwrap_or(0.0));
        let missed = advice.present.as_ref().map_or(&[][..], |p| &p.missed);
        let but = given_up(advice);
        match self.answer {
            Answer::Fine if missed.is_empty() => {
                format!("at {in_force} {there}: less buffer would gain little{but}")
            }
            Answer::Fine => format!(
                "at {in_force} {there}: {} missed, and no other limit is expected to do better{but}",
                labels(missed)
            ),
            _ if self.towards_bytes.is_some() => format!(
                "at {in_force} {there}; {} is a step towards {}, which is too far from what was measured{but}",
                size(set),
                size(self.towards_bytes.unwrap_or(0) as f64)
            ),
            Answer::TooBig | Answer::TooSmall => format!(
                "at {in_force} {there}; {} meets the targets with a probability of {:.0} %{but}",
                size(set),
                chance * 100.0
            ),
            Answer::CannotSay => String::new(),
        }
    }
}

fn labels(goals: &[Goal]) -> String {
    goals
        .iter()
        .map(|g| g.label())
        .collect::<Vec<_>>()
        .join(" and ")
}

/// Names the targets that no limit is expected to meet, as the end of a sentence.
fn given_up(advice: &Advice) -> String {
    advice.infeasible.as_ref().map_or(String::new(), |i| {
        format!("; no limit is expected to meet {}", labels(&i.given_up))
    })
}

/// Returns a limit on the way to the advised one that is near enough to try.
fn trial(in_force: f64, set: f64) -> f64 {
    set.clamp(in_force / 2.0, in_force * 2.0)
}

/// Describes the limits beyond which the answer would change.
pub(super) fn would_change(advice: &Advice) -> Vec<String> {
    let mut all = Vec::new();
    if let Some([low, high]) = advice.interval_bytes {
        let by = match advice.decided_by {
            Some(Goal::Utilisation) => "utilisation is more likely missed than met",
            Some(Goal::Loss) => "loss is more likely above its bound than below",
            _ => "a target is more likely missed than met",
        };
        all.push(format!("below {} {by}", size(low)));
        all.push(format!(
            "above {} less buffer is worth a change",
            size(high)
        ));
    }
    all
}

/// Formats a size with three significant digits.
pub fn size(bytes: f64) -> String {
    let (value, unit) = match bytes {
        b if b >= 999.5e3 => (b / 1e6, "MB"),
        b if b >= 999.5 => (b / 1e3, "kB"),
        b => (b, "B"),
    };
    let decimals = match value {
        v if unit == "B" || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// Formats a fraction as a percentage, with about three significant digits if small.
fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let decimals = match percent.abs() {
        p if p >= 9.995 => 1,
        p if p >= 0.0995 || p == 0.0 => 2,
        _ => 3,
    };
    format!("{percent:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let shown = [
            (312_500.0, "312 kB"),
            (1_514.0, "1.51 kB"),
            (30_280.0, "30.3 kB"),
            (999_600.0, "1.00 MB"),
            (20.0, "20 B"),
        ];
        for (bytes, words) in shown {
            assert_eq!(size(bytes), words);
        }
        assert_eq!(percent(0.98), "98.0 %");
        assert_eq!(percent(0.00575), "0.57 %");
        assert_eq!(percent(0.00012), "0.012 %");
    }
}
