// SPDX-License-Identifier: Apache-2.0
//! Checks single objects of a P4Info.

use crate::errors::{Failure, Outcome};
use tidemark_proto::p4::config::v1 as p4info;

pub(super) fn preamble(p: &Option<p4info::Preamble>) -> Outcome<&p4info::Preamble> {
    match p {
        Some(p) if p.id != 0 && !p.name.is_empty() => Ok(p),
        _ => Err(Failure::invalid("P4Info: an object without id or name")),
    }
}
