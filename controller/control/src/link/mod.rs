// SPDX-License-Identifier: Apache-2.0
//! The loop of one link: [`State`] and [`LinkControl::on`].
//!
//! * [`state`](State): the states and the drawing of their transitions;
//! * `advise`: estimates and advice;
//! * `request`: what starts a write: an operator, or auto mode;
//! * `write`: the write itself and its answer;
//! * `drift`: what a look at the switch finds;
//! * `lost`: a switch that lost its state;
//! * `trial`: verdicts and rollback;
//! * `saved`: what survives a restart.

mod advise;
mod drift;
mod lost;
mod request;
mod saved;
mod state;
mod trial;
mod write;

pub use drift::{Drift, LoggedWrites};
pub use saved::SavedControl;
pub use state::{Hold, HoldReason, State, Write};

use crate::error::ControlError;
use crate::evidence::Evidence;
use crate::failed_limit::FailedLimit;
use crate::hysteresis::HysteresisFilter;
use crate::io::{Action, Input, Readings};
use crate::range::Range;
use crate::record::{Change, Origin, Outcome};
use crate::settings::{Mode, Settings};
use crate::stationarity::{StationarityWindow, Telemetry, WindowEstimate, WindowLengths};
use crate::time::Timestamp;
use crate::trial::Trial;
use std::sync::Arc;
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::{Advice, Limit, Targets};

/// What is fixed of a link while the controller runs.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// The link.
    pub id: LinkId,
    /// Guard rails and times.
    pub control: Arc<Settings>,
    /// What may be written at this link.
    pub range: Range,
    /// A switch is configured for it.
    pub has_switch: bool,
    /// Sliding window of the estimates, s.
    pub window_s: f64,
    /// How far back records reach, s.
    pub retention_s: f64,
}

/// Where the hysteresis filter of the advice stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steadiness {
    /// Enough advice has come to act on.
    pub steady: bool,
    /// The advice of the last second alone, bytes.
    pub latest_bytes: Option<u64>,
    /// Smallest and largest advice of the last seconds, bytes, and how many.
    pub range: Option<(u64, u64, usize)>,
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
    readings: Readings,
    estimate: Option<Arc<LinkEstimate>>,
    /// The window of the estimate is fit to base advice on.
    pure: bool,
    /// The traffic changed, and there is not enough advice yet that knows it.
    other_traffic: bool,
    advice: Option<Arc<Advice>>,
    latest_bytes: Option<u64>,
    hysteresis: HysteresisFilter,
    stationarity: StationarityWindow,
    failed: Option<FailedLimit>,
    evidence: Evidence,
    /// When we changed the limit last.
    changed: Option<Timestamp>,
    /// The limit that we set, for a switch that loses it.
    set: Option<Limit>,
    /// The limit that the last look at the switch found.
    seen: Option<Limit>,
    drift: Option<Drift>,
    lost: Option<lost::LostLimit>,
    /// A write of a former run whose outcome is not known yet.
    cut_short: Option<Box<Change>>,
}

impl LinkControl {
    /// A link of which nothing is known yet.
    pub fn new(settings: LinkSettings, mode: Mode, targets: Targets) -> Self {
        Self {
            settings,
            mode,
            targets,
            state: State::default(),
            readings: Readings::default(),
            estimate: None,
            pure: false,
            other_traffic: false,
            advice: None,
            latest_bytes: None,
            hysteresis: HysteresisFilter::default(),
            stationarity: StationarityWindow::default(),
            failed: None,
            evidence: Evidence::default(),
            changed: None,
            set: None,
            seen: None,
            drift: None,
            lost: None,
            cut_short: None,
        }
    }

    /// Takes what happened; returns what the caller has to do, in order.
    ///
    /// Inputs of one link come one after the other. An answer to a write that is
    /// not under way does nothing; a request during a write is refused.
    pub fn on(&mut self, input: Input, now: Timestamp) -> Vec<Action> {
        match input {
            Input::Estimate(window) => self.on_estimate(window, now),
            Input::Advice { advice, measured } => {
                self.on_advice(*advice, &measured, now);
                Vec::new()
            }
            Input::Tick(readings) => self.on_tick(readings, now),
            Input::Outcome(estimate) => self.on_outcome(&estimate, now),
            Input::LimitRead(read) => self.on_limit_read(read, now),
            Input::NotRecorded(why) => self.on_not_recorded(why, now),
            Input::Found(limit) => self.on_found(limit, now),
            Input::Written { result, clock_ns } => self.on_written(result, clock_ns, now),
            Input::Set {
                limit,
                reason,
                readings,
            } => {
                self.readings = readings;
                self.on_set(limit, reason)
            }
            Input::Confirm {
                seen_bytes,
                readings,
            } => {
                self.readings = readings;
                self.on_confirm(seen_bytes, now)
            }
            Input::StateLost { everything } => self.on_state_lost(everything, now),
            Input::ClockRestarted => self.on_clock_restarted(now),
            Input::Mode(mode) => {
                self.mode = mode;
                Vec::new()
            }
            Input::Targets(targets) => {
                self.targets = targets;
                // What is held answers other targets.
                self.hysteresis.reset();
                self.forget_rollback();
                Vec::new()
            }
        }
    }

