// SPDX-License-Identifier: Apache-2.0
//! Handles estimates and advice: evidence of one traffic at one limit.

use super::{Kept, LinkControl};
use crate::contradiction::contradiction;
use crate::io::Action;
use crate::settings::Mode;
use crate::stationarity::{StationarityWindow, WindowEstimate};
use crate::time::Timestamp;
use std::sync::Arc;
use tidemark_advice::{Advice, Verdict};
use tidemark_rules::{Options, Targets, Traffic};

impl LinkControl {
    pub(super) fn on_estimate(&mut self, window: WindowEstimate, now: Timestamp) -> Vec<Action> {
        self.memory.stationarity = window.stationarity;
        self.memory.estimate = Some(window.estimate);
        self.memory.pure = window.pure;
        if window.limit_changed || window.traffic_changed.is_some() {
            self.memory.pool.clear();
        }
        if let Some(e) = self.memory.estimate.as_deref().filter(|_| window.pure) {
            self.memory.pool.take(&e.measured(), e.from_ns, e.to_ns);
        }
        if window.limit_changed {
            self.memory.agreement.restart();
        }
        let Some(why) = window.traffic_changed else {
            return Vec::new();
        };
        self.memory.agreement.restart();
        self.memory.kept = None;
        self.memory.other_traffic = true;
        self.forget_rollback();
        self.memory.tried.forget();
        self.abandon_trial(&format!("the traffic changed meanwhile: {why}"), now)
    }

    pub(super) fn on_advice(
        &mut self,
        mut advice: Advice,
        measured: Traffic,
        now: Timestamp,
    ) -> Vec<Action> {
        let caveat = self.memory.estimate.as_deref().and_then(contradiction);
        self.memory.pure &= caveat.is_none();
        if self.memory.pure {
            self.memory.tried.note(&measured, now);
        }
        match advice.limit_bytes {
            Some(limit) if self.memory.pure => {
                let interval = advice.interval_bytes;
                self.memory.kept = Some(Kept { limit, interval });
                let in_force = advice.present.as_ref().map(|p| p.limit_bytes as u64);
                self.memory.agreement.push(limit, in_force);
            }
            Some(_) => {}
            None => self.memory.agreement.restart(),
        }
        self.memory.other_traffic &= !self.is_steady();
        if let Some(caveat) = caveat {
            let caveat = format!("caveat: {caveat}; it is not applied");
            advice.reasons.push(caveat);
        }
        let verdict = Verdict::by(&advice, &measured, &self.targets);
        self.memory.verdict = Some(Arc::new(verdict));
        self.memory.advice = Some(Arc::new(advice));
        self.memory.measured = Some(Arc::new(measured));
        Vec::new()
    }

    /// Returns the advisor's options with the previous advice for this traffic.
    pub fn keeping(&self, options: Options) -> Options {
        Options {
            kept_bytes: self.memory.kept.map(|k| k.limit),
            kept_interval: self.memory.kept.and_then(|k| k.interval),
            ..options
        }
    }

    /// Returns everything measured under this traffic, or `window` if there is nothing else.
    pub fn pooled(&self, window: Traffic) -> Traffic {
        self.memory.pool.with(window)
    }

    pub(super) fn on_mode(&mut self, mode: Mode) -> Vec<Action> {
        self.mode = mode;
        Vec::new()
    }

    pub(super) fn on_targets(&mut self, targets: Targets) -> Vec<Action> {
        self.targets = targets;
        // The advice kept was for other targets.
        self.memory.kept = None;
        self.memory.agreement.restart();
        self.forget_rollback();
        Vec::new()
    }

    pub(super) fn on_clock_restarted(&mut self, now: Timestamp) -> Vec<Action> {
        self.memory.estimate = None;
        self.memory.advice = None;
        self.memory.verdict = None;
        self.memory.measured = None;
        self.memory.pool.clear();
        self.memory.kept = None;
        self.memory.stationarity = StationarityWindow::default();
        self.memory.agreement.restart();
        self.abandon_trial("the clock of the switch restarted", now)
    }
}
