// SPDX-License-Identifier: Apache-2.0
//! Choice between targets that cannot all hold.

use crate::search::{Need, Needs};
use tidemark_rules::rule::{RuleId, Situation};
use tidemark_rules::targets::Goal;

/// The limit that meets the targets as far as their priorities allow.
pub(crate) struct Reconciled {
    pub bytes: f64,
    pub rule: Option<RuleId>,
    pub decided_by: Option<Goal>,
    pub given_up: Vec<Goal>,
    pub delay_kept: bool,
}

/// Keeps the targets in the operator's order; a target that contradicts those kept is given up, and
/// the limit comes as near to it as they allow. If nothing was measured, no buffer is spent on a
/// loss rate that no limit is expected to reach: the other targets decide.
pub(crate) fn reconcile(needs: &Needs, s: &Situation<'_>, reasons: &mut Vec<String>) -> Reconciled {
    let others = needs.utilisation.is_some() || needs.delay.is_some();
    let in_vain = |goal: Goal, need: &Need| {
        goal == Goal::Loss && s.traffic.observed.is_none() && need.likely_bytes.is_none() && others
    };
    let mut floor: Option<(Need, Goal)> = None;
    let mut ceiling: Option<&Need> = None;
    let mut given_up = Vec::new();
    let mut floor_given_up = false;
    for goal in s.targets.order() {
        let Some(bound) = needs.of(goal) else {
            continue;
        };
        let bytes = bound.bytes;
        if goal == Goal::Delay {
            match &floor {
                Some((least, for_goal)) if least.within(bytes).is_none() => {
                    given_up.push(Goal::Delay);
                    reasons.push(format!(
                        "delay: the bound allows {bytes:.0} bytes, less than {} needs; it is given up, having lower priority",
                        for_goal.label()
                    ));
                }
                _ => {
                    reasons.push(format!("delay: the bound allows {bytes:.0} bytes"));
                    ceiling = Some(bound);
                }
            }
        } else if in_vain(goal, bound) {
            given_up.push(goal);
            reasons.push("loss: it is given up, and the other targets decide".to_owned());
        } else if ceiling.is_some_and(|most| bound.within(most.bytes).is_none()) {
            given_up.push(goal);
            floor_given_up = true;
            reasons.push(format!(
                "{}: {bytes:.0} bytes are more than the delay bound allows; it is given up, having lower priority",
                goal.label()
            ));
        } else {
            floor = Some(match floor {
                Some((least, for_goal)) => (
                    least.and(bound),
                    if bytes > least.bytes { goal } else { for_goal },
                ),
                None => (bound.clone(), goal),
            });
        }
    }
    // Of confidence and a delay bound, the delay bound takes precedence.
    let floor_given_up = floor_given_up
        || matches!((&floor, ceiling), (Some((least, _)), Some(most)) if least.bytes > most.bytes);
    let decisive = match (&floor, ceiling) {
        (_, Some(most)) if floor_given_up => Some((most, Goal::Delay)),
        (least, _) => least.as_ref().map(|(need, goal)| (need, *goal)),
    };
    Reconciled {
        bytes: decisive.map_or(0.0, |(bound, _)| bound.bytes.max(0.0)),
        rule: decisive.map(|(bound, _)| bound.by.clone()),
        decided_by: decisive.map(|(_, goal)| goal),
        given_up,
        delay_kept: ceiling.is_some(),
    }
}
