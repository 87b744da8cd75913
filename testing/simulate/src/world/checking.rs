// SPDX-License-Identifier: Apache-2.0
//! Checks made several times a second, and those after the faults: telemetry is live again, and the
//! bounds hold again.

use super::state::{CHECK_NS, Event, MS, START_UNIX_MS, World};
use crate::controller::LINK;
use crate::plan::Bound;
use crate::tcp::MSS;
use tidemark_control::Settings;

/// Time after the faults until telemetry is live, ms: the longest silence of a connection, plus the
/// collector's hold-back.
const LIVE_MS: u64 = 6_000;
/// After this long without a break in its reports, a switch's own clock is followed again, ns.
const FOLLOWED_NS: u64 = 2_000 * MS;
/// Largest age of its telemetry then, ms.
const MAX_AGE_MS: u64 = 2_000;
/// Bounds may be exceeded by the noise that a trial allows.
const SLACK: f64 = 1.1;
/// A limit may stay smaller than required by the dead band, and loss grows with up to the square of
/// that: 1.3. Loss also comes in bursts: in 12 s, one run in some hundreds has half as much again.
const LOSS_SLACK: f64 = 2.0;
/// Interval between the slow subscriber's reads: more updates than allowed are waiting by then.
const SLOW_NS: u64 = 30_000 * MS;
/// Number of the last records shown with a finding.
const RECORDS: usize = 8;

impl World {
    /// Runs the checks made several times a second.
    pub(super) fn check(&mut self) {
        self.schedule(CHECK_NS, Event::Check);
        self.checks.now_ns = self.now_ns;
        if let Some(c) = &mut self.collector {
            if self.now_ns.is_multiple_of(SLOW_NS) {
                c.slow.catch_up();
                self.checks.subscriber(&mut c.slow);
            }
            self.checks.collector(c, &self.reports);
            self.checks.stores(c.pipeline.sink().stores.as_ref());
        }
        if let Some(c) = &self.controller {
            self.checks.controller(c);
        }
        self.check_recovery();
    }

    /// Runs the checks at the end of a run.
    pub(super) fn finish(&mut self) {
        self.checks.now_ns = self.now_ns;
        self.check_loss();
        self.end_collector(true);
        self.end_controller();
        self.checks.joins();
        self.finish_storage();
    }

    fn check_recovery(&mut self) {
        let now_ms = self.now_ns / 1_000_000;
        let quiet_ms = self.plan.quiet_ms();
        let peak = std::mem::take(&mut self.traffic.queue_peak_bytes);
        if now_ms > quiet_ms + LIVE_MS {
            self.check_live();
            self.checks.nothing_untold();
            self.check_stores_live(LIVE_MS * MS);
        }
        let Bound::DelayMs(bound_ms) = self.plan.bound else {
            return;
        };
        if now_ms <= quiet_ms + self.plan.settle_ms() {
            return;
        }
        let peak = self.checks.peak_bytes.max(peak);
        self.checks.peak_bytes = peak;
        let peak = peak.saturating_sub(u64::from(MSS) + 54);
        let delay_ms = peak as f64 * 8e3 / self.plan.rate_bps as f64;
        // Limits below the range are not written. A bound that requires slightly less is relaxed to
        // the lowest limit; one far below cannot be met.
        let least_ms = self.plan.min_limit_bytes as f64 * 8e3 / self.plan.rate_bps as f64;
        let bound_ms = match bound_ms {
            bound if least_ms <= bound * SLACK => bound.max(least_ms),
            bound => bound,
        };
        let slack = if self.checks.approaches {
            SLACK * (1.0 + Settings::default().deadband)
        } else {
            SLACK
        };
        let limit = self.switch.limit();
        let log = self.last_words();
        self.checks.require(
            delay_ms <= bound_ms * slack,
            "bounds hold again",
            || {
                format!(
                    "the queue reached {delay_ms:.1} ms, the bound is {bound_ms:.1} ms; limit {limit:?}; {log}"
                )
            },
        );
    }

