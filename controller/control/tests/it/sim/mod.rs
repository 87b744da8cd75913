// SPDX-License-Identifier: Apache-2.0
//! A simulated link in virtual time, with the loop closed over it.
#![allow(dead_code, unused_imports)] // each test file uses its part

mod checks;
mod drawing;
mod link;

pub(crate) use checks::{Checks, Decision};
pub(crate) use drawing::{Arrow, DRAWN, Kind, Phase};
pub(crate) use link::{LINK, START_BYTES, SimulatedLink};

use std::collections::BTreeSet;
use std::sync::Arc;
use tidemark_advice::advise;
use tidemark_control::{
    Action, Change, Changed, ControlError, Input, Limit, LinkControl, LinkSettings, Mode, Origin,
    Outcome, Range, Readings, Settings, State, Telemetry as _, TelemetryReading, Timestamp,
};
use tidemark_estimators::LinkEstimate;
use tidemark_rules::{Goal, Options, Targets};

/// Returns the limits that may be written at the link.
pub(crate) fn range(settings: &Settings) -> Range {
    Range {
        min_bytes: settings.min_limit_bytes,
        max_bytes: settings.max_limit_bytes,
        unit_bytes: 1,
    }
}

fn link_settings(settings: &Settings) -> LinkSettings {
    LinkSettings {
        id: LINK,
        control: Arc::new(settings.clone()),
        range: range(settings),
        has_switch: true,
        window_s: 10.0,
        retention_s: 120.0,
    }
}

/// The loop over the link as the daemon runs it: it carries out the actions.
pub(crate) struct World {
    pub link: SimulatedLink,
    pub control: LinkControl,
    mode: Mode,
    pub settings: Settings,
    pub now: Timestamp,
    pub log: Vec<Change>,
    pub answers: Vec<Result<Changed, ControlError>>,
    pub saves: usize,
    /// Multiple of bytes that the switch can hold; its nominal unit is 1.
    pub step_bytes: u32,
    /// Whether the switch refuses writes.
    pub broken: bool,
    /// Whether the switch does not even return its limit.
    pub unreachable: bool,
    /// Whether the audit log rejects intents.
    pub unrecordable: bool,
    /// Whether answers of the switch wait for [`World::answer`].
    pub slow: bool,
    waiting: Vec<Action>,
    updated: Option<Timestamp>,
    pub checks: Checks,
    /// The arrows of the diagram above `State` that were taken.
    pub arrows: BTreeSet<Arrow>,
}

impl World {
    pub(crate) fn new(mode: Mode, change: impl FnOnce(&mut Settings, &mut Targets)) -> Self {
        let mut settings = Settings {
            min_limit_bytes: 6_000,
            max_limit_bytes: 1_000_000,
            ..Settings::default()
        };
        let mut targets = Targets {
            delay_ms: Some(10.0),
            priority: vec![Goal::Loss, Goal::Delay],
            ..Targets::default()
        };
        change(&mut settings, &mut targets);
        Self {
            link: SimulatedLink::new(),
            control: LinkControl::new(link_settings(&settings), mode, targets),
            mode,
            settings,
            now: Timestamp {
                monotonic_ns: 0,
                unix_ms: 1_700_000_000_000,
            },
            log: Vec::new(),
            answers: Vec::new(),
            saves: 0,
            step_bytes: 1,
            broken: false,
            unreachable: false,
            unrecordable: false,
            slow: false,
            waiting: Vec::new(),
            updated: None,
            checks: Checks::default(),
            arrows: BTreeSet::new(),
        }
    }

    pub(crate) fn readings(&self) -> Readings {
        Readings {
            in_force: Some(self.link.limit),
            telemetry: self.updated.map(|updated| TelemetryReading {
                age_s: Some(self.now.since_s(updated)),
                clock_ns: self.link.clock_ns(),
                complete_ns: self.link.complete_ns(),
            }),
        }
    }

