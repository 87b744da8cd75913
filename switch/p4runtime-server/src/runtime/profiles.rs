// SPDX-License-Identifier: Apache-2.0
//! Action profiles: members and groups by handle. A handle is the P4Runtime id minus one, which
//! is the handle that BMv2 would assign.

use super::codes::TableError;
use super::keys;
use super::types::{Group, Member, Runtime};
use crate::errors::Outcome;
use crate::pipeline::{Pipeline, Profile, Table};
use crate::write::Writer;
use std::collections::BTreeMap;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::table_action::Type as ActionType;
use tidemark_proto::p4::v1::update::Type;

type Result<T> = std::result::Result<T, TableError>;

pub(super) const fn id(handle: u32) -> u32 {
    handle.saturating_add(1)
}

pub(super) const fn handle(id: u32) -> u32 {
    id.wrapping_sub(1)
}

fn profile<'p>(pipeline: &'p Pipeline, name: &str) -> Result<&'p Profile> {
    let found = pipeline.profiles.values().find(|p| p.name == name);
    found.ok_or(TableError::InvalidProfileName)
}

fn lowest_free<T>(all: &BTreeMap<u32, T>) -> u32 {
    let mut free = 1;
    for id in all.keys() {
        if *id > free {
            break;
        }
        free = id.saturating_add(1);
    }
    free
}

fn profile_of<'p>(w: &Writer<'p>, table: &Table) -> Result<&'p Profile> {
    let profile = table.profile.and_then(|p| w.pipeline.profiles.get(p).ok());
    profile.ok_or(TableError::WrongTableType)
}

fn shown(w: &Writer<'_>, m: &p4::ActionProfileMember) -> Member {
    let none = p4::Action::default();
    Member {
        handle: handle(m.member_id),
        action: w.shown_call(m.action.as_ref().unwrap_or(&none)),
    }
}

fn shown_group(g: &p4::ActionProfileGroup) -> Group {
    Group {
        handle: handle(g.group_id),
        members: g.members.iter().map(|m| handle(m.member_id)).collect(),
    }
}

impl<'p> Writer<'p> {
    /// Returns the tables whose default action is this member.
    fn defaults_of(&self, profile: &Profile, member: u32) -> Vec<&'p Table> {
        let tables = profile.tables.iter();
        tables
            .filter_map(|t| self.pipeline.tables.get(*t).ok())
            .filter(|t| {
                let state = self.store.table(t.id);
                state.is_ok_and(|s| s.default_member == Some(member))
            })
            .collect()
    }
}

impl Writer<'_> {
    pub(super) fn member_of(&self, table: &Table, handle: u32) -> Result<()> {
        let state = self.store.profile(profile_of(self, table)?.id)?;
        match state.members.contains_key(&id(handle)) {
            true => Ok(()),
            false => Err(TableError::InvalidMember),
        }
    }

    pub(super) fn group_of(&self, table: &Table, handle: u32) -> Result<()> {
        let profile = profile_of(self, table)?;
        if !profile.with_selector {
            return Err(TableError::WrongTableType);
        }
        match self.store.profile(profile.id)?.groups.get(&id(handle)) {
            None => Err(TableError::InvalidGroup),
            Some(g) if g.members.is_empty() => Err(TableError::EmptyGroup),
            Some(_) => Ok(()),
        }
    }

    pub(super) async fn reset_profiles(&mut self) -> Outcome<()> {
        for profile in self.pipeline.profiles.values() {
            let state = self.store.profile(profile.id)?;
            let groups: Vec<_> = state.groups.values().cloned().collect();
            let members: Vec<_> = state.members.values().cloned().collect();
            for g in groups {
                self.apply_new(Type::Delete, Entity::ActionProfileGroup(g))
                    .await?;
            }
            for m in members {
                self.apply_new(Type::Delete, Entity::ActionProfileMember(m))
                    .await?;
            }
        }
        Ok(())
    }

    fn new_member(
        &self,
        profile: &Profile,
        member_id: u32,
        (name, data): (&str, &[Vec<u8>]),
    ) -> Result<Entity> {
        let ids = profile.actions.iter();
        let mut known = ids.filter_map(|(id, _)| self.pipeline.actions.get(id));
        let action = known.find(|a| a.name == name);
        let (_, action) = keys::call(action.ok_or(TableError::InvalidActionName)?, data)?;
        Ok(Entity::ActionProfileMember(p4::ActionProfileMember {
            action_profile_id: profile.id,
            member_id,
            action: Some(action),
        }))
    }
}

