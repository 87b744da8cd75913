// SPDX-License-Identifier: Apache-2.0
//! Entries of a table and its default action.

use p4_ir::{ActionCall, END, MatchValue, NextNode, Table};
use rustc_hash::FxHashMap;

use super::entry_id::EntryId;
use super::error::TableError;
use super::index::Index;
use super::key::{Packed, Plan, pack};
use crate::state::cells::{Count, Meter};
use crate::state::profiles::Choice;

/// An entry of a table.
#[derive(Debug)]
pub struct Entry {
    /// Number of its action.
    pub action: u32,
    /// Words of the action's data.
    pub args: Box<[u64]>,
    next: u32,
    /// Hits of the entry.
    pub count: Count,
    /// Time of the last hit, in tables with `support_timeout`; set by the code that adds the entry.
    pub last_hit_us: u64,
    /// Its direct meter.
    pub meter: Meter,
    /// Choice in a table with an action profile; replaces `action`.
    pub choice: Option<Choice>,
    key: Packed,
}

/// Entries of a table and its default action.
#[derive(Debug)]
pub struct TableState {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_id: FxHashMap<EntryId, u32>,
    default: Option<ActionCall>,
    default_next: u32,
    index: Index,
    plan: Plan,
    /// Whether a hit changes the entry; in all other tables lookups only read.
    hits_write: bool,
    /// Whether a hit runs just the entry's own action, and no meter.
    pub(crate) is_plain: bool,
}

/// Result of a lookup.
pub(crate) struct Outcome<'a> {
    /// Number of the action.
    pub action: Option<u32>,
    /// Words of its data.
    pub args: &'a [u64],
    /// The next node.
    pub next: u32,
}

impl TableState {
    /// Makes a table with its default action and no entries.
    pub fn new(t: &Table) -> Self {
        let mut s = Self {
            entries: Vec::new(),
            free: Vec::new(),
            by_id: FxHashMap::default(),
            default: None,
            default_next: END,
            index: Index::new(t),
            plan: Plan::new(t),
            hits_write: t.with_counters || t.support_timeout,
            is_plain: t.direct_meter.is_none() && t.profile.is_none(),
        };
        s.set_default(t, t.default.clone());
        s
    }

    /// Sets the default action; `None`: no action on a miss.
    pub fn set_default(&mut self, t: &Table, call: Option<ActionCall>) {
        self.default_next = match &t.next {
            NextNode::HitMiss { miss, .. } => *miss,
            NextNode::ByAction { base, .. } => match &call {
                Some(c) => next_for(t, c.action),
                None => *base,
            },
        };
        self.default = call;
    }

    /// Returns an entry by its identifier.
    pub fn entry(&self, id: EntryId) -> Option<&Entry> {
        let i = *self.by_id.get(&id)?;
        self.entries.get(i as usize)?.as_ref()
    }

    /// Returns an entry by its identifier.
    pub fn entry_mut(&mut self, id: EntryId) -> Option<&mut Entry> {
        let i = *self.by_id.get(&id)?;
        self.entries.get_mut(i as usize)?.as_mut()
    }

    /// Adds an entry. Of ternary and range entries the smallest `rank` wins; of equals, the
    /// oldest. `bounded`: the table's size limits the number of entries.
    ///
    /// # Errors
    /// The table is full, the entry exists, or the key or action does not fit the table.
    pub fn insert(
        &mut self,
        t: &Table,
        id: EntryId,
        matches: &[MatchValue],
        rank: i64,
        call: ActionCall,
        bounded: bool,
    ) -> Result<(), TableError> {
        if t.keys.is_empty() || matches.len() != t.keys.len() {
            return Err(TableError::BadKey);
        }
        if !t.action_ids.contains(&call.action) {
            return Err(TableError::BadAction);
        }
        if self.by_id.contains_key(&id) {
            return Err(TableError::Exists);
        }
        if bounded && self.entries.len() - self.free.len() >= t.max_size {
            return Err(TableError::Full);
        }
        let mut key = pack(t, matches)?;
        let slot = self
            .free
            .last()
            .copied()
            .unwrap_or(self.entries.len() as u32);
        if !self.index.insert(slot, &mut key, rank) {
            return Err(TableError::Exists);
        }
        let entry = Entry {
            action: call.action,
            args: call.args.into_boxed_slice(),
            next: next_for(t, call.action),
            count: Count::default(),
            last_hit_us: 0,
            meter: Meter::default(),
            choice: None,
            key,
        };
        if self.free.pop().is_some() {
            if let Some(e) = self.entries.get_mut(slot as usize) {
                *e = Some(entry);
            }
        } else {
            self.entries.push(Some(entry));
        }
        self.by_id.insert(id, slot);
        Ok(())
    }

    /// Replaces the action of an entry.
    ///
    /// # Errors
    /// There is no such entry, or the action is not one of the table's.
    pub fn modify(&mut self, t: &Table, id: EntryId, call: ActionCall) -> Result<(), TableError> {
        if !t.action_ids.contains(&call.action) {
            return Err(TableError::BadAction);
        }
        let e = self.entry_mut(id).ok_or(TableError::NoEntry)?;
        e.action = call.action;
        e.args = call.args.into_boxed_slice();
        e.next = next_for(t, call.action);
        Ok(())
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn remove(&mut self, id: EntryId) -> Result<(), TableError> {
        let slot = self.by_id.remove(&id).ok_or(TableError::NoEntry)?;
        let entry = self
            .entries
            .get_mut(slot as usize)
            .and_then(Option::take)
            .ok_or(TableError::NoEntry)?;
        self.index.remove(slot, &entry.key);
        self.free.push(slot);
        Ok(())
    }

    /// Finds the entry; counts and timestamps the hit. The slot is for [`Self::outcome`].
    #[inline]
    pub(crate) fn lookup(&mut self, words: &[u64], bytes: u32, now_us: u64) -> Option<u32> {
        let slot = self.index.find(&self.plan, words)?;
        if self.hits_write
            && let Some(Some(e)) = self.entries.get_mut(slot as usize)
        {
            e.count.packets = e.count.packets.wrapping_add(1);
            e.count.bytes = e.count.bytes.wrapping_add(u64::from(bytes));
            e.last_hit_us = now_us;
        }
        Some(slot)
    }

    /// Returns the entry's choice in its action profile.
    pub(crate) fn choice(&self, slot: u32) -> Option<Choice> {
        self.entries.get(slot as usize)?.as_ref()?.choice
    }

    /// Returns the direct meter of the entry in this slot.
    pub fn meter(&mut self, slot: u32) -> Option<&mut Meter> {
        let e = self.entries.get_mut(slot as usize)?.as_mut()?;
        Some(&mut e.meter)
    }

    #[inline]
    pub(crate) fn outcome(&self, slot: Option<u32>) -> Outcome<'_> {
        if let Some(e) = slot
            .and_then(|s| self.entries.get(s as usize))
            .and_then(Option::as_ref)
        {
            return Outcome {
                action: Some(e.action),
                args: &e.args,
                next: e.next,
            };
        }
        Outcome {
            action: self.default.as_ref().map(|d| d.action),
            args: self.default.as_ref().map_or(&[], |d| d.args.as_slice()),
            next: self.default_next,
        }
    }
}

pub(crate) fn next_for(t: &Table, action: u32) -> u32 {
    match &t.next {
        NextNode::HitMiss { hit, .. } => *hit,
        NextNode::ByAction { nodes, base } => nodes
            .iter()
            .find(|(a, _)| *a == action)
            .map_or(*base, |(_, n)| *n),
    }
}