    /// Lets seconds pass, each with traffic, estimate, advice and tick.
    pub(crate) fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now = self.now.plus_s(1.0);
            self.link.pass();
            if !self.link.silent && !self.link.unheard {
                self.updated = Some(self.now);
            }
            if let Some(window) = self.control.window_estimate(&self.link) {
                if window.traffic_changed.is_some() {
                    self.checks.released();
                }
                let estimate = Arc::clone(&window.estimate);
                self.drive(Input::Estimate(window));
                self.drive(self.advice(&estimate));
            }
            self.drive(Input::Tick(self.readings()));
        }
    }

    /// Returns the advisor's answer to an estimate.
    pub(crate) fn advice(&self, estimate: &LinkEstimate) -> Input {
        let options = Options {
            max_bytes: Some(self.settings.max_limit_bytes as f64),
            ..Options::default()
        };
        let mut measured = estimate.measured();
        measured.tried = self.control.tried_limits().of(&measured, self.now);
        let advice = advise(&measured, self.control.targets(), &options);
        Input::Advice {
            advice: Box::new(advice),
            measured: Box::new(measured),
        }
    }

    /// Lets the time of a rest or of a trial pass without telemetry, except that the last report is
    /// new.
    pub(crate) fn jump(&mut self, seconds: f64) {
        self.now = self.now.plus_s(seconds);
        self.updated = Some(self.now);
    }

    /// Passes one input to the loop; checks that its arrow is in the diagram.
    pub(crate) fn step(&mut self, input: Input) -> Vec<Action> {
        let (kind, before) = (Kind::of(&input), self.control.state().clone());
        let actions = self.control.on(input, self.now);
        if let Some(arrow) = drawing::arrow(&before, kind, self.control.state()) {
            assert!(DRAWN.contains(&arrow), "{arrow:?} is not drawn");
            self.arrows.insert(arrow);
        }
        actions
    }

    /// Restarts the controller with other settings.
    pub(crate) fn restart(&mut self, change: impl FnOnce(&mut Settings)) {
        // A controller that ends has no write under way.
        self.settle();
        let saved = self.control.saved(self.now);
        change(&mut self.settings);
        let targets = self.control.targets().clone();
        self.control = LinkControl::new(link_settings(&self.settings), self.mode, targets);
        self.control.restore(saved, self.now);
    }

    pub(crate) fn confirm(&mut self) {
        let readings = self.readings();
        self.drive(Input::Confirm {
            seen_bytes: None,
            readings,
        });
    }

    pub(crate) fn set(&mut self, limit: Limit) {
        let readings = self.readings();
        self.drive(Input::Set {
            limit,
            reason: "set by an operator".into(),
            readings,
        });
    }

    /// Passes an input, carries out the actions and passes their answers, until nothing is left to
    /// do.
    pub(crate) fn drive(&mut self, input: Input) {
        match &input {
            Input::Targets(_) => self.checks.released(),
            Input::Mode(mode) => self.mode = *mode,
            _ => {}
        }
        let mut inputs = std::collections::VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let actions = self.step(input);
            self.check(&actions);
            for action in actions {
                match action {
                    Action::Record(change) => self.log.push(*change),
                    Action::Answer(answer) => self.answers.push(answer),
                    Action::Save => self.saves += 1,
                    other if self.slow => self.waiting.push(other),
                    other => inputs.push_back(self.carry_out(&other)),
                }
            }
        }
    }

    /// Passes the answers that were waiting.
    pub(crate) fn answer(&mut self) {
        for action in std::mem::take(&mut self.waiting) {
            let input = self.carry_out(&action);
            self.drive(input);
        }
    }

    /// Passes answers until none is waiting.
    pub(crate) fn settle(&mut self) {
        self.slow = false;
        while !self.waiting.is_empty() {
            self.answer();
        }
    }

    fn carry_out(&mut self, action: &Action) -> Input {
        let broken = || "unplugged".to_string();
        match action {
            Action::Write { .. } if self.unrecordable => Input::NotRecorded("no space left".into()),
            Action::Write { limit, .. } => {
                let result = if self.broken {
                    Err(broken())
                } else {
                    Ok(limit.rounded(self.step_bytes))
                };
                if let Ok(held) = result {
                    self.link.limit = held;
                }
                Input::Written {
                    result,
                    clock_ns: self.updated.map(|_| self.link.clock_ns()),
                }
            }
            Action::Measure { from_ns, to_ns } => {
                Input::Outcome(Arc::new(self.link.estimate(*from_ns, *to_ns)))
            }
            _ if self.unreachable => {
                if let Some(write) = self.control.state().write() {
                    let ends = write.origin() != Origin::Restore && !self.settings.dry_run;
                    self.checks.read_failures += usize::from(ends);
                }
                Input::LimitRead(Err("unplugged".into()))
            }
            _ => Input::LimitRead(Ok(self.link.limit)),
        }
    }

    /// Checks the properties of the loop for a batch of actions.
    fn check(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Read => self.checks.decided(self.decision()),
                Action::Write { limit, intent } => {
                    assert_eq!(intent.limit, Some(*limit));
                    assert_eq!(intent.outcome, Outcome::Intended);
                    let State::Writing { write, .. } = self.control.state() else {
                        panic!("a write without its state");
                    };
                    assert!(!self.settings.dry_run, "a write in a dry run");
                    let range = range(&self.settings);
                    self.checks.written(write.origin(), *limit, range);
                }
                Action::Record(change) => {
                    let hold_s = self.settings.rollback_hold_s;
                    self.checks.recorded(change, self.now, hold_s);
                }
                _ => {}
            }
        }
        assert_eq!(
            self.checks.open_trials,
            usize::from(self.control.trial().is_some()),
            "trials without a verdict"
        );
    }

    fn decision(&self) -> Decision {
        let State::Reading { write, .. } = self.control.state() else {
            panic!("a read without its write");
        };
        let e = self.control.estimate();
        let (reports, lost) = e.map_or((0, 0), |e| (e.arrivals, e.reports_lost));
        Decision {
            origin: write.origin(),
            now: self.now,
            fresh: self
                .updated
                .is_some_and(|at| self.now.since_s(at) <= self.settings.max_telemetry_age_s),
            complete: lost as f64 <= self.settings.max_report_loss * (reports + lost).max(1) as f64,
        }
    }
}
