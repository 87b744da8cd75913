// SPDX-License-Identifier: Apache-2.0
//! Fits the buffer that the targets need to a limit that the switch can hold.

use crate::priorities::Reconciled;
use crate::search::Needs;
use tidemark_rules::rule::{RuleId, Situation};
use tidemark_rules::targets::Goal;

/// A limit that the switch can hold.
pub(crate) struct Limit {
    pub bytes: f64,
    pub rule: Option<RuleId>,
    pub decided_by: Option<Goal>,
    /// The limit towards which this one is a step, bytes.
    pub towards: Option<f64>,
}

/// Fits a limit: at least the smallest, as far as the delay bound allows; at most the largest; a
/// multiple of the target's unit.
pub(crate) fn fit(
    s: &Situation<'_>,
    needs: &Needs,
    kept: &Reconciled,
    reasons: &mut Vec<String>,
) -> Limit {
    let smallest = s.smallest_limit_bytes();
    let mut limit = Limit {
        bytes: kept.bytes,
        rule: kept.rule.clone(),
        decided_by: kept.decided_by,
        towards: None,
    };
    let capped = needs.delay.as_ref();
    let capped = capped.filter(|d| kept.delay_kept && d.bytes < smallest);
    if limit.bytes < capped.map_or(smallest, |d| d.bytes) {
        limit = match capped {
            // As much as the delay bound allows.
            Some(delay) => {
                let bytes = delay.bytes;
                reasons.push(format!(
                    "raised to what the delay bound allows, {bytes:.0} bytes: fewer than {:.0} packets, below which bursts are lost whatever the load",
                    s.options.min_packets
                ));
                Limit {
                    bytes,
                    rule: Some(delay.by.clone()),
                    decided_by: Some(Goal::Delay),
                    towards: None,
                }
            }
            None => {
                reasons.push(format!(
                    "raised to the smallest limit, {:.0} packets: below it bursts are lost whatever the load",
                    s.options.min_packets
                ));
                Limit {
                    bytes: smallest,
                    rule: Some(RuleId::Smallest),
                    decided_by: None,
                    towards: None,
                }
            }
        };
    }
    let bytes = s.largest_limit_bytes();
    if limit.bytes > bytes {
        reasons.push(match s.options.max_bytes {
            Some(_) => format!("cut to the largest limit of the target, {bytes:.0} bytes"),
            None => format!(
                "cut to the largest limit without one configured, {bytes:.0} bytes: four times C*T_mean, at least 1 s of queueing"
            ),
        });
        limit = Limit {
            bytes,
            rule: Some(RuleId::Largest),
            decided_by: None,
            towards: None,
        };
    }
    let unit = s.options.unit_bytes.max(1.0);
    let at_most = limit.decided_by == Some(Goal::Delay) || limit.rule == Some(RuleId::Largest);
    limit.bytes = if at_most {
        ((limit.bytes / unit).floor() * unit).max(unit)
    } else {
        (limit.bytes / unit).ceil() * unit
    };
    limit
}
