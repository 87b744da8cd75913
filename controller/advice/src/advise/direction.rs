// SPDX-License-Identifier: Apache-2.0
//! Direction of a change, by the measurement at the limit in force.

use crate::fit::Limit;
use crate::outlook::Outlook;
use crate::search::Needs;
use tidemark_rules::bisection::smallest_between;
use tidemark_rules::rule::Situation;
use tidemark_rules::{Goal, RuleId};

/// Relative saving of buffer that is worth a change while all targets hold.
const WORTH: f64 = 0.2;
/// Saving that is worth a change if the limit in force was called fine before, and below, if
/// another one was advised: an answer is kept until there is clear evidence against it.
const WORTH_AFTER_FINE: f64 = 0.35;
const WORTH_AFTER_ADVICE: f64 = 0.1;
/// Relative difference within which earlier advice is kept; below, that of the interval's ends.
const KEPT: f64 = 0.1;
const KEPT_END: f64 = 0.2;
/// Relative difference below which limits count as equal.
const SAME: f64 = 0.02;
/// Shortfall of the utilisation that does not count as a miss: the estimate fluctuates as much.
const UTILISATION_SLACK: f64 = 0.002;
/// Slack of a bound on loss or delay, relative.
const BOUND_SLACK: f64 = 0.05;
/// Largest factor of one step, up or down, if the traffic is not known to follow a law and no other
/// limit was tried.
const FIRST_STEP: f64 = 2.0;
/// Exponent of the loss, relative to the law's, assumed for the first step down: no target that
/// holds may be exceeded by more than [`BROKEN`], whatever the congestion control turns out to be.
const STEEPEST: f64 = 2.5;
const BROKEN: f64 = 1.2;
/// Share of drops or bytes of unrecognised flows from which this is assumed.
const UNKNOWN: f64 = 0.2;

/// Whether a target is met according to measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Met,
    /// Missed by no more than estimates fluctuate.
    Near,
    Missed,
}

/// Returns whether a goal is met at the limit in force; `None` if it is not measured or has no
/// target.
pub(crate) fn standing(s: &Situation<'_>, needs: &Needs, goal: Goal) -> Option<Standing> {
    needs.of(goal)?;
    let observed = s.traffic.observed?;
    let in_force = s.traffic.limit_bytes.filter(|&b| b > 0.0)?;
    let (met, near) = match goal {
        Goal::Utilisation => {
            let short = s.targets.utilisation - observed.utilisation;
            (short <= 0.0, short <= UTILISATION_SLACK)
        }
        Goal::Loss => {
            let over = observed.loss_rate / s.targets.loss_rate?;
            (over <= 1.0, over <= 1.0 + BOUND_SLACK)
        }
        Goal::Delay => {
            let over = in_force / needs.delay.as_ref()?.bytes;
            (over <= 1.0, over <= 1.0 + BOUND_SLACK)
        }
    };
    Some(match (met, near) {
        (true, _) => Standing::Met,
        (_, true) => Standing::Near,
        _ => Standing::Missed,
    })
}

/// Returns the goals missed by the measurement at the limit in force.
pub(crate) fn missed(s: &Situation<'_>, needs: &Needs) -> Vec<Goal> {
    let is_missed = |g: &Goal| standing(s, needs, *g) == Some(Standing::Missed);
    ALL.into_iter().filter(is_missed).collect()
}

fn is(s: &Situation<'_>, needs: &Needs, goals: &[Goal], wanted: Standing) -> bool {
    goals.iter().any(|&g| standing(s, needs, g) == Some(wanted))
}

const FLOORS: [Goal; 2] = [Goal::Utilisation, Goal::Loss];
const ALL: [Goal; 3] = [Goal::Utilisation, Goal::Loss, Goal::Delay];

/// Returns the relative saving that is worth a change, given the previous answer.
fn worth(s: &Situation<'_>) -> f64 {
    match (s.options.kept_bytes, s.traffic.limit_bytes) {
        (Some(kept), Some(b)) if (kept as f64 / b - 1.0).abs() <= SAME => WORTH_AFTER_FINE,
        (Some(_), Some(_)) => WORTH_AFTER_ADVICE,
        _ => WORTH,
    }
}

