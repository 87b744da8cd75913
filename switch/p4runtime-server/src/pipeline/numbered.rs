// SPDX-License-Identifier: Apache-2.0
//! Objects of a P4Info by id.

use super::unnamed;
use crate::errors::{Failure, Outcome};
use std::collections::BTreeMap;
use std::ops::Deref;
use tidemark_proto::p4::config::v1 as p4info;

/// Objects of one kind by id; `what` names the kind.
pub(crate) struct Numbered<T> {
    what: &'static str,
    by_id: BTreeMap<u32, T>,
    /// Objects of the P4Info that p4c left out of the program because nothing uses them.
    left_out: BTreeMap<u32, String>,
}

impl<T> Numbered<T> {
    pub(super) fn new(what: &'static str) -> Self {
        Self {
            what,
            by_id: BTreeMap::new(),
            left_out: BTreeMap::new(),
        }
    }

    pub(super) fn insert(&mut self, id: u32, object: T) {
        self.by_id.insert(id, object);
    }

    pub(super) fn left_out(&mut self, p: &p4info::Preamble) {
        self.left_out.insert(p.id, p.name.clone());
    }

    pub(crate) fn get(&self, id: u32) -> Outcome<&T> {
        self.by_id.get(&id).ok_or_else(|| {
            let known: Vec<_> = self.by_id.keys().take(20).map(u32::to_string).collect();
            let known = match known.as_slice() {
                [] => "none".to_owned(),
                some => some.join(", "),
            };
            let what = self.what;
            if let Some(name) = self.left_out.get(&id) {
                return Failure::not_found(format!(
                    "{what} {name} is in the P4Info, but the program as compiled does not use it"
                ));
            }
            Failure::not_found(format!(
                "no {what} with id {id} in the P4Info; there are: {known}"
            ))
        })
    }

    /// Adds the objects of `more`.
    pub(super) fn extend(&mut self, more: Self) {
        self.by_id.extend(more.by_id);
    }

    /// Returns the object with this id, or for 0 all objects of the P4Info, each with its id.
    pub(crate) fn selected(&self, id: u32) -> Outcome<Vec<(u32, &T)>> {
        match id {
            0 => Ok(self
                .by_id
                .range(..unnamed::FIRST_ID)
                .map(|(&id, x)| (id, x))
                .collect()),
            id => Ok(vec![(id, self.get(id)?)]),
        }
    }
}

impl<T> Deref for Numbered<T> {
    type Target = BTreeMap<u32, T>;

    fn deref(&self) -> &BTreeMap<u32, T> {
        &self.by_id
    }
}
