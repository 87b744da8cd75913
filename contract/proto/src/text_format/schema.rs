// SPDX-License-Identifier: Apache-2.0
//! Messages and enums of the contract, from the generated descriptors.

use std::collections::HashMap;
use std::sync::LazyLock;

use prost::Message as _;
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::decode);

/// Types by their full names, which start with a full stop: `.p4.v1.Update`.
#[derive(Default)]
pub(super) struct Schema {
    messages: HashMap<String, DescriptorProto>,
    enums: HashMap<String, EnumDescriptorProto>,
}

/// A message's full name and descriptor.
#[derive(Clone, Copy)]
pub(super) struct Message(&'static str, &'static DescriptorProto);

impl Schema {
    pub(super) fn get() -> &'static Self {
        &SCHEMA
    }

    /// Decodes the descriptors. Damaged ones would give no messages; a test reads the real file.
    fn decode() -> Self {
        let bytes = include_bytes!("../generated/descriptors.bin");
        let mut schema = Self::default();
        for file in FileDescriptorSet::decode(&bytes[..])
            .unwrap_or_default()
            .file
        {
            schema.add(
                &format!(".{}", file.package()),
                file.message_type,
                file.enum_type,
            );
        }
        schema
    }

    fn add(
        &mut self,
        scope: &str,
        messages: Vec<DescriptorProto>,
        enums: Vec<EnumDescriptorProto>,
    ) {
        for e in enums {
            self.enums.insert(format!("{scope}.{}", e.name()), e);
        }
        for mut m in messages {
            let name = format!("{scope}.{}", m.name());
            let nested = std::mem::take(&mut m.nested_type);
            self.add(&name, nested, std::mem::take(&mut m.enum_type));
            self.messages.insert(name, m);
        }
    }

    /// Returns the message with this full name, or an error.
    pub(super) fn message(&'static self, name: &str) -> Result<Message, String> {
        let found = self.messages.get_key_value(name);
        found
            .map(|(name, m)| Message(name, m))
            .ok_or_else(|| format!("no message {name} is known"))
    }

    /// Returns the number of an enum's value.
    pub(super) fn enum_value(&self, name: &str, value: &str) -> Option<i32> {
        let values = &self.enums.get(name)?.value;
        values
            .iter()
            .find(|v| v.name() == value)
            .map(|v| v.number())
    }
}

impl Message {
    /// Returns the full name without the leading full stop.
    pub(super) fn name(self) -> &'static str {
        &self.0[1..]
    }

    pub(super) fn fields(self) -> impl Iterator<Item = &'static FieldDescriptorProto> {
        self.1.field.iter()
    }

    /// Returns the field with this name.
    pub(super) fn field(self, name: &str) -> Option<&'static FieldDescriptorProto> {
        self.fields().find(|f| f.name() == name)
    }
}
