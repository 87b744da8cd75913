// SPDX-License-Identifier: Apache-2.0
//! Handles a switch that lost its state: the limit it then holds was set by nobody, and our limit
//! is written again until the switch has it.

use super::LinkControl;
use super::expectation::LostLimit;
use super::state::Write;
use crate::io::Action;
use crate::record::Origin;
use crate::time::Timestamp;
use tidemark_rules::Limit;

const WHY: &str = "the switch had lost its state";

impl LinkControl {
    /// Restores the limit that we set.
    pub(super) fn on_state_lost(&mut self, everything: bool, now: Timestamp) -> Vec<Action> {
        // The limit found next was set by nobody.
        self.memory.seen = None;
        let lost = LostLimit {
            everything,
            during_write: false,
            tried: Some(now),
        };
        let limit = self.memory.set;
        self.expectation.set_lost(limit.map(|_| lost));
        match limit {
            None => Vec::new(),
            Some(limit) if everything => self.restore_limit(limit, None, WHY, now),
            Some(limit) => {
                let write = self.restoring(limit, WHY);
                self.start(write)
            }
        }
    }

    /// Handles a loss of state during a write: the next read of the switch decides.
    pub(super) fn on_state_lost_meanwhile(&mut self, everything: bool) -> Vec<Action> {
        self.expectation.set_lost(Some(LostLimit {
            everything,
            during_write: true,
            tried: None,
        }));
        Vec::new()
    }

    /// Handles a read of a switch that lost our limit: writes it again, unless the switch has a
    /// limit, in which case the read is handled like any other.
    pub(super) fn found_after_loss(
        &mut self,
        lost: LostLimit,
        found: Limit,
        now: Timestamp,
    ) -> Vec<Action> {
        let unit = self.settings.range.unit_bytes;
        let ours = self.memory.set.map(|l| l.rounded(unit));
        let stands = !lost.everything && found != Limit::Unlimited;
        let (Some(set), false) = (self.memory.set, stands || ours == Some(found)) else {
            // Without a limit of ours nothing is expected.
            self.memory.seen = self.memory.seen.filter(|_| self.memory.set.is_some());
            return self.compare(found, now);
        };
        self.memory.seen = Some(found);
        let pause_s = self.settings.control.min_change_interval_s;
        let tried = lost.tried.filter(|at| now.since_s(*at) < pause_s);
        self.expectation.set_lost(Some(LostLimit {
            tried: tried.or(Some(now)),
            ..lost
        }));
        match tried {
            Some(_) => Vec::new(),
            None => self.restore_limit(set, Some(found), WHY, now),
        }
    }

    /// Handles the end of a write: if it began after the loss and succeeded, it ends the loss.
    pub(super) fn write_ended(&mut self, succeeded: bool) {
        let lost = self.expectation.lost();
        self.expectation.set_lost(match lost {
            Some(lost) if lost.during_write => Some(LostLimit {
                during_write: false,
                ..lost
            }),
            lost => lost.filter(|_| !succeeded),
        });
    }

    /// Writes our limit again, without reading the one before.
    pub(super) fn restore_limit(
        &mut self,
        limit: Limit,
        before: Option<Limit>,
        why: &str,
        now: Timestamp,
    ) -> Vec<Action> {
        let write = self.restoring(limit, why);
        self.order(write, before, now)
    }

    /// Returns the write that restores our limit. The range may have been another one when the
    /// limit was set.
    fn restoring(&self, limit: Limit, why: &str) -> Write {
        let mut reason = why.to_string();
        let nearest = self.settings.range.nearest_limit(&limit).unwrap_or(limit);
        if nearest != limit {
            reason += &format!("; {limit} is outside of the range, and this is its nearest end");
        }
        self.write(nearest, Origin::Restore, reason)
    }
}
