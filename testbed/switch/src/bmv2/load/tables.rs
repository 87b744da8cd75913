// SPDX-License-Identifier: Apache-2.0
//! Pipelines: tables, their constant entries, conditionals.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::json::{array, flag, get, opt_str, pair, small, string};
use super::{Loader, Result};
use crate::bmv2::LoadError;
use crate::bmv2::bits::{mask64, words_for};
use crate::bmv2::ir::{
    ActionCall, ConstEntry, END, MatchKind, MatchValue, NextNode, Node, Profile, ProfileAction,
    Table, TableKey,
};

type Names<'a> = FxHashMap<&'a str, u32>;

impl<'a> Loader<'a> {
    pub fn pipelines(&mut self) -> Result<()> {
        let (mut ingress, mut egress) = (END, END);
        for p in self.top("pipelines")? {
            let name = string(p, "name")?;
            let start = self.pipeline(p).map_err(|e| e.inside(name))?;
            match name {
                "ingress" => ingress = start,
                "egress" => egress = start,
                other => {
                    return Err(LoadError::new(format!(
                        "pipeline \"{other}\" is not v1model"
                    )));
                }
            }
        }
        self.program.ingress_start = ingress;
        self.program.egress_start = egress;
        self.profile_actions()?;
        self.bind_direct("counter_arrays")?;
        self.bind_direct("meter_arrays")
    }

    fn pipeline(&mut self, p: &'a Value) -> Result<u32> {
        for a in p
            .get("action_profiles")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default()
        {
            self.profile(a)?;
        }
        let tables = array(p, "tables")?;
        let conditionals = array(p, "conditionals")?;
        let mut nodes: Names<'a> = FxHashMap::default();
        for (i, n) in tables.iter().chain(conditionals).enumerate() {
            nodes.insert(string(n, "name")?, (self.program.nodes.len() + i) as u32);
        }
        for t in tables {
            let name = string(t, "name")?;
            let table = self
                .table(t, &nodes)
                .map_err(|e| e.at(t).inside(&format!("table {name}")))?;
            self.program.nodes.push(match always(&table) {
                Some(n) => n,
                None => Node::Table(self.program.tables.len() as u32),
            });
            self.program.tables.push(table);
        }
        for c in conditionals {
            let node = Node::If {
                condition: self.exact(get(c, "expression")?).map_err(|e| e.at(c))?,
                yes: next(c, "true_next", &nodes)?,
                no: next(c, "false_next", &nodes)?,
            };
            self.program.nodes.push(node);
        }
        next(p, "init_table", &nodes)
    }

