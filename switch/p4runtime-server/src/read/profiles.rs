// SPDX-License-Identifier: Apache-2.0
//! Members and groups of action profiles.

use super::{Reader, found};
use crate::errors::{Outcome, refuse};
use crate::pipeline::Profile;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;

impl Reader<'_> {
    /// Returns the action profile with this id, or all profiles for 0.
    fn profiles(&self, id: u32, item: u32) -> Outcome<Vec<(u32, &Profile)>> {
        if id == 0 && item != 0 {
            refuse!(invalid: "a member or group id selects nothing without an action profile id");
        }
        self.pipeline.profiles.selected(id)
    }

    pub(super) fn members(&self, filter: &p4::ActionProfileMember) -> Outcome<Vec<Kind>> {
        let id = filter.member_id;
        let mut out = Vec::new();
        for (number, profile) in self.profiles(filter.action_profile_id, id)? {
            let members = &self.store.profile(number)?.members;
            let found = found(members, id, || {
                format!("{} has no member {id}", profile.name)
            })?;
            out.extend(found.into_iter().map(Kind::ActionProfileMember));
        }
        Ok(out)
    }

    pub(super) fn selector_groups(&self, filter: &p4::ActionProfileGroup) -> Outcome<Vec<Kind>> {
        let id = filter.group_id;
        let mut out = Vec::new();
        for (number, profile) in self.profiles(filter.action_profile_id, id)? {
            let groups = &self.store.profile(number)?.groups;
            let found = found(groups, id, || format!("{} has no group {id}", profile.name))?;
            out.extend(found.into_iter().map(Kind::ActionProfileGroup));
        }
        Ok(out)
    }
}
