// SPDX-License-Identifier: Apache-2.0
//! State shared by the parts of the loader.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::json::{array, opt_str};
use crate::error::Result;
use crate::program::{Param, Program};

pub(super) struct Loader<'a> {
    pub(super) root: &'a Value,
    pub(super) program: Program,
    pub(super) header_ids: FxHashMap<Cow<'a, str>, u32>,
    pub(super) stack_ids: FxHashMap<&'a str, u32>,
    /// Members of each header union.
    pub(super) unions: FxHashMap<&'a str, Vec<u32>>,
    /// (Stack of unions, member) to the stack of that member.
    pub(super) union_stack_ids: FxHashMap<(&'a str, &'a str), u32>,
    /// (Header, field) to index within the header.
    pub(super) field_ids: FxHashMap<(u32, &'a str), u32>,
    pub(super) aliases: FxHashMap<&'a str, (&'a str, &'a str)>,
    pub(super) calculation_ids: FxHashMap<&'a str, u32>,
    pub(super) register_ids: FxHashMap<&'a str, u32>,
    pub(super) counter_ids: FxHashMap<&'a str, u32>,
    pub(super) meter_ids: FxHashMap<&'a str, u32>,
    pub(super) value_set_ids: FxHashMap<&'a str, u32>,
    pub(super) profile_ids: FxHashMap<&'a str, u32>,
    /// JSON action id to index; BMv2's ids need not be dense.
    pub(super) action_ids: FxHashMap<u64, u32>,
    /// Words of all registers, counters and meters.
    pub(super) cell_words: usize,
    /// Parameters of the action being read.
    pub(super) params: Vec<Param>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self {
            root,
            program: Program {
                source: opt_str(root, "program").unwrap_or_default().to_owned(),
                ..Program::default()
            },
            header_ids: FxHashMap::default(),
            stack_ids: FxHashMap::default(),
            unions: FxHashMap::default(),
            union_stack_ids: FxHashMap::default(),
            field_ids: FxHashMap::default(),
            aliases: FxHashMap::default(),
            calculation_ids: FxHashMap::default(),
            register_ids: FxHashMap::default(),
            counter_ids: FxHashMap::default(),
            meter_ids: FxHashMap::default(),
            value_set_ids: FxHashMap::default(),
            profile_ids: FxHashMap::default(),
            action_ids: FxHashMap::default(),
            cell_words: 0,
            params: Vec::new(),
        }
    }

    /// Returns a top-level array; an absent array counts as empty.
    pub(super) fn top(&self, key: &str) -> Result<&'a [Value]> {
        match self.root.get(key) {
            None => Ok(&[]),
            Some(_) => array(self.root, key),
        }
    }
}
