// SPDX-License-Identifier: Apache-2.0
//! Members and groups of action profiles.

use super::writer::{Writer, check_presence};
use crate::actions::{self, Place};
use crate::errors::{Failure, Outcome, refuse, refuse_at};
use crate::pipeline::{MAX_GROUP_SIZE, Profile};
use crate::target::WeightedMember;
use std::collections::HashSet;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::action_profile_group::member::WatchKind;
use tidemark_proto::p4::v1::table_action::Type as ActionType;
use tidemark_proto::p4::v1::update::Type;

impl Writer<'_> {
    pub(super) async fn member(&mut self, kind: Type, m: &p4::ActionProfileMember) -> Outcome<()> {
        let pipeline = self.pipeline;
        let profile = pipeline.profiles.get(m.action_profile_id)?;
        let id = m.member_id;
        let at = |f: Failure| f.at(format!("member {id} of {}", profile.name));
        if id == 0 {
            refuse_at!(at, invalid: "a member's id is above 0");
        }
        let state = self.store.profile(profile.id)?;
        let what = || format!("member {id} of {}", profile.name);
        check_presence(kind, state.members.contains_key(&id), what)?;
        if kind == Type::Delete {
            let in_group = state
                .groups
                .values()
                .find(|g| g.members.iter().any(|m| m.member_id == id));
            if let Some(g) = in_group {
                refuse_at!(at, precondition: "it is a member of group {}; remove it there first", g.group_id);
            }
            if self
                .store
                .refers(profile, &ActionType::ActionProfileMemberId(id))
            {
                refuse_at!(at, precondition: "a table entry refers to it");
            }
            if let Some(t) = self.target {
                t.set_member(&profile.name, u64::from(id), None).await?;
            }
            self.store.profile_mut(profile.id)?.members.remove(&id);
            return Ok(());
        }
        if kind == Type::Insert {
            no_action_sets(profile, state.one_shots)?;
            if state.members.len() >= profile.size {
                return Err(at(Failure::exhausted(format!(
                    "{} is full: it holds {}",
                    profile.name, profile.size
                ))));
            }
        }
        let action = m
            .action
            .as_ref()
            .ok_or_else(|| at(Failure::invalid("it has no action")))?;
        let (call, action) =
            actions::parse(pipeline, &profile.actions, action, Place::Entry).map_err(at)?;
        if let Some(t) = self.target {
            t.set_member(&profile.name, u64::from(id), Some(&call))
                .await?;
        }
        let held = p4::ActionProfileMember {
            action: Some(action),
            ..m.clone()
        };
        self.store.profile_mut(profile.id)?.members.insert(id, held);
        Ok(())
    }

    pub(super) async fn selector_group(
        &mut self,
        kind: Type,
        g: &p4::ActionProfileGroup,
    ) -> Outcome<()> {
        let profile = self.pipeline.profiles.get(g.action_profile_id)?;
        let id = g.group_id;
        let at = |f: Failure| f.at(format!("group {id} of {}", profile.name));
        if !profile.with_selector {
            refuse_at!(at, invalid: "this action profile has no selector, so no groups");
        }
        if id == 0 {
            refuse_at!(at, invalid: "a group's id is above 0");
        }
        let state = self.store.profile(profile.id)?;
        let present = state.groups.get(&id);
        let what = || format!("group {id} of {}", profile.name);
        check_presence(kind, present.is_some(), what)?;
        if kind == Type::Delete {
            if self
                .store
                .refers(profile, &ActionType::ActionProfileGroupId(id))
            {
                refuse_at!(at, precondition: "a table entry refers to it");
            }
            if let Some(t) = self.target {
                t.set_group(&profile.name, u64::from(id), None).await?;
            }
            self.store.profile_mut(profile.id)?.groups.remove(&id);
            return Ok(());
        }
        no_action_sets(profile, state.one_shots)?;
        let max_size = max_size(profile, g.max_size, present).map_err(at)?;
        let mut seen = HashSet::new();
        let mut members = Vec::new();
        for m in &g.members {
            no_watch(match &m.watch_kind {
                Some(WatchKind::Watch(n)) => *n != 0,
                Some(WatchKind::WatchPort(p)) => !p.is_empty(),
                None => false,
            })
            .map_err(at)?;
            if !state.members.contains_key(&m.member_id) {
                refuse_at!(at, not_found: "member {} does not exist", m.member_id);
            }
            if !seen.insert(m.member_id) {
                refuse_at!(at, invalid: "member {} is given twice; use its weight", m.member_id);
            }
            members.push(WeightedMember {
                member: u64::from(m.member_id),
                weight: weight(profile, m.weight).map_err(at)?,
            });
        }
        let weights: Vec<u32> = members.iter().map(|m| m.weight).collect();
        let bound = match u32::try_from(max_size) {
            Ok(n) if n > 0 => n,
            _ => profile.max_group_size,
        };
        check_weights(profile, &weights, bound).map_err(at)?;
        members.sort_by_key(|m| m.member);
        if let Some(t) = self.target {
            t.set_group(&profile.name, u64::from(id), Some(&members))
                .await?;
        }
        let held = p4::ActionProfileGroup {
            max_size,
            ..g.clone()
        };
        self.store.profile_mut(profile.id)?.groups.insert(id, held);
        Ok(())
    }
}

