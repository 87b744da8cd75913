// SPDX-License-Identifier: Apache-2.0
//! Inputs and outputs of a link's loop.

use crate::error::ControlError;
use crate::record::Change;
use crate::settings::Mode;
use crate::stationarity::WindowEstimate;
use crate::time::nanoseconds;
use std::sync::Arc;
use tidemark_advice::Advice;
use tidemark_estimators::LinkEstimate;
use tidemark_rules::{Limit, Targets, Traffic};

/// External readings of a link at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Readings {
    /// Limit in force, as read from the switch, else as reported in its telemetry.
    pub in_force: Option<Limit>,
    /// State of the link's telemetry; `None` without telemetry.
    pub telemetry: Option<TelemetryReading>,
}

/// State of a link's telemetry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TelemetryReading {
    /// Age of the newest report of this link, s; `None` before the first. It is not the age of the
    /// connection or of other data on it: it is also high if a switch is silent or a collector
    /// lags.
    pub age_s: Option<f64>,
    /// Current time on the switch's clock, ns.
    pub clock_ns: u64,
    /// Time before which all reports have arrived, on the switch's clock, ns.
    pub complete_ns: u64,
}

impl TelemetryReading {
    /// Returns the time of the newest report of this link, on the switch's clock, ns.
    pub(crate) fn newest_ns(&self) -> Option<u64> {
        Some(self.clock_ns.saturating_sub(nanoseconds(self.age_s?)))
    }
}

/// Input of a link's loop.
#[derive(Clone, Debug)]
pub enum Input {
    /// The estimate of this second ([`crate::LinkControl::window_estimate`]).
    Estimate(WindowEstimate),
    /// The advisor's answer to the estimate.
    Advice {
        /// The advice for this second alone.
        advice: Box<Advice>,
        /// The measurement on which it is based.
        measured: Box<Traffic>,
    },
    /// A second has passed: trials are judged, and auto mode acts.
    Tick(Readings),
    /// Answer to [`Action::Measure`]: the estimate.
    Outcome(Arc<LinkEstimate>),
    /// Answer to [`Action::Read`]: the limit in force, or why it is unknown.
    LimitRead(Result<Limit, String>),
    /// Answer to [`Action::Write`]: nothing was written, because the intent could not be recorded,
    /// with the reason.
    NotRecorded(String),
    /// A periodic read of the switch returned this limit while no change of ours was under way.
    Found(Limit),
    /// Answer to [`Action::Write`]: the switch was asked to write.
    Written {
        /// The limit read back, or the switch's error.
        result: Result<Limit, String>,
        /// Current time on the switch's clock, ns; `None` without telemetry.
        clock_ns: Option<u64>,
    },
    /// An operator sets a limit.
    Set {
        /// The limit.
        limit: Limit,
        /// Reason, for the audit log.
        reason: String,
        /// Current readings.
        readings: Readings,
    },
    /// An operator confirms the advice.
    Confirm {
        /// The advice that the operator saw, bytes.
        seen_bytes: Option<u64>,
        /// Current readings.
        readings: Readings,
    },
    /// The switch restarted without its state.
    StateLost {
        /// Whether all state is lost; if not, only a port without any limit gets its limit back.
        everything: bool,
    },
    /// The clock of the switch restarted: times on it are no longer valid.
    ClockRestarted,
    /// The mode from now on: how far advice may be applied.
    Mode(Mode),
    /// The operator's targets from now on.
    Targets(Targets),
}

/// Work for the caller, to be done in order.
#[derive(Clone, Debug)]
pub enum Action {
    /// Read the limit in force; answer with [`Input::LimitRead`].
    Read,
    /// Append `intent` to the audit log, then write the limit and read it back; answer with
    /// [`Input::Written`] or [`Input::NotRecorded`].
    Write {
        /// The limit.
        limit: Limit,
        /// Record of the intended write.
        intent: Box<Change>,
    },
    /// Estimate the link over `[from_ns, to_ns)` of the switch's clock; answer with
    /// [`Input::Outcome`].
    Measure {
        /// Start, ns.
        from_ns: u64,
        /// End, ns.
        to_ns: u64,
    },
    /// Append this record to the audit log.
    Record(Box<Change>),
    /// Save the state ([`crate::LinkControl::saved`]).
    Save,
    /// Answer the operator.
    Answer(Result<Changed, ControlError>),
}

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The limit before the change.
    pub before: Option<Limit>,
    /// The limit now, as read back from the switch.
    pub limit: Limit,
    /// The advice applied, if any.
    pub advice: Option<Arc<Advice>>,
    /// Whether this is a dry run: nothing was written, and `limit` is what would have been.
    pub dry_run: bool,
}
