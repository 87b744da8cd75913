// SPDX-License-Identifier: Apache-2.0
//! Digests, and access to state by name.

use bytes::Bytes;

use super::core::Engine;
use crate::packet::Packet;
use crate::state::cells::{Count, Meter, Register};
use crate::state::profiles::ProfileState;
use crate::state::tables::TableState;
use crate::vector::own_words;
use p4_ir::bits::bytes_from_words;
use p4_ir::{Profile, Table};

fn position<T>(list: &[T], name: &str, name_of: impl Fn(&T) -> &str) -> Option<usize> {
    list.iter().position(|x| name_of(x) == name)
}

impl Engine {
    /// Returns the fields of a digest one after the other, each in whole bytes.
    pub fn digest(&self, list: u32, p: &Packet) -> Option<(std::sync::Arc<str>, Bytes)> {
        let l = self.image.program.learn_lists.get(&list)?;
        let mut out = Vec::new();
        for f in &l.fields {
            if f.width <= 64 {
                out.extend(bytes_from_words(&[f.get(&p.words)], f.width));
            } else {
                out.extend(bytes_from_words(own_words(&p.words, *f), f.width));
            }
        }
        Some((l.name.clone(), out.into()))
    }

    /// Returns an action profile with its members.
    pub fn profile_mut(&mut self, name: &str) -> Option<(&Profile, &mut ProfileState)> {
        let i = position(&self.image.program.profiles, name, |x| &x.name)?;
        Some((
            self.image.program.profiles.get(i)?,
            self.profiles.get_mut(i)?,
        ))
    }

    /// Returns the cells of a meter.
    pub fn meter_mut(&mut self, name: &str) -> Option<&mut Vec<Meter>> {
        let i = position(&self.image.program.meters, name, |x| &x.name)?;
        self.cells.meters.get_mut(i)
    }

    /// Returns the packed values of a parser value set.
    pub fn value_set_mut(&mut self, name: &str) -> Option<&mut Vec<Vec<u64>>> {
        let i = position(&self.image.program.value_sets, name, |x| &x.name)?;
        self.value_sets.get_mut(i)
    }

    /// Returns the cells of a counter.
    pub fn counter_mut(&mut self, name: &str) -> Option<&mut Vec<Count>> {
        let i = position(&self.image.program.counters, name, |x| &x.name)?;
        self.cells.counters.get_mut(i)
    }

    /// Returns the cells of a register.
    pub fn register_mut(&mut self, name: &str) -> Option<&mut Register> {
        let i = position(&self.image.program.registers, name, |x| &x.name)?;
        self.cells.registers.get_mut(i)
    }

    /// Returns a table and its mutable state.
    pub fn table_mut(&mut self, name: &str) -> Option<(&Table, &mut TableState)> {
        let i = position(&self.image.program.tables, name, |x| &x.name)?;
        Some((self.image.program.tables.get(i)?, self.tables.get_mut(i)?))
    }
}
