// SPDX-License-Identifier: Apache-2.0
//! A link as requests see it.

use super::state::State;
use std::sync::Arc;
use tidemark_advice::{Advice, Verdict};
use tidemark_control::{LinkControl, Steadiness, TriedLimits, trial::Trial};
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::Traffic;

/// The closed loop of a link, as of now.
#[derive(Clone, Debug)]
pub struct LinkStatus {
    /// The newest estimate; `None` before the first.
    pub estimate: Option<Arc<LinkEstimate>>,
    /// The advice that is shown and applied.
    pub advice: Option<Arc<Advice>>,
    /// The verdict on the buffer, without its curve.
    pub verdict: Option<Arc<Verdict>>,
    /// The traffic on which both are based.
    pub measured: Option<Arc<Traffic>>,
    /// How steady the advice has been.
    pub steadiness: Steadiness,
    /// The change whose outcome is being measured.
    pub trial: Option<Trial>,
    /// Results of limits under this traffic.
    pub tried: TriedLimits,
}

impl From<&LinkControl> for LinkStatus {
    fn from(l: &LinkControl) -> Self {
        Self {
            estimate: l.estimate().cloned(),
            advice: l.advice().cloned(),
            verdict: l.verdict().cloned(),
            measured: l.measured().cloned(),
            steadiness: l.steadiness(),
            trial: l.trial().cloned(),
            tried: l.tried_limits().clone(),
        }
    }
}

impl State {
    /// The closed loop of a link; `None` before its first estimate.
    pub fn link_status(&self, link: LinkId) -> Option<LinkStatus> {
        self.links.get(&link).map(LinkStatus::from)
    }
}
