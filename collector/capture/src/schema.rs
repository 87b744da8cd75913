// SPDX-License-Identifier: Apache-2.0
//! The three tables' columns, generated from `contract/columns.toml`.
//! `docs/reference/capture-format.md` describes every column.

use crate::table::{Column, Stored, columns};
use std::sync::Arc;
use tidemark_rows::{Absent, FlatEvent, Join, NamedProbe, PostcardRow};

fn text(word: Option<Arc<str>>) -> Option<String> {
    word.map(|w| w.to_string())
}

include!("generated/columns.rs");
