// SPDX-License-Identifier: Apache-2.0
//! The action of an entry: a plain action, or a member, group or action set of an action profile.

use super::profiles::{check_weights, no_watch, weight};
use super::writer::Writer;
use crate::actions::{self, Place};
use crate::errors::{Failure, Outcome, refuse};
use crate::pipeline::{MAX_GROUP_SIZE, Profile, Table};
use crate::store::OneShot;
use crate::target::{ActionCall, EntryAction, Target, WeightedMember};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::action_profile_action_set::{ActionSelectionMode, SizeSemantics};
use tidemark_proto::p4::v1::table_action::Type as ActionType;
use tonic::Code;

/// An entry's action after all checks.
pub(crate) enum Wanted {
    Ready(EntryAction),
    /// Actions with their weights.
    Set(Vec<(ActionCall, u32)>),
}

impl Writer<'_> {
    /// Returns the checked action, and its canonical form for clients.
    pub(crate) fn wanted(
        &self,
        table: &Table,
        action: Option<&p4::TableAction>,
    ) -> Outcome<(Wanted, p4::TableAction)> {
        let Some(kind) = action.and_then(|a| a.r#type.as_ref()) else {
            refuse!(invalid: "the entry has no action");
        };
        let Some(id) = table.profile else {
            let ActionType::Action(a) = kind else {
                refuse!(invalid: "it has no action profile; give the action itself");
            };
            let (call, a) = actions::parse(self.pipeline, &table.actions, a, Place::Entry)?;
            return Ok((Wanted::Ready(EntryAction::Call(call)), actions::of_entry(a)));
        };
        let profile = self.pipeline.profiles.get(id)?;
        let state = self.store.profile(id)?;
        let ready = match kind {
            ActionType::Action(_) => refuse!(invalid:
                "its actions come from {}; give a member, a group or an action set of it",
                profile.name
            ),
            ActionType::ActionProfileActionSet(set) => return self.action_set(profile, set),
            ActionType::ActionProfileMemberId(m) => {
                if !state.members.contains_key(m) {
                    refuse!(not_found: "{} has no member {m}", profile.name);
                }
                EntryAction::Member(u64::from(*m))
            }
            ActionType::ActionProfileGroupId(g) => {
                if !state.groups.contains_key(g) {
                    refuse!(not_found: "{} has no group {g}", profile.name);
                }
                EntryAction::Group(u64::from(*g))
            }
        };
        let canonical = p4::TableAction {
            r#type: Some(kind.clone()),
        };
        Ok((Wanted::Ready(ready), canonical))
    }

    fn action_set(
        &self,
        profile: &Profile,
        set: &p4::ActionProfileActionSet,
    ) -> Outcome<(Wanted, p4::TableAction)> {
        let state = self.store.profile(profile.id)?;
        if !profile.with_selector {
            refuse!(invalid: "{} is no selector; give a member", profile.name);
        }
        if !state.members.is_empty() || !state.groups.is_empty() {
            refuse!(invalid:
                "{} is programmed with members and groups; action sets cannot be mixed with them",
                profile.name
            );
        }
        check_modes(profile, set)?;
        let mut calls = Vec::new();
        let mut canonical = set.clone();
        for (given, out) in set
            .action_profile_actions
            .iter()
            .zip(&mut canonical.action_profile_actions)
        {
            use p4::action_profile_action::WatchKind;
            no_watch(match &given.watch_kind {
                Some(WatchKind::Watch(n)) => *n != 0,
                Some(WatchKind::WatchPort(p)) => !p.is_empty(),
                None => false,
            })?;
            let a = given
                .action
                .as_ref()
                .ok_or_else(|| Failure::invalid("an action of the set is missing"))?;
            let (call, a) = actions::parse(self.pipeline, &profile.actions, a, Place::Entry)?;
            out.action = Some(a);
            calls.push((call, weight(profile, given.weight)?));
        }
        let weights: Vec<u32> = calls.iter().map(|(_, w)| *w).collect();
        check_weights(profile, &weights, profile.max_group_size).map_err(|mut f| {
            f.code = Code::InvalidArgument;
            f
        })?;
        if state.one_shot_members + calls.len() > profile.size {
            return Err(Failure::exhausted(format!(
                "{} is full: it holds {}",
                profile.name, profile.size
            )));
        }
        let canonical = p4::TableAction {
            r#type: Some(ActionType::ActionProfileActionSet(canonical)),
        };
        Ok((Wanted::Set(calls), canonical))
    }

    /// Makes the target hold all that the entry refers to.
    pub(super) async fn prepare(
        &mut self,
        table: &Table,
        wanted: Wanted,
    ) -> Outcome<(EntryAction, Option<OneShot>)> {
        let calls = match wanted {
            Wanted::Ready(action) => return Ok((action, None)),
            Wanted::Set(calls) => calls,
        };
        let profile = self
            .pipeline
            .profiles
            .get(table.profile.unwrap_or_default())?;
        let mut one_shot = OneShot {
            group: self.store.fresh_hidden_id(),
            members: Vec::new(),
        };
        let actions = calls.len();
        // One member per unit of an action's weight, as in BMv2's server, so that both switches
        // choose the same member.
        for (call, weight) in calls {
            for _ in 0..weight {
                let id = self.store.fresh_hidden_id();
                if let Some(t) = self.target
                    && let Err(e) = t.set_member(&profile.name, id, Some(&call)).await
                {
                    forget(t, profile, &one_shot).await;
                    return Err(e.into());
                }
                one_shot.members.push(id);
            }
        }
        let members: Vec<_> = one_shot
            .members
            .iter()
            .map(|&member| WeightedMember { member, weight: 1 })
            .collect();
        if let Some(t) = self.target
            && let Err(e) = t
                .set_group(&profile.name, one_shot.group, Some(&members))
                .await
        {
            forget(t, profile, &one_shot).await;
            return Err(e.into());
        }
        let state = self.store.profile_mut(profile.id)?;
        state.one_shots += 1;
        state.one_shot_members += actions;
        Ok((EntryAction::Group(one_shot.group), Some(one_shot)))
    }

    /// Removes the group and members that represent an entry's action set.
    pub(super) async fn discard(
        &mut self,
        table: &Table,
        action: &p4::TableAction,
        one_shot: Option<OneShot>,
    ) -> Outcome<()> {
        let Some(one_shot) = one_shot else {
            return Ok(());
        };
        let profile = self
            .pipeline
            .profiles
            .get(table.profile.unwrap_or_default())?;
        if let Some(t) = self.target {
            forget(t, profile, &one_shot).await;
        }
        let actions = match &action.r#type {
            Some(ActionType::ActionProfileActionSet(s)) => s.action_profile_actions.len(),
            _ => 0,
        };
        let state = self.store.profile_mut(profile.id)?;
        state.one_shots = state.one_shots.saturating_sub(1);
        state.one_shot_members = state.one_shot_members.saturating_sub(actions);
        Ok(())
    }
}

