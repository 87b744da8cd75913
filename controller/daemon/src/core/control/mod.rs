// SPDX-License-Identifier: Apache-2.0
//! Changes limits: guard rails first, then the switch, then the audit log.
//!
//! * here: what is known, and whether advice may be applied;
//! * [`write`]: operators' limits, advice, and the change itself;
//! * [`judge`]: what became of a change, and back again;
//! * [`auto`]: changes that nobody asked for.

mod auto;
mod judge;
mod write;

pub use auto::follow;
pub use judge::{abandon, judge};
pub use write::{apply_advice, set_by_operator};

use super::Core;
use super::audit::lock;
use super::guard::{self, Evidence, Refusal};
use crate::config::Mode;
use std::sync::Arc;
use std::time::Instant;
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::Advice;
use tidemark_southbound::{Error, Limit};

/// Why a limit was not changed.
#[derive(Debug)]
pub enum ControlError {
    /// The value makes no sense or is out of range.
    Bad(Refusal),
    /// Not now: mode or a guard rail.
    Refused(Refusal),
    /// No switch is configured for the node.
    NoSwitch(u32),
    /// The switch said no or cannot be reached.
    Switch(Error),
}

impl std::fmt::Display for ControlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ControlError::Bad(r) | ControlError::Refused(r) => f.write_str(&r.message),
            ControlError::NoSwitch(node) => write!(
                f,
                "no switch is configured for node {node}; add [[switches]] node = {node}"
            ),
            ControlError::Switch(e) => e.fmt(f),
        }
    }
}

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Changed {
    pub before: Option<Limit>,
    /// As read back from the switch.
    pub limit: Limit,
    pub advice: Option<Arc<Advice>>,
}

/// What the last tick said of a link.
struct Known {
    estimate: Option<Arc<LinkEstimate>>,
    advice: Option<Arc<Advice>>,
    changed: Option<Instant>,
}

fn known(core: &Core, link: LinkId) -> Known {
    let links = lock(&core.links);
    let state = links.get(&link);
    Known {
        estimate: state.and_then(|s| s.estimate.clone()),
        advice: state.and_then(|s| s.advice.clone()),
        changed: state.and_then(|s| s.changed),
    }
}

/// Limit in force: as read from the switch, else as its reports say.
pub fn limit_in_force(core: &Core, link: LinkId) -> Option<Limit> {
    let switch = core.switches.get(&link.node_id);
    let read = switch.and_then(|s| lock(&s.state).limits.get(&link.port).copied());
    read.or_else(|| {
        let reported = core.with_feed(link, |f| f.series.get(&link).map(|s| s.limit_bytes));
        match reported.flatten() {
            Some(limit_bytes) if limit_bytes > 0 => Some(Limit::DropTail { limit_bytes }),
            _ => None,
        }
    })
}

/// The present advice of a link, if it could be applied now.
///
/// # Errors
/// The guard rail that says no.
pub fn may_apply(core: &Core, link: LinkId) -> Result<(Arc<Advice>, u64), ControlError> {
    let refused = |field, message: &str| {
        ControlError::Refused(Refusal {
            field,
            message: message.into(),
        })
    };
    if core.mode() == Mode::Recommend {
        return Err(refused(
            "mode",
            "the mode is \"recommend\": advice is shown, not applied; set it to \"confirm\" (POST /mode), or set the limit yourself",
        ));
    }
    if !core.switches.contains_key(&link.node_id) {
        return Err(ControlError::NoSwitch(link.node_id));
    }
    let known = known(core, link);
    let advised = known
        .advice
        .and_then(|a| Some((Arc::clone(&a), a.limit_bytes?)));
    let Some((advice, bytes)) = advised else {
        return Err(refused("advice", "there is no advice for this link yet"));
    };
    let control = &core.config.control;
    let reports = known.estimate.as_ref().map_or(0, |e| e.arrivals);
    let lost = known.estimate.as_ref().map_or(0, |e| e.reports_lost);
    let evidence = Evidence {
        age_s: core.with_feed(link, |f| f.age_s(Instant::now())).flatten(),
        report_loss: lost as f64 / (reports + lost).max(1) as f64,
        since_change_s: known.changed.map(|t| t.elapsed().as_secs_f64()),
    };
    guard::evidence(control, &evidence).map_err(ControlError::Refused)?;
    let max = core.config.max_limit_bytes(link.node_id, link.port);
    guard::value(control, max, bytes).map_err(ControlError::Refused)?;
    Ok((advice, bytes))
}
