// SPDX-License-Identifier: Apache-2.0
//! Lists of fields that copies of packets keep.

use super::json::{array, get, number, pair, string};
use super::loader::Loader;
use crate::bits::words_for;
use crate::error::{Result, bail_at};
use crate::field::FieldRef;
use crate::header::FieldList;

impl Loader<'_> {
    pub(super) fn field_lists(&mut self) -> Result<()> {
        self.program.field_lists.insert(0, FieldList::default());
        for l in self.top("field_lists")? {
            let id = number(l, "id")? as u32;
            let mut fields = Vec::new();
            for e in array(l, "elements")? {
                match string(e, "type")? {
                    "field" => {
                        let (h, f) = pair(get(e, "value")?)?;
                        fields.push(self.field(h, f).map_err(|x| x.at(l))?);
                    }
                    "header" => {
                        let h = self.header_id(string(e, "value")?)?;
                        if let Some(h) = self.program.headers.get(h as usize) {
                            fields.extend(&h.fields);
                        }
                    }
                    // A constant has nothing to be copied to.
                    "hexstr" => {}
                    other => bail_at!(l, "\"{other}\" in a field list"),
                }
            }
            self.program
                .field_lists
                .insert(id, field_list(&fields, self.program.metadata_words.end));
        }
        Ok(())
    }
}

/// Builds a list in which adjacent metadata fields, each alone in its words, are copied in
/// runs.
fn field_list(fields: &[FieldRef], metadata_end: usize) -> FieldList {
    let mut out = FieldList::default();
    for f in fields {
        if f.width <= 64 && !f.variable && f.slot as usize >= metadata_end {
            out.parts.push(*f);
            continue;
        }
        let start = f.slot - u32::from(f.variable);
        let end = f.slot + words_for(f.width) as u32;
        match out.words.last_mut() {
            Some(r) if r.end == start => r.end = end,
            _ => out.words.push(start..end),
        }
    }
    out
}
