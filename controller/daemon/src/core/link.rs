// SPDX-License-Identifier: Apache-2.0
//! What was last estimated and advised of a link, and where its limit stands.

use super::conditions::Conditions;
use super::steady::Steady;
use super::tried::Tried;
use super::watching::Watching;
use std::sync::Arc;
use std::time::Instant;
use tidemark_estimators::LinkEstimate;
use tidemark_rules::{Advice, Observed};

/// One link, as of the last tick.
#[derive(Debug, Default)]
pub struct LinkState {
    pub estimate: Option<Arc<LinkEstimate>>,
    /// What is shown and applied: steadied.
    pub advice: Option<Arc<Advice>>,
    /// The advice of the last second alone, bytes.
    pub raw_bytes: Option<u64>,
    pub steady: Steady,
    pub conditions: Conditions,
    /// Last time its limit was changed by us.
    pub changed: Option<Instant>,
    pub watching: Option<Watching>,
    /// Auto mode changes nothing before this.
    pub hold_until: Option<Instant>,
    /// What the last rollback taught.
    pub tried: Option<Tried>,
}

impl LinkState {
    /// The traffic or the targets are others now: what was learnt from a
    /// rollback says nothing of them.
    pub fn forget_rollback(&mut self) {
        self.hold_until = None;
        self.tried = None;
    }
}

/// Utilisation, loss and delay out of an estimate; `None` without capacity or
/// traffic.
pub fn observed(e: &LinkEstimate) -> Option<Observed> {
    Some(Observed {
        utilisation: e.utilisation.mean?,
        loss_rate: e.loss_rate,
        drops: e.drops,
        delay_mean_ms: e.delay_ms.mean?,
        delay_p50_ms: e.delay_ms.p50?,
        delay_p99_ms: e.delay_ms.p99?,
        delay_max_ms: e.delay_ms.max?,
    })
}
