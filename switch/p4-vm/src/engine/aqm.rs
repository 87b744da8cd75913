// SPDX-License-Identifier: Apache-2.0
//! A program is told of drops and marks of queue management, as of its own ones.

use p4_ir::{AqmFields, FieldRef};

use super::core::Engine;
use crate::metadata::get;
use crate::packet::{Packet, instance_type};

/// Of reports: dropped by queue management.
const DROP_REASON_AQM: u64 = 73;
/// Of reports: this switch marked the packet.
const CE_MARKED: u64 = 1;
/// Of reports: it is reported for its mark alone, not as one of the sample.
const OUT_OF_SAMPLE: u64 = 2;
const CE: u64 = 3;

impl Engine {
    /// The program's fields for it. Nothing is said of clones, which are reports.
    fn aqm_fields(&self, p: &Packet) -> Option<AqmFields> {
        let program = &self.image.program;
        let is_clone = matches!(
            get(p, program.std.instance_type),
            instance_type::INGRESS_CLONE | instance_type::EGRESS_CLONE
        );
        program.aqm.filter(|_| !is_clone)
    }

    /// Whether the packet is ECN-capable and the program hears of marks.
    pub fn is_markable(&self, p: &Packet) -> bool {
        let Some(f) = self.aqm_fields(p) else {
            return false;
        };
        let capable = |(valid, ecn): &(FieldRef, FieldRef)| {
            valid.get(&p.words) != 0 && ecn.get(&p.words) != 0
        };
        f.ecn.iter().any(capable)
    }

    /// Marks a packet CE. False: it came with the mark.
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

    /// Says to the egress pipeline that the packet is dropped. False: the program has no
    /// fields for that.
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
