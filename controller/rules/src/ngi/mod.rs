// SPDX-License-Identifier: Apache-2.0
//! Augé, Roberts: *Buffer Sizing for Elastic Traffic*, NGI 2006 (NGI).

pub mod formulas;
mod rules;

pub use formulas::*;

use crate::rule::Rule;

/// Rules of this folder.
pub const RULES: &[&Rule] = &[&rules::TRANSPARENT, &rules::ELASTIC];
