// SPDX-License-Identifier: Apache-2.0
//! The loop of one link: [`State`] and [`LinkControl::on`].
//!
//! [`State`] has the diagram of the transitions, `transition` all of them in one place.

mod advise;
mod auto;
mod drift;
mod expectation;
mod lost;
mod memory;
mod request;
mod saved;
mod state;
mod transition;
mod trial;
mod write;

pub use drift::LoggedWrites;
pub use memory::{Drift, Kept};
pub use saved::SavedControl;
pub use state::{Hold, HoldReason, State, Write};

use crate::error::ControlError;
use crate::failed_limit::FailedLimit;
use crate::io::Readings;
use crate::range::Range;
use crate::record::{Change, Origin, Outcome};
use crate::settings::{Mode, Settings};
use crate::stationarity::{StationarityWindow, Telemetry, WindowEstimate, WindowLengths};
use crate::time::Timestamp;
use crate::trial::Trial;
use crate::tried_limits::TriedLimits;
use expectation::Expectation;
use memory::Memory;
use std::sync::Arc;
use tidemark_advice::{Advice, Verdict};
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::{Limit, Targets, Traffic};

/// Settings of a link, constant while the controller runs.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// The link.
    pub id: LinkId,
    /// Guard rails and times.
    pub control: Arc<Settings>,
    /// Limits that may be written at this link.
    pub range: Range,
    /// Whether a switch is configured for the link.
    pub has_switch: bool,
    /// Sliding window of the estimates, s.
    pub window_s: f64,
    /// Age up to which records are kept, s.
    pub retention_s: f64,
}

impl LinkSettings {
    /// # Errors
    /// The link has no port or no switch.
    fn writable(&self) -> Result<(), ControlError> {
        match (self.id.known_port().is_some(), self.has_switch) {
            (true, true) => Ok(()),
            (true, false) => Err(ControlError::NoSwitch(self.id.node_id)),
            (false, _) => Err(ControlError::NoPort(self.id.node_id)),
        }
    }
}

/// How long the advice has asked for the same direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steadiness {
    /// Whether there is enough advice to act on.
    pub steady: bool,
    /// Seconds in a row in which the advice was to raise, to lower or to keep the limit.
    pub seconds: u32,
    /// Start of the stationarity window, ns on the switch's clock.
    pub since_ns: u64,
}

/// The closed loop of one link.
#[derive(Clone, Debug)]
pub struct LinkControl {
    settings: LinkSettings,
    mode: Mode,
    targets: Targets,
    state: State,
    expectation: Expectation,
    memory: Memory,
}

impl LinkControl {
    /// Creates the loop of a link about which nothing is known yet.
    pub fn new(settings: LinkSettings, mode: Mode, targets: Targets) -> Self {
        Self {
            settings,
            mode,
            targets,
            state: State::default(),
            expectation: Expectation::default(),
            memory: Memory::default(),
        }
    }

    /// Returns the time since which traffic and limit are unchanged, as far as known;
    /// [`window_estimate`](Self::window_estimate) relies on it.
    pub fn stationarity(&self) -> StationarityWindow {
        self.memory.stationarity
    }

    /// Estimates the link over the window that its history allows; pass the result as the next
    /// [`Input::Estimate`](crate::Input::Estimate). Changes nothing.
    pub fn window_estimate(&self, telemetry: &dyn Telemetry) -> Option<WindowEstimate> {
        let lengths = WindowLengths {
            window_s: self.settings.window_s,
            short_s: self.settings.control.short_window_s,
            retention_s: self.settings.retention_s,
        };
        self.memory.stationarity.window_estimate(telemetry, lengths)
    }

    /// Whether the memory is still needed: for a limit that we set or that replaced ours, a rest, a
    /// trial, or a write with an open outcome.
    pub fn is_in_use(&self) -> bool {
        self.memory.set.is_some()
            || self.memory.drift.is_some()
            || !matches!(self.state, State::Observing)
            || !matches!(self.expectation, Expectation::AsSet)
    }

    /// Forgets rollback and failed limit, which do not apply to other traffic or other targets.
    fn forget_rollback(&mut self) {
        self.state.set_hold(None);
        self.memory.failed = None;
    }

    /// Creates a record about this link with the fields that every record has.
    fn record(&self, origin: Origin, outcome: Outcome, reason: String, now: Timestamp) -> Change {
        Change::new(self.settings.id, origin, outcome, reason, now.unix_ms)
    }

    /// Returns the state of the loop.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the trial under way.
    pub fn trial(&self) -> Option<&Trial> {
        self.state.trial()
    }

    /// Returns the last estimate.
    pub fn estimate(&self) -> Option<&Arc<LinkEstimate>> {
        self.memory.estimate.as_ref()
    }

    /// Returns the advice that is shown and applied.
    pub fn advice(&self) -> Option<&Arc<Advice>> {
        self.memory.advice.as_ref()
    }

    /// Returns the conclusion from the advice, without its curve.
    pub fn verdict(&self) -> Option<&Arc<Verdict>> {
        self.memory.verdict.as_ref()
    }

    /// Returns the traffic on which advice and verdict are based.
    pub fn measured(&self) -> Option<&Arc<Traffic>> {
        self.memory.measured.as_ref()
    }

    /// Returns the targets in force.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// Returns the limit that we set last.
    pub fn set_limit(&self) -> Option<Limit> {
        self.memory.set
    }

    /// Returns the limit that someone else last wrote, until one of ours is in force.
    pub fn drift(&self) -> Option<Drift> {
        self.memory.drift
    }

    /// Returns the limit that failed last, while it is remembered.
    pub fn failed_limit(&self) -> Option<FailedLimit> {
        self.memory.failed
    }

    /// Returns results of earlier limits under this traffic: [`Traffic::tried`] for the advisor.
    ///
    /// [`Traffic::tried`]: tidemark_rules::Traffic::tried
    pub fn tried_limits(&self) -> &TriedLimits {
        &self.memory.tried
    }

    fn is_steady(&self) -> bool {
        self.memory.agreement.seconds() >= self.settings.control.stable_s.max(1)
    }

    /// Returns how long the advice has asked for the same direction.
    pub fn steadiness(&self) -> Steadiness {
        Steadiness {
            steady: self.is_steady(),
            seconds: self.memory.agreement.seconds(),
            since_ns: self.memory.stationarity.since_ns(),
        }
    }

    /// Checks whether the advice could be applied now; returns it and its size, bytes.
    pub fn may_apply(
        &self,
        readings: &Readings,
        now: Timestamp,
    ) -> Result<(Arc<Advice>, u64), ControlError> {
        request::may_apply(self, readings, now)
    }
}
