// SPDX-License-Identifier: Apache-2.0
//! Values of parser value sets.

use super::writer::{Writer, only_modify};
use crate::errors::{Failure, Outcome, refuse, refuse_at};
use crate::pipeline::{KeyKind, ValueSet};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::field_match::FieldMatchType;
use tidemark_proto::p4::v1::update::Type;

impl Writer<'_> {
    pub(super) async fn value_set(&mut self, kind: Type, e: &p4::ValueSetEntry) -> Outcome<()> {
        only_modify(kind, "a value set")?;
        let set = self.pipeline.value_sets.get(e.value_set_id)?;
        let at = |f: Failure| f.at(format!("value set {}", set.name));
        if e.members.len() > set.size {
            return Err(at(Failure::exhausted(format!(
                "it holds {}, {} were given",
                set.size,
                e.members.len()
            ))));
        }
        let values = e
            .members
            .iter()
            .map(|m| value(set, &m.r#match))
            .collect::<Outcome<Vec<_>>>()
            .map_err(at)?;
        if let Some(t) = self.target {
            t.set_value_set(&set.name, &values).await?;
        }
        self.store
            .value_sets
            .insert(e.value_set_id, e.members.clone());
        Ok(())
    }
}

fn value(set: &ValueSet, fields: &[p4::FieldMatch]) -> Outcome<Vec<u8>> {
    if let Some(f) = fields
        .iter()
        .find(|f| set.keys.iter().all(|k| k.id != f.field_id))
    {
        refuse!(invalid: "it has no field with id {}", f.field_id);
    }
    let mut out = Vec::new();
    for key in &set.keys {
        if key.kind != KeyKind::Exact {
            refuse!(unsupported: "only exact values of value sets are supported");
        }
        let mut given = fields.iter().filter(|f| f.field_id == key.id);
        let at = |f: Failure| f.at(format!("field {}", key.id));
        match (given.next(), given.next()) {
            (Some(f), None) => match &f.field_match_type {
                Some(FieldMatchType::Exact(v)) => {
                    out.extend(key.values.parse(&v.value).map_err(at)?);
                }
                _ => refuse_at!(at, invalid: "needs an exact value"),
            },
            (None, _) => refuse_at!(at, invalid: "is missing"),
            (Some(_), Some(_)) => refuse_at!(at, invalid: "is given twice"),
        }
    }
    Ok(out)
}
