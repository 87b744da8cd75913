// SPDX-License-Identifier: Apache-2.0
//! Parser value sets of a P4Info, checked against the program.

use super::checks::preamble;
use super::numbered::Numbered;
use super::tables::{Key, key};
use super::values::Types;
use crate::errors::{Failure, Outcome};
use p4_ir::Program;
use tidemark_proto::p4::config::v1 as p4info;

pub(crate) struct ValueSet {
    pub name: String,
    /// Most values that it can hold.
    pub size: usize,
    pub keys: Vec<Key>,
}

pub(super) fn index(
    info: &p4info::P4Info,
    program: &Program,
    types: &Types<'_>,
) -> Outcome<Numbered<ValueSet>> {
    let mut out = Numbered::new("value set");
    for s in &info.value_sets {
        let p = preamble(&s.preamble)?;
        let at = |f: Failure| f.at(format!("value set {}", p.name));
        if program.value_sets.iter().all(|v| v.name != p.name) {
            out.left_out(p);
            continue;
        }
        let keys = s.r#match.iter().map(|m| key(m, types));
        let keys = keys.collect::<Outcome<_>>();
        out.insert(
            p.id,
            ValueSet {
                name: p.name.clone(),
                size: usize::try_from(s.size).unwrap_or(0),
                keys: keys.map_err(at)?,
            },
        );
    }
    Ok(out)
}