fn no_action_sets(profile: &Profile, one_shots: usize) -> Outcome<()> {
    if one_shots == 0 {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "{} is programmed with action sets in table entries; members and groups cannot be mixed \
         with them",
        profile.name
    )))
}

/// Checks `max_size`, which is set when the group is created; later 0 means "unchanged".
fn max_size(
    profile: &Profile,
    given: i32,
    present: Option<&p4::ActionProfileGroup>,
) -> Outcome<i32> {
    if let Some(g) = present {
        return if given == 0 || given == g.max_size {
            Ok(g.max_size)
        } else {
            Err(Failure::invalid(format!(
                "max_size cannot be changed from {} to {given}",
                g.max_size
            )))
        };
    }
    match u32::try_from(given) {
        Err(_) => Err(Failure::invalid(format!("max_size is {given}"))),
        Ok(n) if profile.max_group_size > 0 && n > profile.max_group_size => {
            Err(Failure::invalid(format!(
                "max_size {n} is above the selector's {}",
                profile.max_group_size
            )))
        }
        Ok(n) if n > MAX_GROUP_SIZE => Err(Failure::exhausted(format!(
            "max_size {n} is above {MAX_GROUP_SIZE}"
        ))),
        Ok(_) => Ok(given),
    }
}

/// Checks and returns a member's weight.
pub(super) fn weight(profile: &Profile, given: i32) -> Outcome<u32> {
    match (profile.weights_disallowed, u32::try_from(given)) {
        (true, Ok(0)) => Ok(1),
        (false, Ok(n)) if n > 0 => Ok(n),
        (true, _) => Err(Failure::invalid(format!(
            "weight is {given}; this selector takes none"
        ))),
        (false, _) => Err(Failure::invalid(format!(
            "weight is {given}; it must be above 0"
        ))),
    }
}

/// `bound`: size of the group in the selector's own terms; 0 means no limit.
pub(super) fn check_weights(profile: &Profile, weights: &[u32], bound: u32) -> Outcome<()> {
    let sum: u64 = weights.iter().map(|w| u64::from(*w)).sum();
    let exhausted = |m: String| Err(Failure::exhausted(m));
    if sum > u64::from(MAX_GROUP_SIZE) {
        return exhausted(format!("weights sum up to {sum}, above {MAX_GROUP_SIZE}"));
    }
    let size = match profile.sum_of_members {
        None => sum,
        Some(most) => {
            if let Some(w) = weights.iter().find(|w| most > 0 && **w > most) {
                refuse!(invalid: "weight {w} is above {most}");
            }
            weights.len() as u64
        }
    };
    if bound > 0 && size > u64::from(bound) {
        return exhausted(format!("its size is {size}, above {bound}"));
    }
    Ok(())
}

pub(super) fn no_watch(given: bool) -> Outcome<()> {
    if given {
        refuse!(unsupported: "watch ports are not supported");
    }
    Ok(())
}
