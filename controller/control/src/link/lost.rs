// SPDX-License-Identifier: Apache-2.0
//! The switch lost its state: what it holds then is nobody's doing, and our limit is
//! written again until the switch has it.

use super::LinkControl;
use super::state::Write;
use crate::io::Action;
use crate::record::Origin;
use crate::time::Timestamp;
use tidemark_rules::Limit;

const WHY: &str = "the switch had lost its state";

/// The switch lost our limit, and nothing says yet that it has it again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LostLimit {
    /// All of its state is lost; else only limits of which nothing is left.
    everything: bool,
    /// A write was under way when that was told. Whether the switch got it before or
    /// after, the next look tells, not its outcome.
    during_write: bool,
    /// When our limit was written again last.
    tried: Option<Timestamp>,
}

impl LinkControl {
    /// Gives the switch back the limit that we set; during a write, after the next
    /// look at the switch.
    pub(super) fn on_state_lost(&mut self, everything: bool, now: Timestamp) -> Vec<Action> {
        let during_write = self.state.is_writing();
        self.lost = Some(LostLimit {
            everything,
            during_write,
            tried: None,
        });
        if during_write {
            return Vec::new();
        }
        // What is found there next is nobody's doing.
        self.seen = None;
        let Some(limit) = self.set else {
            self.lost = None;
            return Vec::new();
        };
        self.tried_again(now);
        if everything {
            return self.restore_limit(limit, None, WHY, now);
        }
        let write = self.restoring(limit, WHY);
        self.start(write)
    }

    /// A look at a switch that lost our limit: what is to be done, or `None` where it
    /// counts like any other.
    pub(super) fn found_after_loss(&mut self, found: Limit, now: Timestamp) -> Option<Vec<Action>> {
        let lost = self.lost?;
        let ours = self.set.map(|l| l.rounded(self.settings.range.unit_bytes));
        let stands = !lost.everything && found != Limit::Unlimited;
        let (Some(set), false) = (self.set, stands || ours == Some(found)) else {
            self.lost = None;
            // Without a limit of ours nothing is expected.
            self.seen = self.seen.filter(|_| self.set.is_some());
            return None;
        };
        self.seen = Some(found);
        let pause_s = self.settings.control.min_change_interval_s;
        if lost.tried.is_some_and(|at| now.since_s(at) < pause_s) {
            return Some(Vec::new());
        }
        self.tried_again(now);
        Some(self.restore_limit(set, Some(found), WHY, now))
    }

    fn tried_again(&mut self, now: Timestamp) {
        if let Some(lost) = &mut self.lost {
            lost.tried = Some(now);
        }
    }

    /// The switch told a limit that it had not lost.
    pub(super) fn not_lost(&mut self) {
        self.lost = None;
    }

    /// A write has ended. One that began after the loss and succeeded ends it.
    pub(super) fn write_ended(&mut self, succeeded: bool) {
        match &mut self.lost {
            Some(lost) if lost.during_write => lost.during_write = false,
            lost if succeeded => *lost = None,
            _ => {}
        }
    }

    /// Writes a limit of ours again, without a look at the one before.
    pub(super) fn restore_limit(
        &mut self,
        limit: Limit,
        before: Option<Limit>,
        why: &str,
        now: Timestamp,
    ) -> Vec<Action> {
        let write = self.restoring(limit, why);
        self.state.start_write(write);
        self.order(before, now)
    }

    /// The write that puts a limit of ours back. The range may have been another
    /// one when it was set.
    fn restoring(&self, limit: Limit, why: &str) -> Write {
        let mut reason = why.to_string();
        let nearest = self.settings.range.nearest_limit(&limit).unwrap_or(limit);
        if nearest != limit {
            reason += &format!("; {limit} is outside of the range, and this is its nearest end");
        }
        self.write(nearest, Origin::Restore, reason)
    }
}
