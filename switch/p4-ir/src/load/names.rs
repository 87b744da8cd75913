// SPDX-License-Identifier: Apache-2.0
//! Finds headers, stacks and fields by name, and standard metadata.

use std::borrow::Borrow;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::loader::Loader;
use crate::aqm::{AqmFields, source_name};
use crate::error::{LoadError, Result};
use crate::field::FieldRef;
use crate::header::StandardMetadata;

impl Loader<'_> {
    /// Finds the fields of standard metadata; p4c uses P4_14 names where there are aliases.
    pub(super) fn standard_metadata(&mut self) {
        let headers = [
            "queueing_metadata",
            "intrinsic_metadata",
            "standard_metadata",
        ];
        let find = |field: &str| headers.iter().find_map(|h| self.metadata_field(h, field));
        self.program.std = StandardMetadata::new(find);
    }

    pub(super) fn aqm_fields(&self) -> Option<AqmFields> {
        let ecn = |header| {
            let valid = self.field(header, "$valid$").ok()?;
            Some((valid, self.field(header, "ecn").ok()?))
        };
        Some(AqmFields {
            dropped: self.user_metadata("report_dropped")?,
            drop_reason: self.user_metadata("report_drop_reason")?,
            flags: self.user_metadata("report_flags")?,
            sampled: self.user_metadata("sampled")?,
            ecn: [ecn("ipv4")?, ecn("ipv6")?],
        })
    }

    /// Finds a metadata field by its name in the P4 source; the first if there are several.
    fn user_metadata(&self, name: &str) -> Option<FieldRef> {
        let named = self
            .field_ids
            .iter()
            .filter(|((_, f), _)| source_name(f) == name);
        let fields = named.filter_map(|((header, _), at)| {
            let h = self.program.headers.get(*header as usize)?;
            h.fields.get(*at as usize).filter(|_| h.metadata).copied()
        });
        fields.min_by_key(|f| f.slot)
    }

    fn metadata_field(&self, header: &str, field: &str) -> Option<FieldRef> {
        let (h, f) = match self.aliases.get(format!("{header}.{field}").as_str()) {
            Some((h, f)) => (*h, *f),
            None => (header, field),
        };
        self.field(h, f).ok()
    }

    /// Finds a field by name; `$valid$` counts as a field.
    pub(super) fn field(&self, header: &str, field: &str) -> Result<FieldRef> {
        let unknown = || LoadError::new(format!("no field \"{header}.{field}\""));
        let Some(id) = self.header_ids.get(header) else {
            let alias = self.aliases.get(format!("{header}.{field}").as_str());
            return match alias {
                Some((h, f)) if *h != header => self.field(h, f),
                _ => Err(unknown()),
            };
        };
        let h = self.program.headers.get(*id as usize).ok_or_else(unknown)?;
        if field == "$valid$" {
            return Ok(FieldRef::alone(h.valid, 1));
        }
        self.field_ids
            .get(&(*id, field))
            .and_then(|i| h.fields.get(*i as usize))
            .copied()
            .ok_or_else(unknown)
    }

    pub(super) fn header_id(&self, name: &str) -> Result<u32> {
        find(&self.header_ids, "header", name)
    }

    pub(super) fn stack_id(&self, name: &str) -> Result<u32> {
        find(&self.stack_ids, "header stack", name)
    }

    /// Returns the index of a field within the elements of a stack.
    pub(super) fn stack_field_id(&self, stack: u32, field: &str) -> Result<u32> {
        let unknown = || LoadError::new(format!("no field \"{field}\" in a header stack"));
        let first = self
            .program
            .stacks
            .get(stack as usize)
            .and_then(|s| s.headers.first())
            .ok_or_else(unknown)?;
        self.field_ids
            .get(&(*first, field))
            .copied()
            .ok_or_else(unknown)
    }
}

/// Returns the number of an object.
pub(super) fn find<K>(ids: &FxHashMap<K, u32>, kind: &str, name: &str) -> Result<u32>
where
    K: Borrow<str> + Eq + Hash,
{
    let id = ids.get(name).copied();
    id.ok_or_else(|| LoadError::new(format!("no {kind} \"{name}\"")))
}