impl Runtime {
    /// Adds a member and returns its handle.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn add_member(&self, name: &str, action: &str, data: &[Vec<u8>]) -> Result<u32> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidProfileName)?;
        let profile = profile(w.pipeline, name)?;
        let member = lowest_free(&w.store.profile(profile.id)?.members);
        let entity = w.new_member(profile, member, (action, data))?;
        w.apply_new(Type::Insert, entity).await?;
        Ok(handle(member))
    }

    /// Replaces the action of a member.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn modify_member(
        &self,
        name: &str,
        member: u32,
        action: &str,
        data: &[Vec<u8>],
    ) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidProfileName)?;
        let profile = profile(w.pipeline, name)?;
        let entity = w.new_member(profile, id(member), (action, data))?;
        if !w
            .store
            .profile(profile.id)?
            .members
            .contains_key(&id(member))
        {
            return Err(TableError::InvalidMember);
        }
        w.apply_new(Type::Modify, entity).await?;
        for table in w.defaults_of(profile, id(member)) {
            w.follow_member(table, Some(id(member))).await?;
        }
        Ok(())
    }

    /// Removes a member.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn delete_member(&self, name: &str, member: u32) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidProfileName)?;
        let profile = profile(w.pipeline, name)?;
        let state = w.store.profile(profile.id)?;
        let found = state.members.get(&id(member)).cloned();
        let found = found.ok_or(TableError::InvalidMember)?;
        let mut of_groups = state.groups.values().flat_map(|g| &g.members);
        let used = ActionType::ActionProfileMemberId(id(member));
        if of_groups.any(|m| m.member_id == id(member))
            || w.store.refers(profile, &used)
            || !w.defaults_of(profile, id(member)).is_empty()
        {
            return Err(TableError::MemberStillUsed);
        }
        Ok(
            w.apply_new(Type::Delete, Entity::ActionProfileMember(found))
                .await?,
        )
    }

    /// Adds an empty group and returns its handle.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn create_group(&self, name: &str) -> Result<u32> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidProfileName)?;
        let profile = profile(w.pipeline, name)?;
        if !profile.with_selector {
            return Err(TableError::NoSelection);
        }
        let group_id = lowest_free(&w.store.profile(profile.id)?.groups);
        let entity = Entity::ActionProfileGroup(p4::ActionProfileGroup {
            action_profile_id: profile.id,
            group_id,
            ..Default::default()
        });
        w.apply_new(Type::Insert, entity).await?;
        Ok(handle(group_id))
    }

    /// Removes a group.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn delete_group(&self, name: &str, group: u32) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidProfileName)?;
        let profile = profile(w.pipeline, name)?;
        let found = w.store.profile(profile.id)?.groups.get(&id(group)).cloned();
        let found = found.ok_or(TableError::InvalidGroup)?;
        let used = ActionType::ActionProfileGroupId(id(group));
        if w.store.refers(profile, &used) {
            return Err(TableError::GroupStillUsed);
        }
        Ok(w.apply_new(Type::Delete, Entity::ActionProfileGroup(found))
            .await?)
    }

    /// Adds a member to a group, or removes it.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn change_group(&self, name: &str, member: u32, group: u32, add: bool) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidProfileName)?;
        let profile = profile(w.pipeline, name)?;
        let state = w.store.profile(profile.id)?;
        if !state.members.contains_key(&id(member)) {
            return Err(TableError::InvalidMember);
        }
        let found = state.groups.get(&id(group)).cloned();
        let mut found = found.ok_or(TableError::InvalidGroup)?;
        let at = found.members.iter().position(|m| m.member_id == id(member));
        match (at, add) {
            (Some(_), true) => return Err(TableError::MemberAlreadyInGroup),
            (None, false) => return Err(TableError::MemberNotInGroup),
            (None, true) => found.members.push(p4::action_profile_group::Member {
                member_id: id(member),
                weight: i32::from(!profile.weights_disallowed),
                ..Default::default()
            }),
            (Some(at), false) => {
                found.members.remove(at);
            }
        }
        Ok(w.apply_new(Type::Modify, Entity::ActionProfileGroup(found))
            .await?)
    }

    /// Returns all members, or the member with this handle.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn members(&self, name: &str, member: Option<u32>) -> Result<Vec<Member>> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidProfileName)?;
        let all = &w.store.profile(profile(w.pipeline, name)?.id)?.members;
        match member {
            None => Ok(all.values().map(|m| shown(&w, m)).collect()),
            Some(m) => {
                let found = all.get(&id(m)).ok_or(TableError::InvalidMember)?;
                Ok(vec![shown(&w, found)])
            }
        }
    }

    /// Returns all groups, or the group with this handle.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn groups(&self, name: &str, group: Option<u32>) -> Result<Vec<Group>> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidProfileName)?;
        let all = &w.store.profile(profile(w.pipeline, name)?.id)?.groups;
        match group {
            None => Ok(all.values().map(shown_group).collect()),
            Some(g) => {
                let found = all.get(&id(g)).ok_or(TableError::InvalidGroup)?;
                Ok(vec![shown_group(found)])
            }
        }
    }
}
