// SPDX-License-Identifier: Apache-2.0
//! What became of a change: kept, rolled back, or not to be told.

use super::{limit_in_force, write};
use crate::core::audit::{Change, Origin, Outcome, lock, unix_ms};
use crate::core::conditions::differs;
use crate::core::guard;
use crate::core::link::observed;
use crate::core::tried::Tried;
use crate::core::watching::Watching;
use crate::core::{Core, Event};
use std::time::{Duration, Instant};
use tidemark_estimators::LinkId;

/// A limit that failed is remembered so many times as long as auto mode rests.
const MEMORY_OVER_HOLD: u32 = 10;

/// Judges the watched changes whose time of observation has passed; rolls back
/// those that made things worse than their bound and than before.
pub async fn judge(core: &Core) {
    let watched: Vec<(LinkId, Watching)> = lock(&core.links)
        .iter()
        .filter_map(|(id, s)| Some((*id, s.watching.clone()?)))
        .collect();
    for (link, w) in watched {
        let measured = core.with_feed(link, |f| {
            let Some((from_ns, to_ns)) = w.span_ns else {
                begin(core, link, f.now_ns(link));
                return None;
            };
            let arrived = f.complete_ns(link) >= to_ns;
            arrived.then(|| f.estimate(link, from_ns, to_ns))
        });
        let Some(Some(estimate)) = measured else {
            if Instant::now() > w.deadline {
                abandon(core, link, "its telemetry did not arrive in time");
            }
            continue;
        };
        let n_b = estimate.estimates.n_b;
        if let Some(before) = w.change.n_b.filter(|b| differs(b, &n_b)) {
            let why = format!(
                "the traffic changed meanwhile: N_b was {:.0} and is {:.0}",
                before.value, n_b.value
            );
            abandon(core, link, &why);
            continue;
        }
        let Some(after) = observed(&estimate) else {
            abandon(core, link, "there was no traffic to measure");
            continue;
        };
        stop_watching(core, link);
        let targets = core.targets_of(link);
        let worse = guard::worse(
            &targets,
            &w.change.given_up,
            &w.change.measured_before,
            &after,
            0.1,
        );
        let bad = guard::takes_back(&targets, &worse, &w.change.measured_before, &after);
        let worse: Vec<String> = worse.into_iter().map(|(_, why)| why).collect();
        let change = Change {
            unix_ms: unix_ms(),
            node: link.node_id,
            port: link.port,
            origin: Origin::Rollback,
            outcome: if bad { Outcome::Worse } else { Outcome::Kept },
            before: w.change.before,
            limit: Some(w.change.limit),
            reason: if bad {
                worse.join("; ")
            } else if worse.is_empty() {
                "measured after the change".into()
            } else {
                format!(
                    "{}; but a target that comes first is met now",
                    worse.join("; ")
                )
            },
            error: None,
            expected: None,
            measured_before: Some(w.change.measured_before),
            measured_after: Some(after),
        };
        core.metrics.change(change.outcome);
        core.emit(Event::Changed(Box::new(change.clone())));
        core.audit.record(change);
        // Somebody else may have set another limit meanwhile: leave that.
        if bad && limit_in_force(core, link) == Some(w.change.limit) {
            roll_back(core, link, &w, &worse.join("; ")).await;
        }
    }
}

/// Telemetry has come of a change that was made before a restart.
fn begin(core: &Core, link: LinkId, now_ns: u64) {
    if let Some(w) = lock(&core.links)
        .get_mut(&link)
        .and_then(|s| s.watching.as_mut())
    {
        w.observe_from(now_ns, &core.config.control);
    }
}

/// Ends the watch over a link's last change, if there is one, without a
/// verdict; the limit stays.
pub fn abandon(core: &Core, link: LinkId, why: &str) {
    let watching = lock(&core.links)
        .get_mut(&link)
        .and_then(|s| s.watching.take());
    let Some(w) = watching else { return };
    let change = Change {
        unix_ms: unix_ms(),
        node: link.node_id,
        port: link.port,
        origin: Origin::Rollback,
        outcome: Outcome::Unclear,
        before: w.change.before,
        limit: Some(w.change.limit),
        reason: format!("not judged: {why}"),
        error: None,
        expected: None,
        measured_before: Some(w.change.measured_before),
        measured_after: None,
    };
    core.metrics.change(change.outcome);
    core.emit(Event::Changed(Box::new(change.clone())));
    core.audit.record(change);
}

fn stop_watching(core: &Core, link: LinkId) {
    if let Some(state) = lock(&core.links).get_mut(&link) {
        state.watching = None;
    }
}

async fn roll_back(core: &Core, link: LinkId, w: &Watching, why: &str) {
    let Some(before) = w.change.before else {
        return;
    };
    let reason = format!("rolled back: {why}");
    // A failure is in the audit log already.
    let _ = write::write(core, link, before, Origin::Rollback, reason, None).await;
    if let Some(state) = lock(&core.links).get_mut(&link) {
        let hold = Duration::from_secs_f64(core.config.control.rollback_hold_s);
        state.hold_until = Some(Instant::now() + hold);
        let failed = w.change.limit.bytes();
        state.tried = failed.map(|bytes| Tried::failed(bytes, MEMORY_OVER_HOLD * hold));
        state.steady.restart();
    }
}
