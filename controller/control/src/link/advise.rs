// SPDX-License-Identifier: Apache-2.0
//! Estimates and advice: evidence into the hysteresis filter.

use super::LinkControl;
use crate::contradiction::contradiction;
use crate::io::Action;
use crate::stationarity::WindowEstimate;
use crate::time::Timestamp;
use std::sync::Arc;
use tidemark_rules::{Advice, Traffic, predict};

impl LinkControl {
    pub(super) fn on_estimate(&mut self, window: WindowEstimate, now: Timestamp) -> Vec<Action> {
        self.stationarity = window.stationarity;
        self.estimate = Some(window.estimate);
        self.pure = window.pure;
        if window.limit_changed {
            self.hysteresis.restart();
        }
        let Some(why) = window.traffic_changed else {
            return Vec::new();
        };
        self.hysteresis.restart();
        self.other_traffic = true;
        self.forget_rollback();
        self.evidence.forget();
        self.abandon_trial(&format!("the traffic changed meanwhile: {why}"), now)
    }

    pub(super) fn on_advice(&mut self, advice: Advice, measured: &Traffic, now: Timestamp) {
        let caveat = self.estimate.as_deref().and_then(contradiction);
        self.pure &= caveat.is_none();
        if self.pure {
            self.evidence.note(measured, now);
        }
        self.latest_bytes = advice.limit_bytes;
        let mut shown = self.filtered(advice, measured);
        self.other_traffic &= !self.hysteresis.is_steady(&self.settings.control);
        if let Some(caveat) = caveat {
            let caveat = format!("caveat: {caveat}; it is not applied");
            shown.reasons.push(caveat);
        }
        self.advice = Some(Arc::new(shown));
    }

    /// The advice to show: at the limit that the hysteresis filter holds, with
    /// what this second's estimate expects of it.
    fn filtered(&mut self, mut advice: Advice, measured: &Traffic) -> Advice {
        let Some(raw) = advice.limit_bytes.filter(|&b| b > 0) else {
            self.hysteresis.reset();
            return advice;
        };
        if self.pure {
            self.hysteresis.push(raw, &self.settings.control);
        }
        let held = self.hysteresis.held().unwrap_or(raw);
        if held == raw {
            return advice;
        }
        let scale = held as f64 / raw as f64;
        advice.limit_bytes = Some(held);
        advice.limit_packets = advice.limit_packets.map(|v| v * scale);
        advice.limit_ms = advice.limit_ms.map(|v| v * scale);
        advice.marking = advice.marking.map(|m| m.above(held));
        advice.predicted = predict(measured, held as f64).ok();
        advice.reasons.push(match self.hysteresis.range() {
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
