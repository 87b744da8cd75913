// SPDX-License-Identifier: Apache-2.0
//! Executes bytecode on one packet.

mod apply;
mod crc32;
mod deparse;
mod env;
mod eval;
pub(crate) mod exec;
mod fields;
mod hash;
mod headers;
mod parse;
mod run;
mod transition;
