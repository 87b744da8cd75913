// SPDX-License-Identifier: Apache-2.0
//! Action profiles.

use serde_json::Value;

use super::json::{array, string};
use super::loader::Loader;
use crate::error::{Result, bail};
use crate::table::{Profile, ProfileAction};

impl<'a> Loader<'a> {
    /// Collects the actions of each profile. Tables that share a profile have the same actions,
    /// but each numbers them in its own way.
    pub(super) fn profile_actions(&mut self) -> Result<()> {
        let program = &mut self.program;
        for table in &mut program.tables {
            let Some(profile) = table
                .profile
                .and_then(|id| program.profiles.get_mut(id as usize))
            else {
                continue;
            };
            let own = |id: &u32| {
                let a = program.actions.get(*id as usize)?;
                let widths = a.params.iter().map(|p| p.width).collect();
                let name = a.name.clone();
                Some((*id, ProfileAction { name, widths }))
            };
            let own: Vec<(u32, ProfileAction)> = table.action_ids.iter().filter_map(own).collect();
            if profile.actions.is_empty() {
                profile.actions = own.iter().map(|(_, a)| a.clone()).collect();
            }
            for a in &profile.actions {
                let Some((id, _)) = own.iter().find(|(_, o)| o == a) else {
                    bail!(
                        "table {}: action profile {} has action {}, the table does not",
                        table.name,
                        profile.name,
                        a.name
                    );
                };
                table.profile_actions.push(*id);
            }
            if own.len() != profile.actions.len() {
                bail!(
                    "table {}: has other actions than its action profile {}",
                    table.name,
                    profile.name
                );
            }
        }
        Ok(())
    }

    pub(super) fn profile(&mut self, name: &'a str, a: &'a Value) -> Result<()> {
        let selector = match a.get("selector") {
            None | Some(Value::Null) => None,
            Some(s) => Some(self.calculation(string(s, "algo")?, array(s, "input")?)?),
        };
        self.profile_ids
            .insert(name, self.program.profiles.len() as u32);
        self.program.profiles.push(Profile {
            name: name.to_owned(),
            selector,
            actions: Vec::new(),
        });
        Ok(())
    }
}