    /// Checks that loss meets its bound from when it must, unless the limit is the largest.
    fn check_loss(&mut self) {
        let Bound::LossRate(bound) = self.plan.bound else {
            return;
        };
        let from_ms = self.plan.quiet_ms() + self.plan.settle_ms();
        let from_ns = self.switch.clock_ns(from_ms * MS);
        let to_ns = self.switch.clock_ns(self.now_ns);
        let (arrivals, drops) = self.truth.count(from_ns, to_ns);
        let limit = self.switch.limit();
        let limit_bytes = limit.and_then(|l| l.bytes());
        let most = self.plan.max_limit_bytes as f64 * (1.0 - Settings::default().deadband);
        let largest = limit_bytes.is_none_or(|b| b as f64 >= most);
        // The limit that failed then is remembered for longer than the run.
        if self.checks.approaches {
            return;
        }
        // A smaller limit was tried meanwhile and rolled back: another check covers that.
        let from_host_ns = from_ms * MS;
        if self.checks.worse_ns.is_some_and(|at| at >= from_host_ns) {
            return;
        }
        self.checks.tally.loss_held += u64::from(!largest);
        self.checks.tally.loss_at_largest += u64::from(largest);
        let loss = drops as f64 / arrivals.max(1) as f64;
        let log = self.last_words();
        self.checks
            .require(largest || loss <= bound * LOSS_SLACK, "bounds hold again", || {
                format!(
                    "{drops} of {arrivals} packets were dropped, {:.2} %, the bound is {:.2} %; limit {limit:?}; {log}",
                    loss * 100.0,
                    bound * 100.0
                )
            });
    }

    /// Describes the controller's state, for a violation.
    fn last_words(&self) -> String {
        let Some(c) = &self.controller else {
            return "no controller".into();
        };
        let may = c.core.may_apply(LINK).map_err(|e| e.to_string());
        let link = c.core.link(LINK);
        let advice = link
            .as_ref()
            .and_then(|l| l.advice.as_ref()?.limit_bytes)
            .map_or_else(|| "none".into(), |b| b.to_string());
        let reasons = link
            .as_ref()
            .and_then(|l| Some(l.advice.as_ref()?.reasons.join("; ")));
        let records: Vec<String> = c
            .core
            .audit
            .recent()
            .iter()
            .rev()
            .take(RECORDS)
            .map(|r| {
                let ms = r.unix_ms as i64 - START_UNIX_MS as i64 - self.unix_offset_ms;
                let at_s = ms as f64 / 1e3;
                let (what, limit) = (r.outcome, r.limit);
                format!("{at_s:.3} s {:?} {what:?} {limit:?} {}", r.origin, r.reason)
            })
            .collect();
        let (hold, writes, steady) = c.core.read(|s| {
            let l = s.links.get(&LINK);
            let hold = l.and_then(|l| l.state().hold());
            let writes = l.is_some_and(|l| l.state().write().is_some());
            (hold, writes, l.map(|l| (l.steadiness(), l.failed_limit())))
        });
        format!(
            "advice {advice} ({reasons:?}), may apply: {may:?}; rest: {hold:?}, writes: {writes}, steady: {steady:?}; last records: {records:?}"
        )
    }

    /// Checks the estimate of a time without faults.
    pub(super) fn check_estimate(&mut self) {
        let Some(c) = &self.controller else { return };
        let live_ns = (self.plan.quiet_ms() + LIVE_MS) * MS;
        let estimate = c.core.link(LINK).and_then(|l| l.estimate);
        if self.now_ns < live_ns || self.checks.violation.is_some() {
            return;
        }
        let from_ns = self.switch.told_ns(live_ns);
        if let Some(e) = estimate.filter(|e| e.from_ns >= from_ns) {
            let step_ns = self.switch.step_ns;
            self.checks.estimate(&e, &self.truth, step_ns, &self.plan);
        }
    }

    fn check_live(&mut self) {
        let now_ms = self.now_ns / 1_000_000;
        let clock_ms = self.switch.told_ns(self.now_ns) / 1_000_000;
        let Some(controller) = &self.controller else {
            self.checks
                .fail("telemetry live again", "there is no controller");
            return;
        };
        let complete = controller.core.with_feed(LINK, |f| f.complete_ns(LINK));
        let complete_ms = complete.unwrap_or(0) / 1_000_000;
        let now_of = controller.core.with_feed(LINK, |f| f.connected);
        self.checks.require(
            complete_ms + MAX_AGE_MS >= clock_ms,
            "telemetry live again",
            || {
                format!(
                    "at {now_ms} ms the switch's clock is {clock_ms} ms and telemetry ends at {complete_ms} ms (connected: {now_of:?})"
                )
            },
        );
        let age_s = controller.core.with_feed(LINK, |f| {
            f.report_age_s(LINK, controller.core.now())
                .unwrap_or(f64::MAX)
        });
        self.checks.require(
            age_s.is_none_or(|s| s * 1e3 <= MAX_AGE_MS as f64),
            "telemetry live again",
            || format!("at {now_ms} ms the controller holds what comes for {age_s:?} s old"),
        );
        // Without reports the collector's clock determines the time, also for a switch whose
        // restart was missed.
        if self.reports.heard.for_ns(self.switch.epoch) < FOLLOWED_NS {
            return;
        }
        self.checks
            .require(complete_ms <= clock_ms + 10, "telemetry live again", || {
                format!(
                    "telemetry ends at {complete_ms} ms, ahead of the switch's clock, {clock_ms} ms"
                )
            });
    }
}