    /// Tables that share a profile have the same actions, but each has numbers
    /// of its own for them.
    fn profile_actions(&mut self) -> Result<()> {
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
                    return Err(LoadError::new(format!(
                        "table {}: action profile {} has action {}, the table does not",
                        table.name, profile.name, a.name
                    )));
                };
                table.profile_actions.push(*id);
            }
            if own.len() != profile.actions.len() {
                return Err(LoadError::new(format!(
                    "table {}: has other actions than its action profile {}",
                    table.name, profile.name
                )));
            }
        }
        Ok(())
    }

    fn profile(&mut self, a: &'a Value) -> Result<()> {
        let name = string(a, "name")?;
        let selector = match a.get("selector") {
            None | Some(Value::Null) => None,
            Some(s) => Some(self.calculation(name, string(s, "algo")?, array(s, "input")?)?),
        };
        self.profile_ids
            .insert(name, self.program.profiles.len() as u32);
        self.program.profiles.push(Profile {
            name: name.to_owned(),
            max_size: small(a, "max_size").unwrap_or(1024) as usize,
            selector,
            actions: Vec::new(),
        });
        Ok(())
    }

    fn table(&self, t: &'a Value, nodes: &Names<'a>) -> Result<Table> {
        let name = string(t, "name")?;
        let profile = match string(t, "type")? {
            "simple" => None,
            "indirect" | "indirect_ws" => {
                let name = string(t, "action_profile")?;
                let id = self.profile_ids.get(name).copied();
                Some(id.ok_or_else(|| LoadError::new(format!("no action profile \"{name}\"")))?)
            }
            other => return Err(LoadError::new(format!("type \"{other}\" is not supported"))),
        };
        let (keys, key_words) = self.keys(t)?;
        let kind = strongest(&keys);
        let mut action_ids = Vec::new();
        let mut by_name = Vec::new();
        for (i, id) in array(t, "action_ids")?.iter().enumerate() {
            let action = id
                .as_u64()
                .and_then(|id| self.action_ids.get(&id))
                .copied()
                .ok_or_else(|| LoadError::new(format!("no action with id {id}")))?;
            action_ids.push(action);
            if let Some(n) = array(t, "actions")?.get(i).and_then(Value::as_str) {
                by_name.push((n, action));
            }
        }
        let default = match t.get("default_entry") {
            None | Some(Value::Null) => None,
            Some(d) => {
                let action = self.action_by_json_id(d, "action_id")?;
                Some(ActionCall {
                    action,
                    args: self
                        .constant_args(action, d.get("action_data").unwrap_or(&Value::Null))?,
                })
            }
        };
        let mut const_entries = Vec::new();
        if let Some(list) = t.get("entries").and_then(Value::as_array) {
            for (i, e) in list.iter().enumerate() {
                const_entries.push(
                    self.const_entry(e, &keys, i)
                        .map_err(|x| x.at(e).inside("entry"))?,
                );
            }
        }
        let max_size = small(t, "max_size").unwrap_or(1024) as usize;
        Ok(Table {
            name: name.to_owned(),
            key_words,
            kind,
            max_size,
            with_counters: flag(t, "with_counters"),
            direct_meter: None,
            next: next_nodes(t, nodes, &by_name)?,
            action_ids,
            default,
            default_is_const: t
                .get("default_entry")
                .is_some_and(|d| flag(d, "action_const")),
            const_entries,
            profile,
            profile_actions: Vec::new(),
            keys,
        })
    }

    fn keys(&self, t: &'a Value) -> Result<(Vec<TableKey>, usize)> {
        let mut keys = Vec::new();
        let (mut word, mut used) = (0usize, 0u32);
        for k in array(t, "key")? {
            let kind = match string(k, "match_type")? {
                "exact" | "valid" => MatchKind::Exact,
                "lpm" => MatchKind::Lpm,
                "ternary" | "optional" => MatchKind::Ternary,
                "range" => MatchKind::Range,
                other => {
                    return Err(LoadError::new(format!(
                        "match kind \"{other}\" is not supported"
                    )));
                }
            };
            let (h, f) = pair(get(k, "target")?)?;
            let field = self.field(h, f)?;
            if field.variable {
                return Err(LoadError::new("varbit as a key is not supported"));
            }
            let mask = match k.get("mask").and_then(Value::as_str) {
                Some(m) => Some(self.constant_words(k, m, field.width)?),
                None => None,
            };
            // Small fields share a word; a wide one begins its own.
            if field.width > 64 || used + field.width > 64 {
                if used > 0 {
                    word += 1;
                }
                used = 0;
            }
            keys.push(TableKey {
                name: opt_str(k, "name").map_or_else(|| format!("{h}.{f}"), str::to_owned),
                kind,
                field,
                mask,
                word,
                shift: if field.width > 64 { 0 } else { used },
            });
            if field.width > 64 {
                word += words_for(field.width);
                used = 0;
            } else {
                used += field.width;
            }
        }
        let words = word + usize::from(used > 0);
        Ok((keys, words))
    }

    fn const_entry(&self, e: &'a Value, keys: &[TableKey], index: usize) -> Result<ConstEntry> {
        let mut matches = Vec::new();
        let parts = array(e, "match_key")?;
        if parts.len() != keys.len() {
            return Err(LoadError::new("wrong number of keys"));
        }
        for (m, k) in parts.iter().zip(keys) {
            let width = k.field.width;
            let words =
                |key: &str| -> Result<Vec<u64>> { self.constant_words(m, string(m, key)?, width) };
            matches.push(match string(m, "match_type")? {
                "exact" => MatchValue::Exact(words("key")?),
                // p4c writes booleans in JSON for keys of type bool.
                "valid" => MatchValue::Exact(vec![u64::from(flag(m, "key")) & mask64(width)]),
                "lpm" => MatchValue::Lpm {
                    value: words("key")?,
                    prefix_bits: small(m, "prefix_length")?.min(width),
                },
                "ternary" | "optional" => MatchValue::Ternary {
                    value: words("key")?,
                    mask: words("mask")?,
                },
                "range" => MatchValue::Range {
                    low: words("start")?,
                    high: words("end")?,
                },
                other => {
                    return Err(LoadError::new(format!(
                        "match kind \"{other}\" is not supported"
                    )));
                }
            });
        }
        let call = get(e, "action_entry")?;
        let action = self.action_by_json_id(call, "action_id")?;
        Ok(ConstEntry {
            matches,
            priority: e
                .get("priority")
                .and_then(Value::as_i64)
                .unwrap_or(index as i64 + 1) as i32,
            call: ActionCall {
                action,
                args: self
                    .constant_args(action, call.get("action_data").unwrap_or(&Value::Null))?,
            },
        })
    }

    fn bind_direct(&mut self, kind: &str) -> Result<()> {
        for (i, c) in self.top(kind)?.iter().enumerate() {
            if !flag(c, "is_direct") {
                continue;
            }
            let Some(table) = c.get("binding").and_then(Value::as_str) else {
                continue;
            };
            let Some(t) = self.program.tables.iter().position(|t| t.name == table) else {
                return Err(
                    LoadError::new(format!("{kind}: bound to unknown table \"{table}\"")).at(c),
                );
            };
            if kind == "counter_arrays" {
                if let Some(x) = self.program.counters.get_mut(i) {
                    x.table = Some(t as u32);
                }
                continue;
            }
            let (h, f) = pair(get(c, "result_target")?)?;
            let target = self.field(h, f)?;
            if let Some(x) = self.program.meters.get_mut(i) {
                x.table = Some(t as u32);
            }
            if let Some(x) = self.program.tables.get_mut(t) {
                x.direct_meter = Some((i as u32, target));
            }
        }
        Ok(())
    }
}

