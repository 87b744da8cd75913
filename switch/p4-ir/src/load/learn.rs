// SPDX-License-Identifier: Apache-2.0
//! Lists of the fields that make up digests.

use super::json::{array, get, number, pair, string};
use super::loader::Loader;
use crate::error::{Result, bail_at};
use crate::table::LearnList;

impl Loader<'_> {
    pub(super) fn learn_lists(&mut self) -> Result<()> {
        for l in self.top("learn_lists")? {
            let name = string(l, "name")?;
            let mut fields = Vec::new();
            for e in array(l, "elements")? {
                let kind = string(e, "type")?;
                if kind != "field" {
                    bail_at!(l, "digest {name}: \"{kind}\" in a digest is not supported");
                }
                let (h, f) = pair(get(e, "value")?)?;
                let field = self.field(h, f).map_err(|x| x.at(l))?;
                if field.variable {
                    bail_at!(l, "digest {name}: varbit in a digest is not supported");
                }
                fields.push(field);
            }
            let list = LearnList {
                name: name.into(),
                fields,
            };
            self.program
                .learn_lists
                .insert(number(l, "id")? as u32, list);
        }
        Ok(())
    }
}
