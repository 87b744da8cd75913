// SPDX-License-Identifier: Apache-2.0
//! Tells a program of drops and marks by queue management, as of its own drops and marks.

use p4_ir::{AqmFields, FieldRef};

use super::core::Engine;
use crate::metadata::get;
use crate::packet::{Packet, instance_type};

/// Drop reason in reports: queue management.
const DROP_REASON_AQM: u64 = 73;
/// Flag in reports: this switch marked the packet.
const CE_MARKED: u64 = 1;
/// Flag in reports: reported only because of its mark, not as part of the sample.
const OUT_OF_SAMPLE: u64 = 2;
const CE: u64 = 3;

impl Engine {
    /// Returns the program's fields for drops and marks; `None` for clones, which are reports.
    fn aqm_fields(&self, p: &Packet) -> Option<AqmFields> {
        let program = &self.image.program;
        let is_clone = matches!(
            get(p, program.std.instance_type),
            instance_type::INGRESS_CLONE | instance_type::EGRESS_CLONE
        );
        program.aqm.filter(|_| !is_clone)
    }

    /// Returns whether the packet is ECN-capable and the program learns of marks.
    pub fn is_markable(&self, p: &Packet) -> bool {
        let Some(f) = self.aqm_fields(p) else {
            return false;
        };
        let capable = |(valid, ecn): &(FieldRef, FieldRef)| {
            valid.get(&p.words) != 0 && ecn.get(&p.words) != 0
        };
        f.ecn.iter().any(capable)
    }

    /// Marks a packet CE; returns `false` if it was marked already.
    pub fn mark(&self, p: &mut Packet) -> bool {
        let Some(f) = self.aqm_fields(p) else {
            return false;
        };
        let mut is_new = false;
        for (valid, ecn) in f.ecn {
            if valid.get(&p.words) != 0 && ecn.get(&p.words) != CE {
                ecn.set(&mut p.words, CE);
                is_new = true;
            }
        }
        if is_new {
            let is_sampled = f.sampled.get(&p.words) != 0;
            let flags = if is_sampled {
                CE_MARKED
            } else {
                CE_MARKED | OUT_OF_SAMPLE
            };
            let flags = flags | f.flags.get(&p.words);
            f.flags.set(&mut p.words, flags);
            f.sampled.set(&mut p.words, 1);
        }
        is_new
    }

    /// Tells the egress pipeline that the packet is dropped; returns `false` if the program has
    /// no fields for that.
    pub fn tell_drop(&self, p: &mut Packet) -> bool {
        let Some(f) = self.aqm_fields(p) else {
            return false;
        };
        f.dropped.set(&mut p.words, 1);
        f.drop_reason.set(&mut p.words, DROP_REASON_AQM);
        f.sampled.set(&mut p.words, 1);
        true
    }
}
