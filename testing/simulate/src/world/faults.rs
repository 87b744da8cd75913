// SPDX-License-Identifier: Apache-2.0
//! Begins and ends faults.

use super::state::{Event, MS, World};
use crate::fault::{Failing, Kind};
use crate::parts::truth::Truth;
use anyhow::Result;
use tidemark_control::Limit;

/// How long the collector stays busy after a step of the Unix time: datagrams that arrive shortly
/// after it were stamped before.
const BUSY_NS: u64 = 20 * MS;

/// Probability that a write fails at a failing switch.
const FAILS: f64 = 0.8;

impl World {
    /// Returns whether a fault of a kind is active.
    pub(crate) fn any_active(&self, is: impl Fn(&Kind) -> bool) -> bool {
        let pairs = self.active.iter().zip(&self.plan.faults);
        pairs.into_iter().any(|(on, f)| *on && is(&f.kind))
    }

    fn duration_ns(&self, i: usize) -> u64 {
        self.plan.faults[i].for_ms * MS
    }

    pub(super) fn fault_begins(&mut self, i: usize) -> Result<()> {
        self.active[i] = true;
        self.digest.add(i as u64);
        match self.plan.faults[i].kind {
            Kind::CollectorKill => self.end_collector(false),
            Kind::PowerCut => self.power_cut(i),
            Kind::DiskFull => self.disk_fails(i),
            Kind::DatabaseDown(away) => self.storage.database_fails(away),
            Kind::CollectorStop => self.end_collector(true),
            Kind::ControllerKill => self.end_controller(),
            Kind::SwitchRestart => {
                self.switch.restart(self.now_ns);
                // Its clock restarts also.
                self.truth = Truth::default();
                self.reports.kept.clear();
                self.checks.switch_restarted();
            }
            Kind::UnixStep(ms) => {
                // Waiting datagrams have their stamps, and more will arrive.
                self.unix_offset_ms += ms;
                let until = self.now_ns + BUSY_NS;
                self.reports.stalled_until_ns = self.reports.stalled_until_ns.max(until);
            }
            Kind::CollectorStall => {
                let until = self.now_ns + self.duration_ns(i);
                self.reports.stalled_until_ns = self.reports.stalled_until_ns.max(until);
            }
            Kind::Hostile(..) => self.schedule(0, Event::Hostile(i)),
            Kind::SecondWriter(part) => self.others_write(part),
            Kind::SwitchClockStep(ms) => self.switch.step_ns += ms * MS as i64,
            Kind::Operator(part) => self.operator_asks(part),
            Kind::SlowPort(factor) => {
                let rate = (self.plan.rate_bps as f64 * factor) as u64;
                self.switch.set_rate(rate);
            }
            Kind::MoreFlows(count) => {
                for n in 0..count {
                    let flow = self.extra_flow(i, n);
                    self.schedule(n as u64 * 5 * MS, Event::FlowStart(flow));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes a limit as somebody else.
    pub(super) fn others_write(&mut self, part: f64) {
        let bytes = (self.plan.max_limit_bytes as f64 * part) as u64;
        self.switch.run(self.now_ns);
        self.take_left();
        let limit = Limit::DropTail { limit_bytes: bytes };
        // A switch without a program refuses it.
        let before = self.switch.limit();
        if self.switch.write_limit(limit).is_ok() {
            let news = before != Some(limit);
            self.checks.others_wrote(limit, news, self.now_ns);
        }
    }

    /// Called when a trial begins: somebody may be about to write another limit.
    pub(super) fn trial_begins(&mut self) {
        let now_ms = self.now_ns / MS;
        for i in 0..self.active.len() {
            let f = &self.plan.faults[i];
            let Kind::MeetsTrial { part, after_ms } = f.kind else {
                continue;
            };
            if self.active[i] && now_ms + after_ms < f.at_ms + f.for_ms {
                self.schedule(after_ms * MS, Event::OthersWrite(part));
            }
        }
    }

    /// Draws how a write fails at the switch, if it does.
    pub(super) fn failing(&mut self) -> Option<Failing> {
        let mut fails = None;
        for (i, r) in self.fault_rngs.iter_mut().enumerate() {
            let Kind::SwitchFails(how) = self.plan.faults[i].kind else {
                continue;
            };
            if self.active[i] && r.chance(FAILS) {
                fails = Some(how);
            }
        }
        fails
    }

    /// Returns the numbers of a fault's additional flows, unique to each fault.
    fn extra_flow(&self, i: usize, n: usize) -> usize {
        let earlier: usize = self.plan.faults[..i]
            .iter()
            .map(|f| match f.kind {
                Kind::MoreFlows(count) => count,
                _ => 0,
            })
            .sum();
        self.plan.flows + earlier + n
    }

    /// Starts the programs that are down, unless a fault keeps them down.
    fn start_what_is_down(&mut self) -> Result<()> {
        let no_collector = |k: &Kind| {
            matches!(
                k,
                Kind::CollectorKill | Kind::CollectorStop | Kind::PowerCut
            )
        };
        if self.collector.is_none() && !self.any_active(no_collector) {
            self.start_collector()?;
        }
        let no_controller = |k: &Kind| {
            matches!(
                k,
                Kind::ControllerKill | Kind::PowerCut | Kind::KillWithinWrite(_)
            )
        };
        if self.controller.is_none() && !self.any_active(no_controller) {
            self.start_controller()?;
        }
        Ok(())
    }

    pub(super) fn fault_ends(&mut self, i: usize) -> Result<()> {
        self.active[i] = false;
        let kind = self.plan.faults[i].kind;
        match kind {
            Kind::CollectorKill | Kind::CollectorStop | Kind::ControllerKill | Kind::PowerCut => {
                self.start_what_is_down()?;
            }
            Kind::KillWithinWrite(then) => {
                let was_killed = self.controller.is_none();
                self.start_what_is_down()?;
                if let Some(part) = then.filter(|_| was_killed) {
                    self.operator_asks(part);
                }
            }
            Kind::DiskFull => {
                self.disk_is_sound();
                self.start_what_is_down()?;
            }
            Kind::DatabaseDown(_) => self.database_is_sound(),
            Kind::SlowPort(_) => self.switch.set_rate(self.plan.rate_bps),
            Kind::MoreFlows(count) => {
                for n in 0..count {
                    let flow = self.extra_flow(i, n);
                    self.flow_stop(flow);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
