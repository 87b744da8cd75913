// SPDX-License-Identifier: Apache-2.0
//! Pipelines: tables with their constant entries, and conditionals.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::json::{array, flag, get, opt_str, pair, size, string};
use super::keys::strongest;
use super::loader::Loader;
use super::names::find;
use crate::error::{LoadError, Result, bail, bail_at};
use crate::program::{END, Node};
use crate::table::{ActionCall, NextNode, Table};

type Names<'a> = FxHashMap<&'a str, u32>;

impl<'a> Loader<'a> {
    pub(super) fn pipelines(&mut self) -> Result<()> {
        let (mut ingress, mut egress) = (END, END);
        for p in self.top("pipelines")? {
            let name = string(p, "name")?;
            let start = self.pipeline(p).map_err(|e| e.inside(name))?;
            match name {
                "ingress" => ingress = start,
                "egress" => egress = start,
                other => bail!("pipeline \"{other}\" is not v1model"),
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
            self.profile(string(a, "name")?, a)?;
        }
        let tables = array(p, "tables")?;
        for t in tables.iter().filter(|t| t.get("action_profile").is_none()) {
            // Old JSON has no list of profiles.
            if let Some(name) = opt_str(t, "act_prof_name") {
                self.profile(name, t)?;
            }
        }
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

    fn table(&self, t: &'a Value, nodes: &Names<'a>) -> Result<Table> {
        let name = string(t, "name")?;
        let profile = match string(t, "type")? {
            "simple" => None,
            "indirect" | "indirect_ws" => {
                let name = match opt_str(t, "act_prof_name") {
                    Some(name) if t.get("action_profile").is_none() => name,
                    _ => string(t, "action_profile")?,
                };
                Some(find(&self.profile_ids, "action profile", name)?)
            }
            other => bail!("type \"{other}\" is not supported"),
        };
        let (keys, key_words) = self.keys(t)?;
        let kind = strongest(&keys);
        let mut action_ids = Vec::new();
        let mut by_name = Vec::new();
        // JSON before 2.0 has names instead of ids, each for one action.
        let ids = t.get("action_ids").is_some();
        for id in array(t, if ids { "action_ids" } else { "actions" })? {
            let action = self
                .table_action(id)
                .ok_or_else(|| LoadError::new(format!("no action {id}")))?;
            action_ids.push(action);
        }
        for (n, action) in array(t, "actions")?.iter().zip(&action_ids) {
            by_name.extend(n.as_str().map(|n| (n, *action)));
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
        let max_size = match t.get("max_size") {
            Some(_) => size(t, "max_size")?,
            None => 1024,
        };
        Ok(Table {
            name: name.to_owned(),
            key_words,
            kind,
            max_size,
            with_counters: flag(t, "with_counters"),
            support_timeout: flag(t, "support_timeout"),
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

    /// Finds an action by id or by name.
    fn table_action(&self, id: &Value) -> Option<u32> {
        let at = match id {
            Value::String(name) => self.program.actions.iter().position(|a| a.name == *name),
            id => return self.action_ids.get(&id.as_u64()?).copied(),
        };
        at.map(|at| at as u32)
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
                bail_at!(c, "{kind}: bound to unknown table \"{table}\"");
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

/// Returns the node for a table that does the same for every packet.
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

fn resolve(v: &Value, nodes: &Names<'_>) -> Result<u32> {
    match v {
        Value::Null => Ok(END),
        Value::String(s) => nodes
            .get(s.as_str())
            .copied()
            .ok_or_else(|| LoadError::new(format!("next node \"{s}\" does not exist"))),
        other => bail!("next node {other} is not a name"),
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