/// Returns the limit, or the one in force if the measurement speaks against a change.
pub(crate) fn held(
    (s, outlook): (&Situation<'_>, &Outlook<'_>),
    needs: &Needs,
    given_up: &[Goal],
    limit: Limit,
    reasons: &mut Vec<String>,
) -> Limit {
    let m = s.traffic;
    let kept = s.options.kept_bytes.map(|b| b as f64);
    let limit = match kept.filter(|k| (k / limit.bytes).ln().abs() <= KEPT) {
        Some(bytes) => Limit { bytes, ..limit },
        None => limit,
    };
    let most = s.largest_limit_bytes();
    let judged = |b: &f64| (1.0..=most).contains(b) && m.observed.is_some();
    let Some(in_force) = m.limit_bytes.filter(judged) else {
        return limit;
    };
    let floors: Vec<Goal> = FLOORS
        .into_iter()
        .filter(|g| !given_up.contains(g))
        .collect();
    let too_long =
        is(s, needs, &[Goal::Delay], Standing::Missed) && !given_up.contains(&Goal::Delay);
    let missed = is(s, needs, &ALL, Standing::Missed);
    let short = |standing| is(s, needs, &floors, standing);
    let all_met = !short(Standing::Missed) && !short(Standing::Near);
    let ratio = limit.bytes / in_force;
    let kept_because = if ratio > 1.0 {
        let why = "utilisation and loss are met at the limit in force: no larger one is advised";
        all_met.then_some(why)
    } else if is(s, needs, &floors, Standing::Missed) && !too_long && !better_tried(s, limit.bytes)
    {
        Some("a target is missed at the limit in force, by measurement: no smaller one is advised")
    } else if !missed && ratio * (1.0 + worth(s)) > 1.0 {
        Some("the targets hold and little buffer would be saved: the limit in force is kept")
    } else {
        None
    };
    if (1.0 / (1.0 + SAME)..=1.0 + SAME).contains(&ratio) || kept_because.is_some() {
        reasons.extend(kept_because.map(str::to_owned));
        return Limit {
            bytes: in_force,
            rule: kept_because.map(|_| RuleId::LimitInForce).or(limit.rule),
            ..limit
        };
    }
    let of_loss = floors.contains(&Goal::Loss);
    if let Some(bytes) = first_step_down(s, outlook, limit.bytes, in_force).filter(|_| of_loss) {
        reasons.push(format!(
            "not the {:.0} bytes in one step: no other limit was tried, and loss may rise faster than its law",
            limit.bytes
        ));
        let kept = bytes * (1.0 + SAME) > in_force;
        return Limit {
            bytes: if kept { in_force } else { bytes.ceil() },
            rule: if kept {
                Some(RuleId::LimitInForce)
            } else {
                limit.rule
            },
            towards: (!kept).then_some(limit.bytes),
            ..limit
        };
    }
    let far = !(1.0 / FIRST_STEP..=FIRST_STEP).contains(&ratio);
    if far && !follows_a_law(s, outlook) && m.tried.is_empty() {
        reasons.push(format!(
            "not the {:.0} bytes in one step: the flows' response to the limit is not known, and no other limit was tried",
            limit.bytes
        ));
        let bytes = (limit
            .bytes
            .clamp(in_force / FIRST_STEP, in_force * FIRST_STEP))
        .ceil();
        let towards = Some(limit.bytes);
        return Limit {
            bytes,
            towards,
            ..limit
        };
    }
    limit
}

/// Whether the delay bound holds at a limit; within [`SAME`] unless the limit is a step.
pub(crate) fn delay_kept(limit: &Limit, needs: &Needs) -> bool {
    let slack = if limit.towards.is_some() { 0.0 } else { SAME };
    let kept = |most: f64| limit.bytes <= most * (1.0 + slack);
    needs.delay.as_ref().is_none_or(|d| kept(d.bytes))
}

/// Returns the smallest limit for a first step down that the loss bound allows; `None` if `to` is
/// not below it.
fn first_step_down(
    s: &Situation<'_>,
    outlook: &Outlook<'_>,
    to: f64,
    in_force: f64,
) -> Option<f64> {
    let (bound, now) = (s.targets.loss_rate?, s.traffic.observed?.loss_rate);
    if to >= in_force || !s.traffic.tried.is_empty() || now <= 0.0 || now > bound {
        return None;
    }
    let most = now * (BROKEN * bound / now).powf(1.0 / STEEPEST);
    let meets = |bytes: f64| outlook.loss_at(bytes).is_ok_and(|p| p.value <= most);
    (!meets(to)).then(|| {
        let ends = (to.ln(), in_force.ln());
        smallest_between(ends, 12, |b| meets(b.exp())).exp()
    })
}

/// Whether a limit was tried and lost less than the one in force.
fn better_tried(s: &Situation<'_>, bytes: f64) -> bool {
    let now = s.traffic.observed.map_or(0.0, |o| o.loss_rate);
    let near = |b: f64| (b / bytes - 1.0).abs() < SAME;
    let mut tried = s.traffic.tried.iter();
    tried.any(|t| near(t.limit_bytes) && t.loss_rate < now)
}

fn follows_a_law(s: &Situation<'_>, outlook: &Outlook<'_>) -> bool {
    let m = s.traffic;
    if !outlook.by_law() {
        return false;
    }
    let unknown = m.flow_mix().unknown.max(m.mix().unknown);
    m.lbp_present()
        && unknown <= UNKNOWN
        && m.congestion_control != tidemark_rules::CongestionControl::Bbr
}

/// Returns the interval of acceptable limits, bytes: from the limit at which the targets are as
/// likely met as not to the one above which less buffer would be worth a change.
pub(crate) fn interval(
    s: &Situation<'_>,
    needs: &Needs,
    limit: &Limit,
    given_up: &[Goal],
) -> [f64; 2] {
    let kept = FLOORS.iter().filter(|g| !given_up.contains(g));
    let likely = kept.filter_map(|g| needs.of(*g)?.likely_bytes);
    let low = likely
        .fold(s.smallest_limit_bytes(), f64::max)
        .min(limit.bytes);
    let mut high = limit.bytes * (1.0 + worth(s));
    if let Some(delay) = needs
        .delay
        .as_ref()
        .filter(|_| !given_up.contains(&Goal::Delay))
    {
        high = high.min(delay.bytes).max(limit.bytes);
    }
    // An end stays until there is clear evidence for another value, and then follows at a distance.
    let stands = |new: f64, before: Option<f64>| match before.filter(|b| *b > 0.0) {
        Some(b) => b.clamp(new * (-KEPT_END).exp(), new * KEPT_END.exp()),
        None => new,
    };
    let [kept_low, kept_high] = [0, 1].map(|i| s.options.kept_interval.map(|k| k[i]));
    let at = limit.bytes;
    [
        stands(low, kept_low).min(at),
        stands(high, kept_high).max(at),
    ]
}
