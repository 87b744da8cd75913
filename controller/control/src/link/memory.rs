// SPDX-License-Identifier: Apache-2.0
//! Memory of a link's loop, besides its state. None of it alone decides what happens next:
//! decisions are made from it.

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
    /// The reaction to it.
    pub answer: OnDrift,
}

/// Advice that stands until the evidence against it is clear, bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// The limit advised.
    pub limit: u64,
    /// The limits between which one serves.
    pub interval: Option<[f64; 2]>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// Readings from outside at the last tick or request.
    pub(super) readings: Readings,
    /// The last estimate; `None` before the first, and after the switch's clock
    /// restarted.
    pub(super) estimate: Option<Arc<LinkEstimate>>,
    /// The window of the estimate is fit to base advice on.
    pub(super) pure: bool,
    /// The traffic changed, and there is not enough advice yet that knows it.
    pub(super) other_traffic: bool,
    /// All that was measured at the limit in force under this traffic.
    pub(super) pool: Pool,
    /// The traffic that the advice rests on.
    pub(super) measured: Option<Arc<Traffic>>,
    /// The advice that is shown and applied.
    pub(super) advice: Option<Arc<Advice>>,
    /// The conclusion from it.
    pub(super) verdict: Option<Arc<Verdict>>,
    /// The last advice that its evidence allowed, which the advisor keeps.
    pub(super) kept: Option<Kept>,
    /// For how long the advice has asked for one direction.
    pub(super) agreement: Agreement,
    /// Since when limit and traffic are the same.
    pub(super) stationarity: StationarityWindow,
    /// The limit that was rolled back last, until it is forgotten.
    pub(super) failed: Option<FailedLimit>,
    /// Results of limits under this traffic.
    pub(super) tried: TriedLimits,
    /// When we changed the limit last.
    pub(super) changed: Option<Timestamp>,
    /// The limit that we set, for a switch that loses it.
    pub(super) set: Option<Limit>,
    /// The limit that the last look at the switch found.
    pub(super) seen: Option<Limit>,
    /// The limit that someone else wrote last, until one of ours is in force. For the
    /// operator, and so that a limit restored in vain is not told every time.
    pub(super) drift: Option<Drift>,
}