/// The node for a table that does the same for every packet.
fn always(t: &Table) -> Option<Node> {
    if !t.keys.is_empty() || !t.default_is_const {
        return None;
    }
    let call = t.default.clone()?;
    let next = match &t.next {
        NextNode::HitMiss { miss, .. } => *miss,
        NextNode::ByAction { nodes, base } => nodes
            .iter()
            .find(|(a, _)| *a == call.action)
            .map_or(*base, |(_, n)| *n),
    };
    Some(Node::Always { call, next })
}

fn strongest(keys: &[TableKey]) -> MatchKind {
    let has = |k: MatchKind| keys.iter().filter(|x| x.kind == k).count();
    if has(MatchKind::Range) > 0 {
        MatchKind::Range
    } else if has(MatchKind::Ternary) > 0 || has(MatchKind::Lpm) > 1 {
        MatchKind::Ternary
    } else if has(MatchKind::Lpm) > 0 {
        MatchKind::Lpm
    } else {
        MatchKind::Exact
    }
}

fn resolve(v: &Value, nodes: &Names<'_>) -> Result<u32> {
    match v {
        Value::Null => Ok(END),
        Value::String(s) => nodes
            .get(s.as_str())
            .copied()
            .ok_or_else(|| LoadError::new(format!("next node \"{s}\" does not exist"))),
        other => Err(LoadError::new(format!("next node {other} is not a name"))),
    }
}

fn next(v: &Value, key: &str, nodes: &Names<'_>) -> Result<u32> {
    v.get(key).map_or(Ok(END), |n| resolve(n, nodes))
}

fn next_nodes(t: &Value, nodes: &Names<'_>, actions: &[(&str, u32)]) -> Result<NextNode> {
    let base = next(t, "base_default_next", nodes)?;
    let Some(map) = t.get("next_tables").and_then(Value::as_object) else {
        return Ok(NextNode::ByAction {
            nodes: Vec::new(),
            base,
        });
    };
    if map.contains_key("__HIT__") || map.contains_key("__MISS__") {
        return Ok(NextNode::HitMiss {
            hit: map.get("__HIT__").map_or(Ok(base), |v| resolve(v, nodes))?,
            miss: map
                .get("__MISS__")
                .map_or(Ok(base), |v| resolve(v, nodes))?,
        });
    }
    let mut out = Vec::new();
    for (name, id) in actions {
        if let Some(v) = map.get(*name) {
            out.push((*id, resolve(v, nodes)?));
        }
    }
    Ok(NextNode::ByAction { nodes: out, base })
}
