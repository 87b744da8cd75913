// SPDX-License-Identifier: Apache-2.0
//! Members and groups of action profiles.

use super::Reader;
use crate::errors::{Failure, Outcome};
use crate::pipeline::Profile;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;

impl Reader<'_> {
    /// The action profile of this id, or all for 0.
    fn profiles(&self, id: u32, item: u32) -> Outcome<Vec<&Profile>> {
        match (id, item) {
            (0, 0) => Ok(self.pipeline.profiles.values().collect()),
            (0, _) => Err(Failure::invalid(
                "a member or group id selects nothing without an action profile id",
            )),
            _ => Ok(vec![self.pipeline.profile(id)?]),
        }
    }

    pub(super) fn members(&self, filter: &p4::ActionProfileMember) -> Outcome<Vec<Kind>> {
        let id = filter.member_id;
        let mut out = Vec::new();
        for profile in self.profiles(filter.action_profile_id, id)? {
            let members = &self.store.profile(profile.id)?.members;
            if id != 0 && !members.contains_key(&id) {
                let message = format!("{} has no member {id}", profile.name);
                return Err(Failure::not_found(message));
            }
            let found = members.values().filter(|m| id == 0 || m.member_id == id);
            out.extend(found.cloned().map(Kind::ActionProfileMember));
        }
        Ok(out)
    }

    pub(super) fn selector_groups(&self, filter: &p4::ActionProfileGroup) -> Outcome<Vec<Kind>> {
        let id = filter.group_id;
        let mut out = Vec::new();
        for profile in self.profiles(filter.action_profile_id, id)? {
            let groups = &self.store.profile(profile.id)?.groups;
            if id != 0 && !groups.contains_key(&id) {
                let message = format!("{} has no group {id}", profile.name);
                return Err(Failure::not_found(message));
            }
            let found = groups.values().filter(|g| id == 0 || g.group_id == id);
            out.extend(found.cloned().map(Kind::ActionProfileGroup));
        }
        Ok(out)
    }
}
