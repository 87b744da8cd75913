// SPDX-License-Identifier: Apache-2.0
//! Appenzeller, Keslassy, McKeown: *Sizing Router Buffers*, SIGCOMM 2004 (SRB).

pub mod formulas;
mod short_flows;
mod stanford;

pub use formulas::*;

use crate::rule::Rule;

/// Rules of this folder.
pub const RULES: &[&Rule] = &[&stanford::RULE, &short_flows::RULE];
