// SPDX-License-Identifier: Apache-2.0
//! Auto mode: follows the advice once it is steady and away from the limit.

use super::{ControlError, apply_advice, limit_in_force};
use crate::config::Mode;
use crate::core::Core;
use crate::core::audit::{Origin, lock};
use crate::core::guard;
use std::time::{Duration, Instant};
use tidemark_estimators::LinkId;
use tidemark_rules::worth_changing;

/// Applies steady advice that is worth leaving the limit in force for. A change
/// that is being watched is left alone, unless the traffic has changed since:
/// then there is nothing left to judge it by. A switch that failed is left alone
/// for a while: every attempt is a record of the audit log.
pub async fn follow(core: &Core) {
    if core.mode() != Mode::Auto {
        return;
    }
    for (link, advised) in ready(core) {
        let now = limit_in_force(core, link).and_then(|l| l.bytes());
        if let Some(now) = now {
            let advised = step(core, link, now, advised);
            let clear = lock(&core.links)
                .get(&link)
                .is_some_and(|s| s.steady.is_clear_of(now));
            if !clear || !worth(core, link, advised) {
                continue;
            }
        }
        if let Err(e) = apply_advice(core, link, None, Origin::Auto).await {
            tracing::debug!(%link, "auto: {e}");
            if matches!(e, ControlError::Switch(_)) {
                rest(core, link);
            }
        }
    }
}

/// No attempt for as long as between two changes.
fn rest(core: &Core, link: LinkId) {
    let pause = Duration::from_secs_f64(core.config.control.min_change_interval_s);
    if let Some(state) = lock(&core.links).get_mut(&link) {
        state.hold_until = Some(Instant::now() + pause);
    }
}

/// Whether `limit_bytes` is worth leaving the limit in force for: a limit that
/// serves is left for a larger one never, for a smaller one only where much is
/// won. Every change can turn out wrong, and costs utilisation or loss until it
/// is taken back.
fn worth(core: &Core, link: LinkId, limit_bytes: u64) -> bool {
    let shown = lock(&core.links).get(&link).and_then(|s| s.advice.clone());
    let Some(shown) = shown else {
        return false;
    };
    let mut advice = (*shown).clone();
    advice.limit_bytes = Some(limit_bytes);
    let targets = core.targets_of(link);
    worth_changing(&advice, &targets, core.config.control.deadband).worth
}

/// How far one change of auto mode goes towards the advice.
pub(super) fn step(core: &Core, link: LinkId, in_force: u64, advised: u64) -> u64 {
    let control = &core.config.control;
    let tried = lock(&core.links).get(&link).and_then(|s| s.tried);
    let bounded = tried.map_or(advised, |t| t.bounded(in_force, advised));
    let least = (in_force as f64 / control.max_decrease_factor).ceil() as u64;
    guard::clamp_step(control, in_force, bounded.max(least))
}

fn ready(core: &Core) -> Vec<(LinkId, u64)> {
    let links = lock(&core.links);
    let ready = links.iter().filter_map(|(id, s)| {
        let held = s.hold_until.is_some_and(|t| Instant::now() < t);
        let steady = s.steady.is_steady(&core.config.control);
        if held || !steady || s.watching.is_some() {
            return None;
        }
        Some((*id, s.advice.as_ref()?.limit_bytes?))
    });
    ready.collect()
}
