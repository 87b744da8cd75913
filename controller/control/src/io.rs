// SPDX-License-Identifier: Apache-2.0
//! Inputs and outputs of the loop of a link.

use crate::error::ControlError;
use crate::record::Change;
use crate::settings::Mode;
use crate::stationarity::WindowEstimate;
use crate::time::nanoseconds;
use std::sync::Arc;
use tidemark_advice::Advice;
use tidemark_estimators::LinkEstimate;
use tidemark_rules::{Limit, Targets, Traffic};

/// Readings of a link from outside at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Readings {
    /// Limit in force: as read from the switch, else as its reports say.
    pub in_force: Option<Limit>,
    /// State of the link's telemetry; `None` when there is none.
    pub telemetry: Option<TelemetryReading>,
}

/// State of a link's telemetry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TelemetryReading {
    /// Age of the newest report of this link, s; `None` before the first. Neither
    /// that of the connection nor of what else comes over it: a switch that fell
    /// silent and a collector that lags behind are old.
    pub age_s: Option<f64>,
    /// Now, on the switch's clock, ns.
    pub clock_ns: u64,
    /// Everything before this has arrived, on the switch's clock, ns.
    pub complete_ns: u64,
}

impl TelemetryReading {
    /// Time of the newest report of this link, on the switch's clock, ns.
    pub(crate) fn newest_ns(&self) -> Option<u64> {
        Some(self.clock_ns.saturating_sub(nanoseconds(self.age_s?)))
    }
}

/// Input of a link's loop.
#[derive(Clone, Debug)]
pub enum Input {
    /// The estimate of this second ([`crate::LinkControl::window_estimate`]).
    Estimate(WindowEstimate),
    /// The advisor's answer to that estimate.
    Advice {
        /// The advice of this second alone.
        advice: Box<Advice>,
        /// The measurement that it was computed from.
        measured: Box<Traffic>,
    },
    /// One second has passed: trials are judged, and auto mode acts.
    Tick(Readings),
    /// Answer to [`Action::Measure`].
    Outcome(Arc<LinkEstimate>),
    /// Answer to [`Action::Read`]: the limit in force, or why it is not known.
    LimitRead(Result<Limit, String>),
    /// Answer to [`Action::Write`]: nothing was written, since its intent could not
    /// be recorded, and why.
    NotRecorded(String),
    /// The limit that a look at the switch found, while nobody here changes it.
    Found(Limit),
    /// Answer to [`Action::Write`].
    Written {
        /// The limit read back, or what the switch says.
        result: Result<Limit, String>,
        /// Now, on the switch's clock, ns; `None` without telemetry.
        clock_ns: Option<u64>,
    },
    /// An operator sets a limit of their own.
    Set {
        /// The limit.
        limit: Limit,
        /// Why, for the record.
        reason: String,
        /// Readings now.
        readings: Readings,
    },
    /// An operator confirms the advice.
    Confirm {
        /// The advice that the operator saw, bytes.
        seen_bytes: Option<u64>,
        /// Readings now.
        readings: Readings,
    },
    /// The switch came up without its state.
    StateLost {
        /// All of it is gone; else only a port without any limit gets its limit
        /// back.
        everything: bool,
    },
    /// The clock of the switch restarted: nothing dated by it means anything.
    ClockRestarted,
    /// How far advice may be applied from now on.
    Mode(Mode),
    /// The operator's targets from now on.
    Targets(Targets),
}

/// Work for the caller, in this order.
#[derive(Clone, Debug)]
pub enum Action {
    /// Read the limit in force; answer with [`Input::LimitRead`].
    Read,
    /// Append `intent` to the audit log, then write the limit and read it back;
    /// answer with [`Input::Written`], or with [`Input::NotRecorded`].
    Write {
        /// The limit.
        limit: Limit,
        /// Record of the write to come.
        intent: Box<Change>,
    },
    /// Estimate `[from_ns, to_ns)` of the switch's clock; answer with
    /// [`Input::Outcome`].
    Measure {
        /// Start, ns.
        from_ns: u64,
        /// End, ns.
        to_ns: u64,
    },
    /// Append to the audit log.
    Record(Box<Change>),
    /// Save the state ([`crate::LinkControl::saved`]).
    Save,
    /// Answer the operator.
    Answer(Result<Changed, ControlError>),
}

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The limit before it.
    pub before: Option<Limit>,
    /// The limit now, as read back from the switch.
    pub limit: Limit,
    /// The advice applied, if any.
    pub advice: Option<Arc<Advice>>,
    /// Nothing was written: `limit` is what would have been.
    pub dry_run: bool,
}
