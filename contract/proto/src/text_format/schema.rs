// SPDX-License-Identifier: Apache-2.0
//! Field tables of the messages that are read from text.

/// A message: its fields, sorted by name.
#[derive(Debug)]
pub struct Message {
    pub name: &'static str,
    pub fields: &'static [Field],
}

/// A field: how it is named in text and numbered on the wire.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub number: u32,
    pub kind: Kind,
    pub repeated: bool,
    /// Number of the `oneof` it belongs to, within its message.
    pub oneof: Option<i32>,
}

/// Type of a field's value.
#[derive(Debug)]
pub enum Kind {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Bool,
    String,
    Bytes,
    /// Names and numbers, sorted by name.
    Enum(&'static [(&'static str, i32)]),
    Message(&'static Message),
}

impl Message {
    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        let at = self.fields.binary_search_by(|f| f.name.cmp(name)).ok()?;
        self.fields.get(at)
    }
}

include!("../generated/text_schema.rs");
