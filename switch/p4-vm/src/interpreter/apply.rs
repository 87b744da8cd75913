// SPDX-License-Identifier: Apache-2.0
//! Applies a table: lookup, action, next node.

use super::exec::Exec;
use super::hash::calculate;
use crate::metadata::put;
use crate::packet::Packet;
use crate::state::profiles::Choice;
use crate::state::tables::{TableState, next_for};
use p4_ir::FieldRef;
use p4_ir::{END, NextNode, Table};

impl Exec<'_> {
    /// Applies table `t` and returns the next node. Not inlined, so that the caller's loop keeps
    /// its registers.
    #[inline(never)]
    pub(crate) fn apply(&mut self, t: usize, p: &mut Packet) -> u32 {
        // Actions apply no tables, so the state can be moved out of `self` meanwhile.
        let tables = std::mem::take(&mut self.tables);
        let next = match tables.get_mut(t) {
            Some(state) => self.apply_to(t, state, p),
            None => END,
        };
        self.tables = tables;
        next
    }

    #[inline(always)]
    fn apply_to(&mut self, t: usize, state: &mut TableState, p: &mut Packet) -> u32 {
        let slot = state.lookup(&p.words, p.ingress_bytes, self.now_us);
        if !state.is_plain
            && let (Some(s), Some(table)) = (slot, self.image.program.tables.get(t))
        {
            if let Some((meter, target)) = table.direct_meter {
                self.direct_meter(state, s, meter, target, p);
            }
            if let Some(profile) = table.profile {
                return self.apply_choice(table, state.choice(s), profile, p);
            }
        }
        let outcome = state.outcome(slot);
        if let Some(action) = outcome.action
            && let Some(code) = self.image.code.actions.get(action as usize)
        {
            self.run_list(code, outcome.args, p);
        }
        outcome.next
    }

    #[cold]
    fn direct_meter(
        &self,
        state: &mut TableState,
        slot: u32,
        meter: u32,
        target: FieldRef,
        p: &mut Packet,
    ) {
        let meters = &self.image.program.meters;
        let by_bytes = meters.get(meter as usize).is_some_and(|m| m.bytes);
        let amount = if by_bytes {
            f64::from(p.ingress_bytes)
        } else {
            1.0
        };
        let now = self.now_us;
        let colour = state.meter(slot).map_or(0, |m| m.colour(now, amount));
        put(p, Some(target), colour);
    }

    /// Runs the action of the member that the entry's choice leads to. An empty group does
    /// nothing.
    #[cold]
    fn apply_choice(
        &mut self,
        t: &Table,
        choice: Option<Choice>,
        profile: u32,
        p: &mut Packet,
    ) -> u32 {
        let (image, profiles) = (self.image, self.profiles);
        let (Some(selector), Some(state)) = (
            image.selectors.get(profile as usize),
            profiles.get(profile as usize),
        ) else {
            return END;
        };
        let cells = &mut *self.cells;
        let hash = || selector.as_ref().map_or(0, |c| calculate(c, p, cells));
        let member = choice.and_then(|c| state.member(c, hash));
        let chosen = member.and_then(|m| Some((m, *t.profile_actions.get(m.action)?)));
        let Some((member, action)) = chosen else {
            return match &t.next {
                NextNode::HitMiss { hit, .. } => *hit,
                NextNode::ByAction { base, .. } => *base,
            };
        };
        if let Some(code) = image.code.actions.get(action as usize) {
            self.run_list(code, &member.args, p);
        }
        next_for(t, action)
    }
}
