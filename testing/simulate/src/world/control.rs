// SPDX-License-Identifier: Apache-2.0
//! Controller, switch, and the messages between them.

use super::state::{Event, MS, World};
use crate::control_link::{Answer, Request};
use crate::controller::{AUDIT_LOG, Controller, DIR};
use crate::fault::{Failing, Kind};
use anyhow::Result;
use durable_fs::Disk as _;
use std::path::Path;
use tidemark_control::Limit;
use tidemark_controller::core::Event as CoreEvent;

const DELAY_NS: u64 = MS;
const TICK_NS: u64 = 1_000 * MS;
const POLL_NS: u64 = 2_000 * MS;
/// A request without an answer fails after this time.
const PATIENCE_NS: u64 = 1_500 * MS;

impl World {
    pub(super) fn start_controller(&mut self) -> Result<()> {
        self.set_clock();
        self.controller_starts += 1;
        let disk = self.storage.controller_disk.shared();
        let controller = Controller::start(&self.plan, disk, &self.clock)?;
        self.checks.log_read(&controller, &self.storage.log);
        self.checks.controller_started(&controller);
        self.controller = Some(controller);
        Ok(())
    }

    pub(crate) fn end_controller(&mut self) {
        self.drain_records();
        if let Some(c) = self.controller.take() {
            self.checks.audited(&c);
            self.storage.log.end(&c);
            // Killed first: files must not be written while it is dropped.
            self.storage.controller_disk.killed();
        }
        self.disconnect("the controller is gone");
    }

    pub(super) fn tick(&mut self) {
        self.schedule(TICK_NS, Event::Tick);
        self.set_clock();
        let silent_ns = self.now_ns - self.telemetry.heard_ns.min(self.now_ns);
        if let Some(c) = &mut self.controller {
            let before = c.wants();
            c.tick();
            self.checks.now_ns = self.now_ns;
            if let (None, Some((origin, limit))) = (before, c.wants()) {
                self.checks.decided(origin, limit, silent_ns);
            }
        }
        self.after_work();
        self.check_estimate();
    }

    pub(super) fn poll_switch(&mut self) {
        self.schedule(POLL_NS, Event::PollSwitch);
        self.set_clock();
        if let Some(c) = &mut self.controller {
            c.poll_switch();
        }
        self.after_work();
    }

    /// Sends the requests that the controller has made.
    fn after_work(&mut self) {
        self.drain_records();
        let Some(c) = &mut self.controller else {
            return;
        };
        let requests = std::mem::take(&mut c.channel.lock().outbox);
        let start = self.controller_starts;
        for (id, request) in requests {
            self.schedule(PATIENCE_NS, Event::Answer(start, id, Answer::Lost));
            if let Some(delay) = self.control_delay() {
                self.schedule(delay, Event::Request(start, id, request));
            }
        }
    }

    /// Draws the delay of a message; `None` if it is lost.
    fn control_delay(&mut self) -> Option<u64> {
        let mut delay = DELAY_NS;
        for i in 0..self.active.len() {
            if !self.active[i] {
                continue;
            }
            let r = &mut self.fault_rngs[i];
            match self.plan.faults[i].kind {
                Kind::ControlPartition => return None,
                Kind::ControlLoss(p) => {
                    if r.chance(p) {
                        return None;
                    }
                    delay += r.next_u64() % (1_000 * MS);
                }
                _ => {}
            }
        }
        Some(delay)
    }

    /// Lets an operator request a limit, as a fraction of our largest one.
    pub(super) fn operator_asks(&mut self, part: f64) {
        let limit_bytes = (self.plan.max_limit_bytes as f64 * part) as u64;
        self.set_clock();
        if let Some(c) = &mut self.controller {
            c.operator(Limit::DropTail { limit_bytes });
        }
        self.after_work();
    }