/// Removes any parts of it that the target holds.
async fn forget(t: &dyn Target, profile: &Profile, one_shot: &OneShot) {
    let group = t.set_group(&profile.name, one_shot.group, None).await;
    let mut failed = group.is_err();
    for m in &one_shot.members {
        failed |= t.set_member(&profile.name, *m, None).await.is_err();
    }
    if failed {
        tracing::debug!(
            profile = profile.name,
            "an action set was not there as a whole"
        );
    }
}

fn check_modes(profile: &Profile, set: &p4::ActionProfileActionSet) -> Outcome<()> {
    if set.group_action.is_some() {
        refuse!(unsupported: "group actions are not supported");
    }
    if set.action_selection_mode() == ActionSelectionMode::Random {
        refuse!(unsupported: "random selection is not supported; the selector hashes");
    }
    let fits = match set.size_semantics() {
        SizeSemantics::DefaultSizeDeterminedByActionSelector => true,
        SizeSemantics::SumOfWeights => profile.sum_of_members.is_none(),
        SizeSemantics::SumOfMembers => profile.sum_of_members.is_some(),
    };
    if !fits {
        refuse!(unsupported: "size semantics other than the selector's are not supported");
    }
    if set.action_profile_actions.len() > MAX_GROUP_SIZE as usize {
        refuse!(invalid: "too many actions in the set");
    }
    Ok(())
}
