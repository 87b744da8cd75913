// SPDX-License-Identifier: Apache-2.0
//! A packet's standard metadata.

use p4_ir::FieldRef;

use crate::packet::Packet;

/// Sets a field of standard metadata, if the program has it.
#[inline]
pub fn put(p: &mut Packet, field: Option<FieldRef>, value: u64) {
    if let Some(f) = field {
        f.set(&mut p.words, value);
    }
}

/// Reads a field of standard metadata; 0 if the program lacks it.
#[inline]
pub fn get(p: &Packet, field: Option<FieldRef>) -> u64 {
    field.map_or(0, |f| f.get(&p.words))
}
