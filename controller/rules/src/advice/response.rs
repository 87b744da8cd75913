// SPDX-License-Identifier: Apache-2.0
//! Where the loss bound is missed: whether more buffer is sure to help, and what is
//! the best of it where it is not.

use super::bound::{Bound, LossBound};
use crate::extrapolation::{LossScaling, lost_less, others, rules};
use crate::rule::{RuleId, Situation};
use crate::traffic::TriedLimit;

/// One step of the search, relative.
const STEP: f64 = 1.25;
/// A limit that differs by less from the one in force is that one.
const SAME: f64 = 1.1;
/// Loss rates this near to the lowest are as low.
const AS_LOW: f64 = 1.1;

/// The limit to take where the bound is missed and no limit is sure to keep it;
/// `None` where the bound is kept, or a rule's limit is expected to keep it.
pub(super) fn best_where_missed(
    s: &Situation<'_>,
    bound: f64,
    reasons: &mut Vec<String>,
) -> Option<LossBound> {
    let m = s.traffic;
    let scaling = LossScaling::of(m)?;
    let tried = others(m).count();
    if tried > 0 {
        reasons.push(format!(
            "what {tried} other limits did under this traffic is taken into account: loss goes with the power {:.2} of its law",
            scaling.exponent()
        ));
    }
    let (in_force, loss_rate) = (m.limit_bytes?, m.observed?.loss_rate);
    if loss_rate <= bound {
        return None;
    }
    if let Some(better) = smaller_and_better(s) {
        let tried = better.limit_bytes;
        reasons.push(format!(
            "loss: {:.2} % was measured at {tried:.0} bytes under this traffic, less than the {:.2} % at the limit in force: more buffer did not help, and {tried:.0} bytes are taken",
            better.loss_rate * 100.0,
            loss_rate * 100.0
        ));
        return Some(LossBound {
            attainable: better.loss_rate <= bound,
            bound: Some(Bound {
                bytes: better.limit_bytes,
                rule: RuleId::LimitTried,
            }),
        });
    }
    let largest = s.largest_limit_bytes();
    let needed = scaling.buffer_for(bound, s.options.conservative);
    let needed = needed.ok().flatten().filter(|&b| b <= largest);
    if needed.is_some_and(|b| surely_helps(&scaling, in_force, b)) {
        return None;
    }
    let bytes = where_it_ceases_to_help(&scaling, in_force, largest);
    let (missed, measured) = (bound * 100.0, loss_rate * 100.0);
    reasons.push(if in_force == bytes {
        format!(
            "loss: no limit is sure to meet {missed:.2} %: beyond the {in_force:.0} bytes in force ({measured:.2} % measured) more buffer is expected to save less than its law is uncertain by; the limit stays"
        )
    } else {
        format!(
            "loss: no limit is sure to meet {missed:.2} % ({measured:.2} % measured at {in_force:.0} bytes); up to {bytes:.0} bytes more buffer helps, beyond it is expected to save less than its law is uncertain by"
        )
    });
    let rule = if bytes > in_force {
        rules::LOSS.id()
    } else {
        RuleId::LimitInForce
    };
    Some(LossBound::unattainable(Some(Bound { bytes, rule })))
}

/// Of the smaller limits tried that lost less than the one in force the smallest
/// that is as good as the best.
fn smaller_and_better<'a>(s: &Situation<'a>) -> Option<&'a TriedLimit> {
    let m = s.traffic;
    let in_force = m.limit_bytes.unwrap_or(0.0);
    let smaller = || others(m).filter(move |t| t.limit_bytes < in_force && lost_less(t, m));
    let lowest = smaller().map(|t| t.loss_rate).fold(f64::INFINITY, f64::min);
    smaller()
        .filter(|t| t.loss_rate <= lowest * AS_LOW)
        .min_by(|a, b| a.limit_bytes.total_cmp(&b.limit_bytes))
}

/// Loss expected at a limit, and the upper end by what the laws leave open, over
/// it. The sampling error of the measurement is the same at both limits.
fn expected(scaling: &LossScaling<'_>, bytes: f64) -> Option<(f64, f64)> {
    let law = scaling.law_range_at(bytes).ok()?;
    (law.value > 0.0).then(|| (law.value, law.high / law.value))
}

/// Whether what is gained between two limits is more than it may be off.
fn surely_helps(scaling: &LossScaling<'_>, from: f64, to: f64) -> bool {
    match (expected(scaling, from), expected(scaling, to)) {
        (Some((here, open_here)), Some((there, open_there))) => {
            let gained = 1.0 - there / here;
            let open = there / here * (open_there / open_here - 1.0);
            gained > 0.0 && gained >= open * (1.0 - 1e-9)
        }
        _ => false,
    }
}

/// From the limit in force upwards, where a step is no longer sure to help.
fn where_it_ceases_to_help(scaling: &LossScaling<'_>, in_force: f64, largest: f64) -> f64 {
    let mut bytes = in_force;
    while bytes < largest && surely_helps(scaling, bytes, (bytes * STEP).min(largest)) {
        bytes = (bytes * STEP).min(largest);
    }
    if bytes < in_force * SAME {
        in_force
    } else {
        bytes
    }
}
