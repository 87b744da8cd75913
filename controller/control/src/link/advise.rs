// SPDX-License-Identifier: Apache-2.0
//! Estimates, advice and what is wanted: evidence into the hysteresis filter.

use super::LinkControl;
use crate::contradiction::contradiction;
use crate::io::Action;
use crate::settings::Mode;
use crate::stationarity::{StationarityWindow, WindowEstimate};
use crate::time::Timestamp;
use crate::tried_limits::SAME_LIMIT;
use std::sync::Arc;
use tidemark_advice::{Advice, Verdict, predict};
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
            self.memory.hysteresis.restart();
        }
        let Some(why) = window.traffic_changed else {
            return Vec::new();
        };
        self.memory.hysteresis.restart();
        self.memory.other_traffic = true;
        self.forget_rollback();
        self.memory.tried.forget();
        self.abandon_trial(&format!("the traffic changed meanwhile: {why}"), now)
    }

    pub(super) fn on_advice(
        &mut self,
        advice: Advice,
        measured: Traffic,
        now: Timestamp,
    ) -> Vec<Action> {
        let caveat = self.memory.estimate.as_deref().and_then(contradiction);
        self.memory.pure &= caveat.is_none();
        if self.memory.pure {
            self.memory.tried.note(&measured, now);
        }
        self.memory.latest_bytes = advice.limit_bytes;
        let mut shown = self.filtered(advice, &measured);
        self.memory.other_traffic &= !self.memory.hysteresis.is_steady(&self.settings.control);
        if let Some(caveat) = caveat {
            let caveat = format!("caveat: {caveat}; it is not applied");
            shown.reasons.push(caveat);
        }
        let verdict = Verdict::by(&shown, &measured, &self.targets);
        self.memory.verdict = Some(Arc::new(verdict));
        self.memory.advice = Some(Arc::new(shown));
        self.memory.measured = Some(Arc::new(measured));
        Vec::new()
    }

    /// The advisor's options with what was advised so far, of this traffic at this limit.
    pub fn keeping(&self, options: Options) -> Options {
        let advice = self.memory.advice.as_ref();
        let known = advice.filter(|_| !self.memory.pool.is_empty());
        Options {
            kept_bytes: known.and_then(|a| a.limit_bytes),
            kept_interval: known.and_then(|a| a.interval_bytes),
            ..options
        }
    }

    /// All that was measured under this traffic; `window` alone before there is more.
    pub fn pooled(&self, window: Traffic) -> Traffic {
        self.memory.pool.with(window)
    }

    pub(super) fn on_mode(&mut self, mode: Mode) -> Vec<Action> {
        self.mode = mode;
        Vec::new()
    }

    pub(super) fn on_targets(&mut self, targets: Targets) -> Vec<Action> {
        self.targets = targets;
        // What is held answers other targets.
        self.memory.hysteresis.reset();
        self.forget_rollback();
        Vec::new()
    }

    pub(super) fn on_clock_restarted(&mut self, now: Timestamp) -> Vec<Action> {
        self.memory.estimate = None;
        self.memory.advice = None;
        self.memory.verdict = None;
        self.memory.measured = None;
        self.memory.pool.clear();
        self.memory.latest_bytes = None;
        self.memory.stationarity = StationarityWindow::default();
        self.memory.hysteresis.restart();
        self.abandon_trial("the clock of the switch restarted", now)
    }

    /// What is held is in force and misses a target there, and what the advice of the
    /// last seconds has instead is near, but ends the miss.
    fn ends_miss_nearby(&self, advice: &Advice) -> Option<u64> {
        let (filter, settings) = (&self.memory.hysteresis, &self.settings.control);
        let in_force = advice.present.as_ref()?.limit_bytes;
        let held = filter.held()? as f64;
        if (held - in_force).abs() > SAME_LIMIT * in_force {
            return None;
        }
        let bytes = filter.clear_median(settings)?;
        let at = Advice {
            limit_bytes: Some(bytes),
            ..advice.clone()
        };
        at.worth_a_step(bytes, settings.deadband).then_some(bytes)
    }

    /// The advice to show: at the limit that the hysteresis filter holds, with
    /// what this second's estimate expects of it.
    fn filtered(&mut self, mut advice: Advice, measured: &Traffic) -> Advice {
        let Some(raw) = advice.limit_bytes.filter(|&b| b > 0) else {
            self.memory.hysteresis.reset();
            return advice;
        };
        if self.memory.pure {
            self.memory.hysteresis.push(raw, &self.settings.control);
            if let Some(bytes) = self.ends_miss_nearby(&advice) {
                self.memory.hysteresis.hold(bytes);
            }
        }
        let held = self.memory.hysteresis.held().unwrap_or(raw);
        if held == raw {
            return advice;
        }
        let scale = held as f64 / raw as f64;
        advice.limit_bytes = Some(held);
        advice.limit_packets = advice.limit_packets.map(|v| v * scale);
        advice.limit_ms = advice.limit_ms.map(|v| v * scale);
        advice.marking = advice.marking.map(|m| m.above(held));
        advice.predicted = predict(measured, held as f64).ok();
        advice.reasons.push(match self.memory.hysteresis.range() {
            Some((low, high, count)) => format!(
                "the advice stays at {held} bytes: that of the last {count} s lay between {low} and {high} bytes, and its median within {:.0} % of it",
                self.settings.control.hysteresis * 100.0
            ),
            None => format!(
                "the advice stays at {held} bytes until there is enough of the traffic as it is now"
            ),
        });
        advice
    }
}
