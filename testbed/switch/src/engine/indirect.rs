// SPDX-License-Identifier: Apache-2.0
//! Hits in tables whose actions come from an action profile; digests; access to
//! state by name.

use bytes::Bytes;

use super::Engine;
use super::eval::own_words;
use super::exec::Exec;
use super::hash::calculate;
use super::packet::Packet;
use super::profiles::{Choice, ProfileState};
use super::state::Meter;
use super::tables::next_for;
use crate::bmv2::bits::bytes_from_words;
use crate::bmv2::ir::{END, NextNode, Profile};

impl Engine {
    /// Runs the member that the entry's choice comes to; returns the next node.
    /// An empty group does nothing.
    pub(super) fn apply_choice(
        &mut self,
        table: usize,
        profile: u32,
        slot: u32,
        p: &mut Packet,
        now_us: u64,
    ) -> u32 {
        let program = &self.program;
        let (Some(t), Some(info), Some(state)) = (
            program.tables.get(table),
            program.profiles.get(profile as usize),
            self.profiles.get(profile as usize),
        ) else {
            return END;
        };
        let cells = &mut self.cells;
        let hash = || {
            info.selector.as_ref().map_or(0, |c| {
                calculate(
                    c,
                    program,
                    &p.words,
                    p.payload(),
                    &mut cells.scratch,
                    &mut cells.round_robin,
                )
            })
        };
        let choice = self.tables.get(table).and_then(|s| s.choice(slot));
        let member = choice.and_then(|c: Choice| state.member(c, hash));
        let chosen = member.and_then(|m| Some((m, *t.profile_actions.get(m.action)?)));
        let Some((member, action)) = chosen else {
            return match &t.next {
                NextNode::HitMiss { hit, .. } => *hit,
                NextNode::ByAction { base, .. } => *base,
            };
        };
        if let Some(a) = program.actions.get(action as usize) {
            Exec {
                program,
                cells: &mut self.cells,
                drop_port: self.drop_port,
                now_us,
            }
            .run_list(&a.code, &member.args, p);
        }
        next_for(t, action)
    }

    /// The fields of a digest, one after the other in whole bytes.
    pub fn digest(&self, list: u32, p: &Packet) -> Option<(std::sync::Arc<str>, Bytes)> {
        let l = self.program.learn_lists.get(&list)?;
        let mut out = Vec::new();
        for f in &l.fields {
            if f.width <= 64 {
                out.extend(bytes_from_words(&[f.get(&p.words)], f.width));
            } else {
                out.extend(bytes_from_words(own_words(&p.words, *f), f.width));
            }
        }
        Some((l.name.clone(), out.into()))
    }

    pub fn profile_mut(&mut self, name: &str) -> Option<(&Profile, &mut ProfileState)> {
        let i = self.program.profiles.iter().position(|p| p.name == name)?;
        Some((self.program.profiles.get(i)?, self.profiles.get_mut(i)?))
    }

    pub fn meter_mut(&mut self, name: &str) -> Option<&mut Vec<Meter>> {
        let i = self.program.meters.iter().position(|m| m.name == name)?;
        self.cells.meters.get_mut(i)
    }

    /// Packed values of a parser value set.
    pub fn value_set_mut(&mut self, name: &str) -> Option<&mut Vec<Vec<u64>>> {
        let i = self
            .program
            .value_sets
            .iter()
            .position(|s| s.name == name)?;
        self.value_sets.get_mut(i)
    }
}
