// SPDX-License-Identifier: Apache-2.0
//! Actions of a P4Info.

use super::checks::preamble;
use super::values::{Types, Values};
use crate::errors::Outcome;
use std::collections::BTreeMap;
use tidemark_proto::p4::config::v1 as p4info;

#[derive(Clone)]
pub(crate) struct Action {
    pub id: u32,
    pub name: String,
    pub params: Vec<Param>,
}

#[derive(Clone)]
pub(crate) struct Param {
    pub id: u32,
    pub name: String,
    pub values: Values,
}

pub(super) fn index(info: &p4info::P4Info, types: &Types<'_>) -> Outcome<BTreeMap<u32, Action>> {
    let mut out = BTreeMap::new();
    for a in &info.actions {
        let p = preamble(&a.preamble)?;
        let params = a
            .params
            .iter()
            .map(|x| {
                Ok(Param {
                    id: x.id,
                    name: x.name.clone(),
                    values: types.values(
                        x.bitwidth,
                        x.type_name.as_ref(),
                        format!("{} of {}", x.name, p.name),
                    )?,
                })
            })
            .collect::<Outcome<_>>()?;
        out.insert(
            p.id,
            Action {
                id: p.id,
                name: p.name.clone(),
                params,
            },
        );
    }
    Ok(out)
}
