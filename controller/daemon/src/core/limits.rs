// SPDX-License-Identifier: Apache-2.0
//! Carries out the decisions of a link's closed loop: reads and writes limits, records, saves.

use super::switch::Switch;
use super::{Core, Event};
use std::collections::VecDeque;
use tidemark_control::{
    Action, AuditPolicy, Change, Changed, ControlError, Input, Limit, Readings,
};
use tidemark_estimators::LinkId;
use tokio::sync::MutexGuard;

type Answer = Result<Changed, ControlError>;

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Done {
    /// The limit before and after.
    pub changed: Changed,
    /// Whether the audit log has all records of it; false without a log.
    pub recorded: bool,
}

impl Core {
    /// Passes an operator's request to the loop of a link, and waits for its answer. The request
    /// waits until no other limit of the switch is being changed.
    pub(super) async fn command(
        &self,
        link: LinkId,
        request: impl FnOnce(Readings) -> Input,
    ) -> Result<Done, ControlError> {
        let switch = self.switches.get(&link.node_id);
        let changing = match switch {
            Some(s) => Some(s.changing.lock().await),
            None => None,
        };
        let now = self.now();
        let input = request(self.read(|s| s.readings(link, now)));
        let answer = self.drive(link, input, changing).await;
        answer.unwrap_or(Err(ControlError::NoSwitch(link.node_id)))
    }

    /// Passes an input to the loop of a link, carries out its actions, and passes the results back
    /// until nothing is left to do. `changing` locks the limits of the switch; the lock is taken at
    /// the first action that needs it.
    pub(super) async fn drive<'a>(
        &'a self,
        link: LinkId,
        input: Input,
        mut changing: Option<MutexGuard<'a, ()>>,
    ) -> Option<Result<Done, ControlError>> {
        let switch = self.switches.get(&link.node_id);
        let mut inputs = VecDeque::from([input]);
        let mut answer: Option<Answer> = None;
        let mut recorded = self.audit.has_file();
        while let Some(input) = inputs.pop_front() {
            let now = self.now();
            for action in self.write(|s| s.link_mut(link).on(input, now)) {
                match (action, switch) {
                    (Action::Record(change), _) => recorded &= self.record(*change),
                    (Action::Save, _) => self.save(),
                    (Action::Answer(a), _) => answer = Some(a),
                    (Action::Measure { from_ns, to_ns }, _) => {
                        let estimate = self.with_feed(link, |f| f.outcome(link, from_ns, to_ns));
                        inputs.extend(estimate.map(|e| Input::Outcome(e.into())));
                    }
                    (Action::Read, Some(s)) => {
                        if changing.is_none() {
                            changing = Some(s.changing.lock().await);
                        }
                        inputs.push_back(self.read_limit(s, link).await);
                    }
                    (Action::Write { limit, intent }, Some(s)) => {
                        if changing.is_none() {
                            changing = Some(s.changing.lock().await);
                        }
                        let next = match self.audit.record(*intent) {
                            Err(why) if self.audit_policy() == AuditPolicy::Required => {
                                Input::NotRecorded(why)
                            }
                            intended => {
                                recorded &= intended.is_ok();
                                self.write_limit(s, link, limit).await
                            }
                        };
                        inputs.push_back(next);
                    }
                    // The loop knows that there is no switch and asks nothing of it.
                    (Action::Read | Action::Write { .. }, None) => {}
                }
            }
        }
        Some(answer?.map(|changed| Done { changed, recorded }))
    }

    /// Returns the policy for a change whose record cannot be written.
    pub fn audit_policy(&self) -> AuditPolicy {
        self.config.control.audit_policy(self.read(|s| s.mode))
    }

    async fn read_limit(&self, switch: &Switch, link: LinkId) -> Input {
        let read = switch.driver.read_queue_limit(link.port, link.queue).await;
        if let (Err(e), true) = (&read, self.config.control.dry_run) {
            tracing::warn!("dry run: {e}");
        }
        Input::LimitRead(read.map_err(|e| e.to_string()))
    }

    async fn write_limit(&self, switch: &Switch, link: LinkId, limit: Limit) -> Input {
        let result = switch
            .driver
            .set_queue_limit(link.port, link.queue, limit)
            .await;
        let now = self.now();
        let clock_ns = self.write(|s| {
            if let (Ok(found), Some(state)) = (&result, s.switches.get_mut(&link.node_id)) {
                state.limits.insert(link, *found);
            }
            s.feed_of(link).map(|f| f.now_ns(link, now))
        });
        Input::Written {
            result: result.map_err(|e| e.to_string()),
            clock_ns,
        }
    }

    /// Records what loops decided without a switch.
    pub(super) fn record_all(&self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Record(change) => {
                    self.record(*change);
                }
                Action::Save => self.save(),
                _ => {}
            }
        }
    }

    /// Records a change. Returns false if the audit log has a file that did not take it.
    pub(super) fn record(&self, change: Change) -> bool {
        self.metrics.change(change.outcome);
        self.emit(Event::Changed(Box::new(change.clone())));
        self.audit.record(change).is_ok()
    }
}
