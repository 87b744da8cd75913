// SPDX-License-Identifier: Apache-2.0
//! Appenzeller, Keslassy, McKeown: *Sizing Router Buffers*, SIGCOMM 2004 (SRB).

pub mod formulas;
mod rules;

pub use formulas::*;

use crate::rule::Rule;

/// Rules of this folder.
pub const RULES: &[&Rule] = &[&rules::STANFORD, &rules::SHORT_FLOWS];
