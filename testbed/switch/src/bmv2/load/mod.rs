// SPDX-License-Identifier: Apache-2.0
//! From p4c's JSON to [`Program`].

mod actions;
mod calculations;
mod constants;
mod exprs;
mod field_lists;
mod headers;
mod json;
mod keys;
mod layout;
mod learn;
mod names;
mod parser;
mod profiles;
mod tables;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::LoadError;
use super::ir::Program;
use json::{array, opt_str};

type Result<T> = std::result::Result<T, LoadError>;

/// Newest `__meta__.version` that is understood; older minors are subsets.
const VERSION: (u64, u64) = (2, 24);

/// Reads a BMv2 JSON.
///
/// # Errors
/// Not JSON, not BMv2's format, or a construct that this switch does not
/// implement; the message names it and the P4 source line.
pub fn load(bytes: &[u8]) -> Result<Program> {
    let root: Value = serde_json::from_slice(bytes).map_err(|e| {
        LoadError::new(format!(
            "program is not JSON: {e}; give p4c's BMv2 output (p4c-bm2-ss -o x.json)"
        ))
    })?;
    check_version(&root)?;
    let mut l = Loader::new(&root);
    l.headers()?;
    l.arrays()?;
    l.calculations()?;
    l.learn_lists()?;
    l.actions()?;
    l.parser()?;
    l.pipelines()?;
    l.checksums()?;
    l.deparser()?;
    super::lower::lower(&mut l.program);
    Ok(l.program)
}

fn check_version(root: &Value) -> Result<()> {
    if root.get("pipelines").is_none() || root.get("parsers").is_none() {
        return Err(LoadError::new(
            "program is JSON but not BMv2's: no \"pipelines\" or \"parsers\"; compile with p4c-bm2-ss",
        ));
    }
    let Some(v) = root.pointer("/__meta__/version") else {
        return Ok(());
    };
    let part = |i: usize| v.get(i).and_then(Value::as_u64);
    match (part(0), part(1)) {
        (Some(major), Some(minor)) if major == VERSION.0 && minor <= VERSION.1 => Ok(()),
        _ => Err(LoadError::new(format!(
            "BMv2 JSON version {v} is not supported; this switch reads {}.0 to {}.{}",
            VERSION.0, VERSION.0, VERSION.1
        ))),
    }
}

struct Loader<'a> {
    root: &'a Value,
    program: Program,
    header_ids: FxHashMap<&'a str, u32>,
    stack_ids: FxHashMap<&'a str, u32>,
    /// (header, field) to index within the header.
    field_ids: FxHashMap<(u32, &'a str), u32>,
    aliases: FxHashMap<&'a str, (&'a str, &'a str)>,
    calculation_ids: FxHashMap<&'a str, u32>,
    register_ids: FxHashMap<&'a str, u32>,
    counter_ids: FxHashMap<&'a str, u32>,
    meter_ids: FxHashMap<&'a str, u32>,
    value_set_ids: FxHashMap<&'a str, u32>,
    profile_ids: FxHashMap<&'a str, u32>,
    /// JSON action id to index; BMv2's ids need not be dense.
    action_ids: FxHashMap<u64, u32>,
    /// Parameters of the action being read.
    params: Vec<super::ir::Param>,
}

impl<'a> Loader<'a> {
    fn new(root: &'a Value) -> Self {
        Self {
            root,
            program: Program {
                source: opt_str(root, "program").unwrap_or_default().to_owned(),
                ..Program::default()
            },
            header_ids: FxHashMap::default(),
            stack_ids: FxHashMap::default(),
            field_ids: FxHashMap::default(),
            aliases: FxHashMap::default(),
            calculation_ids: FxHashMap::default(),
            register_ids: FxHashMap::default(),
            counter_ids: FxHashMap::default(),
            meter_ids: FxHashMap::default(),
            value_set_ids: FxHashMap::default(),
            profile_ids: FxHashMap::default(),
            action_ids: FxHashMap::default(),
            params: Vec::new(),
        }
    }

    /// A top-level array; absent means empty.
    fn top(&self, key: &str) -> Result<&'a [Value]> {
        match self.root.get(key) {
            None => Ok(&[]),
            Some(_) => array(self.root, key),
        }
    }
}
