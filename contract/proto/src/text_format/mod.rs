// SPDX-License-Identifier: Apache-2.0
//! Reads protobuf text format (`.txtpb`): P4Info as p4c writes it, and
//! P4Runtime writes from a file.
//!
//! Text becomes wire format by a generated table of fields, and the generated
//! message decodes that. Reflection would do it too, but its crates take a tenth
//! of the time of a first build.
//!
//! Not read: extensions and the expanded form of `Any` (`[type.name] { … }`).

mod lexer;
mod schema;
mod writer;

#[cfg(test)]
mod tests;

use crate::p4::config::v1::P4Info;
use crate::p4::v1::WriteRequest;
use schema::{Message, P4_CONFIG_V1_P4_INFO, P4_V1_WRITE_REQUEST};

/// What is wrong with a text, and where (both from 1; columns count bytes).
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} (line {line}, column {column})")]
pub struct TextError {
    /// What is wrong.
    pub what: String,
    /// Line of the offending word.
    pub line: usize,
    /// Column of the offending word.
    pub column: usize,
}

/// Messages that can be read from text.
pub trait FromText: prost::Message + Default + sealed::Schema {}

mod sealed {
    /// Keeps the list of messages to those with a generated table.
    pub trait Schema {
        fn schema() -> &'static super::Message;
    }
}

impl sealed::Schema for P4Info {
    fn schema() -> &'static Message {
        &P4_CONFIG_V1_P4_INFO
    }
}
impl FromText for P4Info {}

impl sealed::Schema for WriteRequest {
    fn schema() -> &'static Message {
        &P4_V1_WRITE_REQUEST
    }
}
impl FromText for WriteRequest {}

/// Reads one message. The error names line and column.
pub fn parse<M: FromText>(text: &str) -> Result<M, TextError> {
    let wire = writer::encode(text, M::schema())?;
    M::decode(wire.as_slice()).map_err(|e| TextError {
        what: e.to_string(),
        line: 1,
        column: 1,
    })
}

/// Whether `bytes` can only be text: UTF-8 without control characters other
/// than white space. In wire format the first key of a P4Info or a write is one.
pub fn as_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let binary = |c: char| c.is_control() && !c.is_ascii_whitespace();
    (!text.contains(binary)).then_some(text)
}
