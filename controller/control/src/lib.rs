// SPDX-License-Identifier: Apache-2.0
//! The closed loop of one link: from telemetry and advice to a queue limit, and back if the limit
//! turns out to be worse.
//!
//! [`LinkControl`] is a state machine. [`LinkControl::on`] takes one [`Input`]
//! and the time, and returns the [`Action`]s that the caller carries out. The
//! crate reads no clock, takes no lock and does no I/O: the same inputs give
//! the same actions.
//!
//! | concept | module |
//! |---|---|
//! | states and transitions | [`link`] |
//! | range of all values that are written | [`Range`] |
//! | guard rails: step, frequency, staleness, report loss | [`guard`] |
//! | contradiction of delay and occupancy | [`contradiction()`] |
//! | number of seconds for which the advice agrees | [`agreement`] |
//! | stationarity window: time since which limit and traffic are unchanged | [`stationarity`] |
//! | trial: a limit under observation | [`trial`] |
//! | verdict on a trial | [`judge`] |
//! | memory of a failed limit | [`failed_limit`] |
//! | results of earlier limits under this traffic | [`TriedLimits`] |
//! | limits written by others, interrupted writes | [`Drift`] |
//! | audit records | [`record`] |
//!
//! Sizes are bytes as the queue counts them. Times of telemetry (`_ns` without a further word) are
//! on the switch's clock; [`Timestamp`] is on the host's.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agreement;
mod contradiction;
mod error;
mod failed_limit;
pub mod guard;
mod io;
pub mod judge;
mod link;
mod range;
mod record;
mod settings;
mod stationarity;
mod time;
pub mod trial;
mod tried_limits;

pub use contradiction::contradiction;
pub use error::{ControlError, Refusal};
pub use io::{Action, Changed, Input, Readings, TelemetryReading};
pub use link::{
    Drift, Hold, HoldReason, Kept, LinkControl, LinkSettings, LoggedWrites, SavedControl, State,
    Steadiness, Write,
};
pub use range::Range;
pub use record::{Change, Origin, Outcome};
pub use settings::{AuditPolicy, Mode, OnDrift, Settings};
pub use stationarity::{StationarityWindow, Telemetry, WindowEstimate};
pub use tidemark_rules::Limit;
pub use time::Timestamp;
pub use tried_limits::TriedLimits;

use tidemark_estimators::LinkEstimate;
use tidemark_rules::Observed;

/// Returns the fraction of an estimate's reports that were lost.
pub(crate) fn report_loss(e: &LinkEstimate) -> f64 {
    e.reports_lost as f64 / (e.arrivals + e.reports_lost).max(1) as f64
}

/// Returns the fraction of an estimate's time without records.
pub(crate) fn unrecorded(e: &LinkEstimate) -> f64 {
    let length_s = e.to_ns.saturating_sub(e.from_ns) as f64 / 1e9;
    e.unrecorded_s / length_s.max(e.unrecorded_s).max(1e-9)
}

/// Returns utilisation, loss and delay of an estimate; `None` without a capacity or without
/// traffic.
pub fn observed(e: &LinkEstimate) -> Option<Observed> {
    Some(Observed {
        utilisation: e.utilisation.mean?,
        loss_rate: e.loss_rate?,
        drops: e.drops?,
        delay_mean_ms: e.delay_ms.mean?,
        delay_p50_ms: e.delay_ms.p50?,
        delay_p99_ms: e.delay_ms.p99?,
        delay_max_ms: e.delay_ms.max?,
    })
}