    /// Handles a request that reached the switch.
    pub(super) fn request(&mut self, start: u64, id: u64, request: Request) {
        self.switch.run(self.now_ns);
        self.take_left();
        let answer = match request {
            Request::Health => Answer::Health {
                program: self.switch.has_program(),
            },
            Request::Provision(limit) => self.provision(start, limit),
            Request::Read => match (self.switch.has_program(), self.switch.limit()) {
                (true, limit) => Answer::Limit(limit.unwrap_or(Limit::Unlimited)),
                (false, _) => Answer::Refused("no program is loaded".into()),
            },
            Request::Write(limit) => {
                self.checks.asked(limit, self.now_ns);
                self.intended(limit);
                self.digest.add(limit.bytes().unwrap_or(0));
                let answer = self.write(limit);
                let cut = self.any_active(|k| matches!(k, Kind::KillWithinWrite(_)));
                if cut && answer == Some(Answer::Written) && self.switch.limit() == Some(limit) {
                    self.checks.cut_short(limit);
                    return self.end_controller();
                }
                match answer {
                    Some(answer) => answer,
                    None => return,
                }
            }
        };
        if let Some(delay) = self.control_delay() {
            self.schedule(delay, Event::Answer(start, id, answer));
        }
    }

    /// Writes a limit at the switch; returns `None` if the switch gives no answer.
    fn write(&mut self, limit: Limit) -> Option<Answer> {
        let failing = self.failing();
        match failing {
            Some(Failing::Refuses) => return Some(Answer::Refused("out of resources".into())),
            Some(Failing::Ignores) => return Some(Answer::Written),
            _ => {}
        }
        if let Err(why) = self.switch.write_limit(limit) {
            return Some(Answer::Refused(why));
        }
        self.checks.written();
        match failing {
            Some(Failing::WritesAndFails) => Some(Answer::Refused("internal error".into())),
            Some(Failing::WritesSilently) => None,
            _ => Some(Answer::Written),
        }
    }

    /// Checks, when a limit reaches the switch, that the controller's log has its intent.
    fn intended(&mut self, limit: Limit) {
        let path = Path::new(DIR).join(AUDIT_LOG);
        let log = self.storage.controller_disk.read(&path);
        let log = String::from_utf8_lossy(&log.unwrap_or_default()).into_owned();
        self.checks.intended(limit, &log);
    }

    fn provision(&mut self, asked_by: u64, start: Option<Limit>) -> Answer {
        let pushed = match self.switch.provision() {
            Ok(pushed) => pushed,
            Err(e) => return Answer::Refused(e.to_string()),
        };
        if let Some(c) = self
            .controller
            .as_ref()
            .filter(|_| asked_by == self.controller_starts)
        {
            c.channel.lock().push_untold |= pushed;
        }
        if let (Some(start), None) = (start, self.switch.limit()) {
            self.intended(start);
            if let Err(why) = self.switch.write_limit(start) {
                return Answer::Refused(why);
            }
        }
        Answer::Provisioned {
            limit: self.switch.limit().unwrap_or(Limit::Unlimited),
        }
    }

    pub(super) fn answer(&mut self, start: u64, id: u64, answer: Answer) {
        self.set_clock();
        let Some(c) = &mut self.controller else {
            return;
        };
        if start != self.controller_starts {
            return;
        }
        // An answer that nobody waits for stays unread and is dropped here.
        c.channel.lock().answers.insert(id, answer);
        c.work();
        c.channel.lock().answers.clear();
        self.after_work();
    }

    /// Checks the controller's new records.
    pub(super) fn drain_records(&mut self) {
        let Some(c) = &mut self.controller else {
            return;
        };
        let now = self.now_ns;
        let mut changes = Vec::new();
        while let Ok(event) = c.events.try_recv() {
            if let CoreEvent::Changed(change) = event {
                changes.push(*change);
            }
        }
        for change in changes {
            self.digest.add(change.unix_ms);
            if self.checks.recorded(&change, now) {
                self.trial_begins();
            }
        }
    }
}
