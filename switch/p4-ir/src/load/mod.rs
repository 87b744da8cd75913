// SPDX-License-Identifier: Apache-2.0
//! Converts p4c's JSON to a [`Program`](crate::Program).

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
mod loader;
mod names;
mod parser;
mod profiles;
mod tables;
mod unions;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::error::{LoadError, Result, bail};
use crate::program::Program;
use loader::Loader;

/// Newest supported `__meta__.version`; older minor versions are subsets.
const VERSION: (u64, u64) = (2, 24);

/// Reads a program in BMv2's JSON format.
///
/// # Errors
/// The input is not JSON, not in BMv2's format, or contains a construct that this switch
/// does not implement; the message names the construct and the P4 source line.
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
    Ok(l.program)
}

fn check_version(root: &Value) -> Result<()> {
    if root.get("pipelines").is_none() || root.get("parsers").is_none() {
        bail!(
            "program is JSON but not BMv2's: no \"pipelines\" or \"parsers\"; compile with p4c-bm2-ss"
        );
    }
    let Some(v) = root.pointer("/__meta__/version") else {
        return Ok(());
    };
    let part = |i: usize| v.get(i).and_then(Value::as_u64);
    match (part(0), part(1)) {
        (Some(major), Some(minor)) if major == VERSION.0 && minor <= VERSION.1 => Ok(()),
        _ => bail!(
            "BMv2 JSON version {v} is not supported; this switch reads {}.0 to {}.{}",
            VERSION.0,
            VERSION.0,
            VERSION.1
        ),
    }
}
