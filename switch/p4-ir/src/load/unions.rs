// SPDX-License-Identifier: Apache-2.0
//! Header unions, of which at most one member is valid. Otherwise a member is like any other
//! header, and a stack of unions is one stack for each member.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::json::{array, get, number, pair, string};
use super::loader::Loader;
use crate::error::{LoadError, Result, bail_at};
use crate::header::Stack;

/// Name and header type of each member.
type Members<'a> = Vec<(&'a str, &'a str)>;

impl<'a> Loader<'a> {
    pub(super) fn union_types(&self) -> Result<FxHashMap<&'a str, Members<'a>>> {
        let mut types = FxHashMap::default();
        for t in self.top("header_union_types")? {
            let members: Result<_> = array(t, "headers")?.iter().map(pair).collect();
            types.insert(string(t, "name")?, members?);
        }
        Ok(types)
    }

    /// Loads the unions; runs after the headers and before their stacks.
    pub(super) fn unions(&mut self, next_slot: &mut usize) -> Result<()> {
        let mut headers = FxHashMap::default();
        for h in self.top("headers")? {
            headers.insert(number(h, "id")?, string(h, "name")?);
        }
        let mut by_json_id = FxHashMap::default();
        for u in self.top("header_unions")? {
            let name = string(u, "name")?;
            let mut members = Vec::new();
            for id in array(u, "header_ids")? {
                let member = id.as_u64().and_then(|id| headers.get(&id));
                members.push(self.member(u, name, member.copied())?);
            }
            by_json_id.insert(number(u, "id")?, members.clone());
            self.union(name, members);
        }
        let types = self.union_types()?;
        for s in self.top("header_union_stacks")? {
            self.union_stack(s, &types, &by_json_id, next_slot)
                .map_err(|e| e.at(s))?;
        }
        Ok(())
    }

    fn member(&self, at: &Value, union: &str, name: Option<&str>) -> Result<u32> {
        name.and_then(|n| self.header_ids.get(n))
            .copied()
            .ok_or_else(|| {
                LoadError::new(format!("header union \"{union}\" has an unknown member")).at(at)
            })
    }

    /// Makes these headers the members of one union.
    pub(super) fn union(&mut self, name: &'a str, members: Vec<u32>) {
        let headers = &mut self.program.headers;
        let valid = |id: &u32| headers.get(*id as usize).map(|h| h.valid);
        let valid: Vec<u32> = members.iter().filter_map(valid).collect();
        for id in &members {
            if let Some(h) = headers.get_mut(*id as usize) {
                h.rivals = valid.iter().copied().filter(|v| *v != h.valid).collect();
            }
        }
        self.unions.insert(name, members);
    }

    fn union_stack(
        &mut self,
        s: &'a Value,
        types: &FxHashMap<&'a str, Members<'a>>,
        unions: &FxHashMap<u64, Vec<u32>>,
        next_slot: &mut usize,
    ) -> Result<()> {
        let name = string(s, "name")?;
        let kind = string(s, "union_type")?;
        let unknown = |what| LoadError::new(format!("stack of unions \"{name}\" {what}"));
        let members = types
            .get(kind)
            .filter(|m| !m.is_empty())
            .ok_or_else(|| unknown("has an unknown type"))?;
        let mut elements = Vec::new();
        for id in array(s, "header_union_ids")? {
            let union = id.as_u64().and_then(|id| unions.get(&id));
            elements.push(union.ok_or_else(|| unknown("has an unknown element"))?);
        }
        let first = self.program.stacks.len() as u32;
        let next = *next_slot as u32;
        *next_slot += 1;
        for (i, (member, _)) in members.iter().enumerate() {
            let headers: Option<Vec<u32>> = elements.iter().map(|u| u.get(i).copied()).collect();
            let id = first + i as u32;
            self.union_stack_ids.insert((name, member), id);
            self.program.stacks.push(Stack {
                headers: headers.ok_or_else(|| unknown("has an element of another type"))?,
                next,
                others: (first..first + members.len() as u32)
                    .filter(|o| *o != id)
                    .collect(),
            });
        }
        if elements.is_empty() {
            bail_at!(s, "stack of unions \"{name}\" has no elements");
        }
        self.stack_ids.insert(name, first);
        Ok(())
    }

    /// Returns the members of the union that an operand names.
    pub(super) fn union_operand(&self, v: &Value) -> Result<&[u32]> {
        let name = match string(v, "type")? {
            "header_union" => string(v, "value")?,
            other => bail_at!(v, "\"{other}\" where a header union is needed"),
        };
        let found = self.unions.get(name);
        found
            .map(Vec::as_slice)
            .ok_or_else(|| LoadError::new(format!("no header union \"{name}\"")).at(v))
    }

    /// Finds one member's stack in a stack of unions: `[stack, member, ...]`.
    pub(super) fn union_stack_id(&self, v: &Value) -> Result<u32> {
        let list = array(v, "value")?;
        let part = |i: usize| list.get(i).and_then(Value::as_str).unwrap_or_default();
        let (stack, member) = (part(0), part(1));
        let found = self.union_stack_ids.get(&(stack, member)).copied();
        found.ok_or_else(|| {
            LoadError::new(format!(
                "no member \"{member}\" of a stack of unions \"{stack}\""
            ))
            .at(v)
        })
    }

    /// Reads `access_union_header(..., member)`: finds that member's stack in the stack of unions
    /// whose first member has `stack`.
    pub(super) fn union_stack_member(&self, stack: u32, v: &Value) -> Result<u32> {
        let member = get(v, "right")?.as_u64().unwrap_or(u64::MAX);
        let members = match self.program.stacks.get(stack as usize) {
            Some(s) => s.others.len() as u64 + 1,
            None => 0,
        };
        if member >= members {
            bail_at!(v, "access_union_header has no member {member}");
        }
        Ok(stack + member as u32)
    }

    /// Adds a union that the JSON declares as a header, with undeclared members.
    pub(super) fn declared_as_header(
        &mut self,
        name: &'a str,
        members: &Members<'a>,
        mut add: impl FnMut(&mut Self, Cow<'a, str>, &'a str) -> Result<u32>,
    ) -> Result<()> {
        let mut ids = Vec::new();
        for (member, kind) in members {
            ids.push(add(self, format!("{name}.{member}").into(), kind)?);
        }
        self.union(name, ids);
        Ok(())
    }
}