    /// Estimates the link over the window that its history allows; the answer is
    /// the next [`Input::Estimate`]. Changes nothing.
    pub fn look(&self, telemetry: &dyn Telemetry) -> Option<WindowEstimate> {
        let lengths = WindowLengths {
            window_s: self.settings.window_s,
            short_s: self.settings.control.short_window_s,
            retention_s: self.settings.retention_s,
        };
        self.stationarity.look(telemetry, lengths)
    }

    fn on_tick(&mut self, readings: Readings, now: Timestamp) -> Vec<Action> {
        self.readings = readings;
        if self.state.hold().is_some_and(|h| now.reached(h.until)) {
            self.state.set_hold(None);
        }
        if self.state.is_writing() {
            return Vec::new();
        }
        let mut actions = self.watch_trial(now);
        actions.extend(self.follow(now));
        actions
    }

    fn on_clock_restarted(&mut self, now: Timestamp) -> Vec<Action> {
        self.estimate = None;
        self.advice = None;
        self.latest_bytes = None;
        self.stationarity = StationarityWindow::default();
        self.hysteresis.restart();
        self.abandon_trial("the clock of the switch restarted", now)
    }

    /// What a rollback or a failure taught says nothing of other traffic or
    /// other targets.
    fn forget_rollback(&mut self) {
        self.state.set_hold(None);
        self.failed = None;
    }

    /// A record about this link with what every record has.
    fn record(&self, origin: Origin, outcome: Outcome, reason: String, now: Timestamp) -> Change {
        Change {
            unix_ms: now.unix_ms,
            node: self.settings.id.node_id,
            port: self.settings.id.port,
            origin,
            outcome,
            before: None,
            limit: None,
            reason,
            error: None,
            expected: None,
            measured_before: None,
            measured_after: None,
        }
    }

    /// The link.
    pub fn id(&self) -> LinkId {
        self.settings.id
    }

    /// Where the loop stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The trial under way.
    pub fn trial(&self) -> Option<&Trial> {
        self.state.trial()
    }

    /// The last estimate.
    pub fn estimate(&self) -> Option<&Arc<LinkEstimate>> {
        self.estimate.as_ref()
    }

    /// The advice that is shown and applied.
    pub fn advice(&self) -> Option<&Arc<Advice>> {
        self.advice.as_ref()
    }

    /// Targets in force.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The limit that we set last.
    pub fn set_limit(&self) -> Option<Limit> {
        self.set
    }

    /// The limit that someone else wrote last, until one of ours is in force.
    pub fn drift(&self) -> Option<Drift> {
        self.drift
    }

    /// The limit that failed last, while it is remembered.
    pub fn failed_limit(&self) -> Option<FailedLimit> {
        self.failed
    }

    /// What limits did under this traffic: [`Traffic::tried`] for the advisor.
    ///
    /// [`Traffic::tried`]: tidemark_rules::Traffic::tried
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Where the hysteresis filter stands.
    pub fn steadiness(&self) -> Steadiness {
        Steadiness {
            steady: self.hysteresis.is_steady(&self.settings.control),
            latest_bytes: self.latest_bytes,
            range: self.hysteresis.range(),
            since_ns: self.stationarity.since_ns(),
        }
    }

    /// What the advisor aims at: the targets with the configured headroom.
    pub fn advisor_targets(&self) -> Targets {
        let within = 1.0 - self.settings.control.headroom;
        Targets {
            utilisation: 1.0 - (1.0 - self.targets.utilisation) * within,
            loss_rate: self.targets.loss_rate.map(|p| p * within),
            delay_ms: self.targets.delay_ms.map(|d| d * within),
            priority: self.targets.priority.clone(),
        }
    }

    /// Whether the advice could be applied now: the advice and its size, bytes.
    ///
    /// # Errors
    /// The mode, a missing switch, or the guard rail that refuses.
    pub fn may_apply(
        &self,
        readings: &Readings,
        now: Timestamp,
    ) -> Result<(Arc<Advice>, u64), ControlError> {
        request::may_apply(self, readings, now)
    }
}
