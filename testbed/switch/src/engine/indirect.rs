// SPDX-License-Identifier: Apache-2.0
//! Digests; access to state by name.

use bytes::Bytes;

use super::Engine;
use super::eval::own_words;
use super::packet::Packet;
use super::profiles::ProfileState;
use super::state::Meter;
use crate::bmv2::bits::bytes_from_words;
use crate::bmv2::ir::Profile;

impl Engine {
    /// The fields of a digest, one after the other in whole bytes.
    pub fn digest(&self, list: u32, p: &Packet) -> Option<(std::sync::Arc<str>, Bytes)> {
        let l = self.program.learn_lists.get(&list)?;
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

    pub fn profile_mut(&mut self, name: &str) -> Option<(&Profile, &mut ProfileState)> {
        let i = self.program.profiles.iter().position(|p| p.name == name)?;
        Some((self.program.profiles.get(i)?, self.profiles.get_mut(i)?))
    }

    pub fn meter_mut(&mut self, name: &str) -> Option<&mut Vec<Meter>> {
        let i = self.program.meters.iter().position(|m| m.name == name)?;
        self.cells.meters.get_mut(i)
    }

    /// Packed values of a parser value set.
    pub fn value_set_mut(&mut self, name: &str) -> Option<&mut Vec<Vec<u64>>> {
        let i = self
            .program
            .value_sets
            .iter()
            .position(|s| s.name == name)?;
        self.value_sets.get_mut(i)
    }
}
