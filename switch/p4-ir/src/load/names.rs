// SPDX-License-Identifier: Apache-2.0
//! Headers, stacks and fields by name; standard metadata.

use super::loader::Loader;
use crate::error::{LoadError, Result};
use crate::field::FieldRef;
use crate::header::StandardMetadata;

impl Loader<'_> {
    pub(super) fn standard_metadata(&mut self) {
        let std = |name: &str| self.metadata_field("standard_metadata", name);
        let queueing = |name: &str| {
            self.metadata_field("queueing_metadata", name)
                .or_else(|| self.metadata_field("standard_metadata", name))
        };
        let intrinsic = |name: &str| {
            self.metadata_field("intrinsic_metadata", name)
                .or_else(|| self.metadata_field("standard_metadata", name))
        };
        self.program.std = StandardMetadata {
            ingress_port: std("ingress_port"),
            egress_spec: std("egress_spec"),
            egress_port: std("egress_port"),
            instance_type: std("instance_type"),
            packet_length: std("packet_length"),
            enq_timestamp: queueing("enq_timestamp"),
            enq_qdepth: queueing("enq_qdepth"),
            deq_timedelta: queueing("deq_timedelta"),
            deq_qdepth: queueing("deq_qdepth"),
            ingress_global_timestamp: intrinsic("ingress_global_timestamp"),
            egress_global_timestamp: intrinsic("egress_global_timestamp"),
            mcast_grp: intrinsic("mcast_grp"),
            egress_rid: intrinsic("egress_rid"),
            checksum_error: std("checksum_error"),
            parser_error: std("parser_error"),
            priority: intrinsic("priority"),
            qid: self.metadata_field("queueing_metadata", "qid"),
        };
    }

    pub(super) fn metadata_field(&self, header: &str, field: &str) -> Option<FieldRef> {
        let (h, f) = match self.aliases.get(format!("{header}.{field}").as_str()) {
            Some((h, f)) => (*h, *f),
            None => (header, field),
        };
        self.field(h, f).ok()
    }

    /// A field by name; `$valid$` is a field too.
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
            .map(|f| f.field)
            .ok_or_else(unknown)
    }

    pub(super) fn header_id(&self, name: &str) -> Result<u32> {
        self.header_ids
            .get(name)
            .copied()
            .ok_or_else(|| LoadError::new(format!("no header \"{name}\"")))
    }

    pub(super) fn stack_id(&self, name: &str) -> Result<u32> {
        self.stack_ids
            .get(name)
            .copied()
            .ok_or_else(|| LoadError::new(format!("no header stack \"{name}\"")))
    }

    /// Index of a field within the elements of a stack.
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
