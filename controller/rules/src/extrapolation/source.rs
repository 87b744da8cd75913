// SPDX-License-Identifier: Apache-2.0
//! Where the rules of this folder come from, and what they lack.

use crate::rule::{Missing, Paper};
use crate::traffic::Traffic;

/// The source of these rules.
pub static PAPER: Paper = Paper {
    name: "Tidemark",
    citation: "derived in `controller/rules/src/extrapolation/mod.rs`",
};

/// Why nothing can be carried over.
pub(super) fn missing(m: &Traffic) -> Missing {
    let why = if m.observed.is_none() {
        "nothing was measured at the limit in force"
    } else if m.limit_bytes.is_none() {
        "the limit in force is not known, or there is none"
    } else if m.t_e_s.value <= 0.0 {
        return Missing::Unknown("T_e");
    } else {
        "a condition does not hold"
    };
    Missing::NoBuffer(why.into())
}
