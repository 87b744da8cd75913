// SPDX-License-Identifier: Apache-2.0
//! Members and groups of action profiles.
//!
//! For each hash value a group chooses the same member as BMv2 when filled by its P4Runtime
//! server. Each member has handles, always the lowest free ones: one, and more if its weight
//! is above 1. The hash modulo the number of a group's handles selects among them in
//! ascending order.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

/// Target of a table entry that uses an action profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A member.
    Member(u64),
    /// A group of members.
    Group(u64),
}

/// Members and groups of an action profile.
#[derive(Debug, Default)]
pub struct ProfileState {
    members: FxHashMap<u64, Member>,
    groups: FxHashMap<u64, Group>,
    /// Freed handles, all below `next_handle`.
    free: BTreeSet<u32>,
    next_handle: u32,
}

/// A member of an action profile.
#[derive(Debug)]
pub struct Member {
    /// Index among the actions of the profile.
    pub action: usize,
    /// Words of the action's data.
    pub args: Box<[u64]>,
    /// The first is the member's own; the others stand for its weight in groups.
    handles: Vec<u32>,
}

#[derive(Debug, Default)]
struct Group {
    weights: Vec<(u64, u32)>,
    /// Members in ascending order of their handles.
    order: Vec<u64>,
}

impl ProfileState {
    /// Returns the member that a group selects for a hash value, or the member itself.
    /// `None`: it does not exist, or the group is empty.
    pub fn member(&self, choice: Choice, hash: impl FnOnce() -> u64) -> Option<&Member> {
        let id = match choice {
            Choice::Member(id) => id,
            Choice::Group(id) => {
                let order = &self.groups.get(&id)?.order;
                let n = order.len() as u64;
                *order.get(hash().checked_rem(n)? as usize)?
            }
        };
        self.members.get(&id)
    }

    /// Adds or replaces a member. `action` is an index into the profile's actions.
    pub fn set_member(&mut self, id: u64, action: usize, args: Box<[u64]>) {
        if let Some(m) = self.members.get_mut(&id) {
            m.action = action;
            m.args = args;
            return;
        }
        let handles = vec![self.take_handle()];
        self.members.insert(
            id,
            Member {
                action,
                args,
                handles,
            },
        );
    }

    /// Removes a member.
    pub fn remove_member(&mut self, id: u64) {
        if let Some(m) = self.members.remove(&id) {
            self.free.extend(m.handles);
        }
    }

    /// Sets a group's `members` (ids and weights); `None` removes the group.
    pub fn set_group(&mut self, id: u64, members: Option<Vec<(u64, u32)>>) {
        let mut touched: Vec<u64> = self.groups.remove(&id).map_or(Vec::new(), |g| {
            g.weights.into_iter().map(|(m, _)| m).collect()
        });
        if let Some(weights) = members {
            let mut order = Vec::new();
            for (m, weight) in &weights {
                touched.push(*m);
                self.grow(*m, *weight as usize);
                let handles = self.members.get(m).map_or(&[][..], |m| &m.handles);
                order.extend(handles.iter().take(*weight as usize).map(|h| (*h, *m)));
            }
            order.sort_unstable();
            let order = order.into_iter().map(|(_, m)| m).collect();
            self.groups.insert(id, Group { weights, order });
        }
        for m in touched {
            self.shrink(m);
        }
    }

    fn take_handle(&mut self) -> u32 {
        self.free.pop_first().unwrap_or_else(|| {
            self.next_handle += 1;
            self.next_handle - 1
        })
    }

    fn grow(&mut self, member: u64, weight: usize) {
        while self
            .members
            .get(&member)
            .is_some_and(|m| m.handles.len() < weight)
        {
            let h = self.take_handle();
            if let Some(m) = self.members.get_mut(&member) {
                m.handles.push(h);
            }
        }
    }

    /// Frees the member's handles that no group needs.
    fn shrink(&mut self, member: u64) {
        if self
            .members
            .get(&member)
            .is_none_or(|m| m.handles.len() <= 1)
        {
            return;
        }
        let needed = self
            .groups
            .values()
            .flat_map(|g| &g.weights)
            .filter(|(m, _)| *m == member)
            .map(|(_, w)| *w as usize)
            .max()
            .unwrap_or(1)
            .max(1);
        if let Some(m) = self.members.get_mut(&member) {
            let unused = m.handles.drain(needed.min(m.handles.len())..);
            self.free.extend(unused);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(p: &ProfileState, group: u64, hash: u64) -> Option<usize> {
        p.member(Choice::Group(group), || hash).map(|m| m.action)
    }

    #[test]
    fn a_group_counts_through_handles() {
        let mut p = ProfileState::default();
        // Created in an order other than that of their ids: handles 0, 1, 2.
        for id in [30, 10, 20] {
            p.set_member(id, id as usize, [].into());
        }
        p.set_group(1, Some(vec![(10, 2), (20, 1), (30, 1)]));
        // 30, 10, 20 and the second handle of 10.
        let all: Vec<_> = (0..5).map(|h| chosen(&p, 1, h)).collect();
        assert_eq!(all, [30, 10, 20, 10, 30].map(Some));
        p.set_group(1, Some(vec![(20, 1)]));
        assert_eq!(chosen(&p, 1, 7), Some(20));
        p.set_member(40, 40, [].into());
        p.set_group(2, Some(vec![(40, 1), (20, 1)]));
        assert_eq!(chosen(&p, 2, 1), Some(40), "the handle was free again");
        p.set_group(2, Some(Vec::new()));
        assert_eq!(chosen(&p, 2, 0), None);
        p.set_group(1, None);
        assert_eq!(chosen(&p, 1, 0), None);
        assert_eq!(p.member(Choice::Member(40), || 0).unwrap().action, 40);
        p.remove_member(40);
        assert!(p.member(Choice::Member(40), || 0).is_none());
    }

    #[test]
    fn a_changed_member_keeps_its_place() {
        let mut p = ProfileState::default();
        p.set_member(1, 1, [].into());
        p.set_member(2, 2, [].into());
        p.set_group(1, Some(vec![(1, 1), (2, 1)]));
        p.set_member(1, 9, [5].into());
        assert_eq!(chosen(&p, 1, 0), Some(9));
        assert_eq!(chosen(&p, 1, 1), Some(2));
    }
}
