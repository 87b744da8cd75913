// SPDX-License-Identifier: Apache-2.0
//! Memory of a link's loop apart from its state: data for decisions, which by itself does not
//! determine what happens next.

use crate::agreement::Agreement;
use crate::failed_limit::FailedLimit;
use crate::io::Readings;
use crate::settings::OnDrift;
use crate::stationarity::StationarityWindow;
use crate::time::Timestamp;
use crate::tried_limits::TriedLimits;
use std::sync::Arc;
use tidemark_advice::{Advice, Pool, Verdict};
use tidemark_estimators::LinkEstimate;
use tidemark_rules::{Limit, Traffic};

/// A limit that someone else wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The limit that was expected.
    pub expected: Limit,
    /// The limit that was found.
    pub found: Limit,
    /// When it was found.
    pub at: Timestamp,
    /// The reaction to the drift.
    pub answer: OnDrift,
}

/// Advice that is kept until there is clear evidence against it, bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// The limit advised.
    pub limit: u64,
    /// The interval of acceptable limits.
    pub interval: Option<[f64; 2]>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// External readings at the last tick or request.
    pub(super) readings: Readings,
    /// The last estimate; `None` before the first and after a restart of the switch's clock.
    pub(super) estimate: Option<Arc<LinkEstimate>>,
    /// Whether advice may be based on the window of the estimate.
    pub(super) pure: bool,
    /// Whether the traffic changed and there is not enough advice since.
    pub(super) other_traffic: bool,
    /// Everything measured at the limit in force under this traffic.
    pub(super) pool: Pool,
    /// The traffic on which the advice is based.
    pub(super) measured: Option<Arc<Traffic>>,
    /// The advice that is shown and applied.
    pub(super) advice: Option<Arc<Advice>>,
    /// The conclusion from the advice.
    pub(super) verdict: Option<Arc<Verdict>>,
    /// The last advice with sufficient evidence, which the advisor keeps.
    pub(super) kept: Option<Kept>,
    /// How long the advice has asked for the same direction.
    pub(super) agreement: Agreement,
    /// Time since which limit and traffic are unchanged.
    pub(super) stationarity: StationarityWindow,
    /// The limit that was rolled back last, until it is forgotten.
    pub(super) failed: Option<FailedLimit>,
    /// Results of earlier limits under this traffic.
    pub(super) tried: TriedLimits,
    /// Time of our last change of the limit.
    pub(super) changed: Option<Timestamp>,
    /// The limit that we set; restored if the switch loses it.
    pub(super) set: Option<Limit>,
    /// The limit found by the last read of the switch.
    pub(super) seen: Option<Limit>,
    /// The limit that someone else last wrote, until one of ours is in force. Shown to the
    /// operator, and keeps a limit that is restored in vain from being reported every time.
    pub(super) drift: Option<Drift>,
}
