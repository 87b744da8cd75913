// SPDX-License-Identifier: Apache-2.0
//! Finds ids by name in a P4Info, so that the driver contains no ids.

use super::byte_string::{canonical, fitted};
use crate::Error;
use crate::program_contract::without_unit;
use ipnet::IpNet;
use std::net::IpAddr;
use tidemark_proto::p4::config::v1 as cfg;
use tidemark_proto::p4::v1 as p4;

#[derive(Clone, Debug)]
pub(super) struct Program {
    info: cfg::P4Info,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    program: &'a Program,
    table: &'a cfg::Table,
}

fn matches(preamble: Option<&cfg::Preamble>, name: &str) -> bool {
    preamble.is_some_and(|p| {
        p.name == name || p.alias == name || p.name.rsplit('.').next() == Some(name)
    })
}

fn name_of(preamble: &Option<cfg::Preamble>) -> Option<&str> {
    preamble.as_ref().map(|p| p.name.as_str())
}

impl Program {
    /// Wraps a P4Info.
    pub(super) fn new(info: cfg::P4Info) -> Self {
        Self { info }
    }

    /// Finds a table by its full name, its alias or the last part of its name, so that
    /// `queue_limit` is found in ingress (v1model) and egress (TNA).
    pub(super) fn table(&self, name: &str) -> Result<Table<'_>, Error> {
        let tables = &self.info.tables;
        let found = tables.iter().find(|t| matches(t.preamble.as_ref(), name));
        let known = tables.iter().filter_map(|t| name_of(&t.preamble));
        let table = found.ok_or_else(|| Error::name("table", name, known))?;
        Ok(Table {
            program: self,
            table,
        })
    }

    /// Returns the table of an entry, by its id.
    pub(super) fn table_by_id(&self, id: u32) -> Result<Table<'_>, Error> {
        let of_id = |t: &&cfg::Table| t.preamble.as_ref().is_some_and(|p| p.id == id);
        let known = self.info.tables.iter().filter_map(|t| name_of(&t.preamble));
        let found = self.info.tables.iter().find(of_id);
        let table = found.ok_or_else(|| Error::name("table", id.to_string(), known))?;
        Ok(Table {
            program: self,
            table,
        })
    }

    fn action_by_id(&self, id: u32) -> Option<&cfg::Action> {
        self.info
            .actions
            .iter()
            .find(|a| a.preamble.as_ref().is_some_and(|p| p.id == id))
    }
}

impl<'a> Table<'a> {
    pub(super) fn id(&self) -> u32 {
        self.table.preamble.as_ref().map_or(0, |p| p.id)
    }

    pub(super) fn name(&self) -> &'a str {
        self.table.preamble.as_ref().map_or("", |p| p.name.as_str())
    }

    /// Returns the last part of the name of an action.
    pub(super) fn action_name(&self, id: u32) -> Option<&'a str> {
        let p = self.program.action_by_id(id)?.preamble.as_ref()?;
        p.name.rsplit('.').next()
    }

    fn action(&self, name: &str) -> Result<&'a cfg::Action, Error> {
        let of_table = || {
            self.table
                .action_refs
                .iter()
                .filter_map(|r| self.program.action_by_id(r.id))
        };
        of_table()
            .find(|a| matches(a.preamble.as_ref(), name))
            .ok_or_else(|| {
                let known = of_table().filter_map(|a| name_of(&a.preamble));
                Error::name("action", format!("{name} of table {}", self.name()), known)
            })
    }

    /// Returns the name of a parameter of an action; empty if unknown.
    pub(super) fn parameter_name(&self, action_id: u32, param_id: u32) -> &'a str {
        let action = self.program.action_by_id(action_id);
        let param = action.and_then(|a| a.params.iter().find(|p| p.id == param_id));
        param.map_or("", |p| p.name.as_str())
    }

    /// Returns the number of parameters of an action.
    pub(super) fn parameters(&self, action: &str) -> Result<usize, Error> {
        Ok(self.action(action)?.params.len())
    }

    /// Creates a call of an action with arguments by name, which may omit the unit (`limit` for
    /// `limit_bytes` and `limit_cells`). The name does not matter if the action has one parameter.
    pub(super) fn call(
        &self,
        action: &str,
        args: &[(&str, u64)],
    ) -> Result<p4::TableAction, Error> {
        let a = self.action(action)?;
        let mut params = Vec::with_capacity(args.len());
        for &(name, value) in args {
            let only = a.params.len() == 1 && args.len() == 1;
            let named = |p: &&cfg::action::Param| p.name == name || without_unit(&p.name) == name;
            let param = a.params.iter().find(|p| only || named(p));
            let known = a.params.iter().map(|p| p.name.as_str());
            let what = || format!("{name} of action {action}");
            let param = param.ok_or_else(|| Error::name("parameter", what(), known))?;
            params.push(p4::action::Param {
                param_id: param.id,
                value: fitted(value, param.bitwidth, &param.name)?,
            });
        }
        if let Some(missing) = a
            .params
            .iter()
            .find(|p| !params.iter().any(|have| have.param_id == p.id))
        {
            let what = format!("{} of action {action}", missing.name);
            let known = args.iter().map(|a| a.0);
            return Err(Error::name("value for parameter", what, known));
        }
        Ok(p4::TableAction {
            r#type: Some(p4::table_action::Type::Action(p4::Action {
                action_id: a.preamble.as_ref().map_or(0, |p| p.id),
                params,
            })),
        })
    }

    fn field(&self, name: &str) -> Result<&'a cfg::MatchField, Error> {
        let fields = &self.table.match_fields;
        let only = fields.len() == 1;
        fields
            .iter()
            .find(|f| only || f.name == name || f.name.rsplit('.').next() == Some(name))
            .ok_or_else(|| {
                let known = fields.iter().map(|f| f.name.as_str());
                let what = format!("{name} of table {}", self.name());
                Error::name("match field", what, known)
            })
    }

    /// Creates an exact match; the name does not matter if the table has one field.
    pub(super) fn exact(&self, name: &str, value: u64) -> Result<p4::FieldMatch, Error> {
        let f = self.field(name)?;
        Ok(p4::FieldMatch {
            field_id: f.id,
            field_match_type: Some(p4::field_match::FieldMatchType::Exact(
                p4::field_match::Exact {
                    value: fitted(value, f.bitwidth, name)?,
                },
            )),
        })
    }

    /// Creates a ternary match on all bits of the field.
    pub(super) fn ternary(&self, name: &str, value: u64) -> Result<p4::FieldMatch, Error> {
        let f = self.field(name)?;
        let all = 1u64
            .checked_shl(f.bitwidth as u32)
            .map_or(u64::MAX, |v| v - 1);
        let value = fitted(value & all, f.bitwidth, name)?;
        Ok(ternary(f.id, value, fitted(all, f.bitwidth, name)?))
    }

    /// Creates a ternary match on an address prefix.
    pub(super) fn address(&self, name: &str, prefix: IpNet) -> Result<p4::FieldMatch, Error> {
        let bytes = |a| match a {
            IpAddr::V4(a) => canonical(a.to_bits()),
            IpAddr::V6(a) => canonical(a.to_bits()),
        };
        let (value, mask) = (bytes(prefix.network()), bytes(prefix.netmask()));
        Ok(ternary(self.field(name)?.id, value, mask))
    }
}

fn ternary(field_id: u32, value: Vec<u8>, mask: Vec<u8>) -> p4::FieldMatch {
    let both = p4::field_match::Ternary { value, mask };
    p4::FieldMatch {
        field_id,
        field_match_type: Some(p4::field_match::FieldMatchType::Ternary(both)),
    }
}
