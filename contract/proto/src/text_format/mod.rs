// SPDX-License-Identifier: Apache-2.0
//! Reads protobuf text format (`.txtpb`): P4Info as p4c writes it, and
//! P4Runtime writes from a file.
//!
//! Text is converted to wire format with the descriptors of the `.proto` files, which the
//! generated message then decodes. Decision 12 says why no reflection library is used.
//!
//! Extensions and the expanded form of `Any` (`[type.name] { … }`) are not supported.

mod lexer;
mod schema;
mod writer;

#[cfg(test)]
mod tests;

/// Error in a text, with its line and column (both from 1; columns count bytes).
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} (line {line}, column {column})")]
pub struct TextError {
    /// Description of the error.
    pub what: String,
    /// Line of the offending token.
    pub line: usize,
    /// Column of the offending token.
    pub column: usize,
}

/// A message that can be read from text.
pub trait FromText: prost::Message + Default {
    /// Full name of the message in the descriptors.
    const NAME: &str;
}

impl FromText for crate::p4::config::v1::P4Info {
    const NAME: &str = ".p4.config.v1.P4Info";
}

impl FromText for crate::p4::v1::WriteRequest {
    const NAME: &str = ".p4.v1.WriteRequest";
}

/// Reads one message. An error names the line and column.
pub fn parse<M: FromText>(text: &str) -> Result<M, TextError> {
    let wire = writer::encode(text, M::NAME)?;
    M::decode(wire.as_slice()).map_err(|e| TextError {
        what: e.to_string(),
        line: 1,
        column: 1,
    })
}

/// Returns `bytes` as text if they can only be text: UTF-8 without control characters other
/// than white space. In wire format, a P4Info or a write starts with a control character.
pub fn as_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let binary = |c: char| c.is_control() && !c.is_ascii_whitespace();
    (!text.contains(binary)).then_some(text)
}
