// SPDX-License-Identifier: Apache-2.0
//! Field tables for the reader of protobuf text format: name, number and type of
//! each field of the messages that are read from text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto};

use super::{descriptors, folder, format};
use crate::codegen::Generated;

/// Messages that are read from text, with what they hold.
const ROOTS: [&str; 2] = [".p4.config.v1.P4Info", ".p4.v1.WriteRequest"];

#[derive(Default)]
struct Types {
    messages: BTreeMap<String, DescriptorProto>,
    enums: BTreeMap<String, EnumDescriptorProto>,
}

impl Types {
    fn add(&mut self, scope: &str, m: DescriptorProto) {
        let name = format!("{scope}.{}", m.name());
        for e in &m.enum_type {
            self.enums.insert(format!("{name}.{}", e.name()), e.clone());
        }
        for nested in &m.nested_type {
            self.add(&name, nested.clone());
        }
        self.messages.insert(name, m);
    }
}

pub(in crate::codegen) fn generate(root: &Path) -> Result<Vec<Generated>> {
    let mut types = Types::default();
    for file in descriptors(root)?.file {
        let scope = format!(".{}", file.package());
        for e in file.enum_type {
            types.enums.insert(format!("{scope}.{}", e.name()), e);
        }
        for m in file.message_type {
            types.add(&scope, m);
        }
    }
    let mut source = String::new();
    let mut todo: Vec<String> = ROOTS.iter().map(|&r| r.to_owned()).collect();
    let mut done = BTreeSet::new();
    let mut enums = BTreeSet::new();
    let mut messages = BTreeMap::new();
    while let Some(name) = todo.pop() {
        if !done.insert(name.clone()) {
            continue;
        }
        let m = types
            .messages
            .get(&name)
            .with_context(|| format!("no message {name}"))?;
        let mut fields = m.field.clone();
        fields.sort_by(|a, b| a.name().cmp(b.name()));
        let mut text = String::new();
        for f in &fields {
            match f.r#type() {
                Type::Message => todo.push(f.type_name().to_owned()),
                Type::Enum => {
                    enums.insert(f.type_name().to_owned());
                }
                _ => {}
            }
            text += &field(f).with_context(|| format!("{name}.{}", f.name()))?;
        }
        messages.insert(name, text);
    }
    for (name, fields) in messages {
        writeln!(
            source,
            "/// `{}`\npub(super) static {}: Message = Message {{ name: {:?}, fields: &[{fields}] }};",
            &name[1..],
            ident(&name),
            &name[1..],
        )?;
    }
    for name in enums {
        let e = types
            .enums
            .get(&name)
            .with_context(|| format!("no enum {name}"))?;
        let mut values: Vec<_> = e.value.iter().map(|v| (v.name(), v.number())).collect();
        values.sort_unstable();
        writeln!(
            source,
            "/// `{}`\npub(super) const {}: &[(&str, i32)] = &{values:?};",
            &name[1..],
            ident(&name)
        )?;
    }
    let text = format(&source)?;
    Ok(vec![Generated::file(folder().join("text_schema.rs"), text)])
}

fn field(f: &FieldDescriptorProto) -> Result<String> {
    let kind = match f.r#type() {
        Type::Int32 => "Kind::Int32".to_owned(),
        Type::Int64 => "Kind::Int64".to_owned(),
        Type::Uint32 => "Kind::Uint32".to_owned(),
        Type::Uint64 => "Kind::Uint64".to_owned(),
        Type::Bool => "Kind::Bool".to_owned(),
        Type::String => "Kind::String".to_owned(),
        Type::Bytes => "Kind::Bytes".to_owned(),
        Type::Enum => format!("Kind::Enum({})", ident(f.type_name())),
        Type::Message => format!("Kind::Message(&{})", ident(f.type_name())),
        other => bail!("the reader of text format does not know fields of type {other:?}"),
    };
    Ok(format!(
        "Field {{ name: {:?}, number: {}, kind: {kind}, repeated: {}, oneof: {:?} }},",
        f.name(),
        f.number(),
        f.label() == Label::Repeated,
        f.oneof_index,
    ))
}

/// `.p4.v1.TableEntry` as `P4_V1_TABLE_ENTRY`.
fn ident(name: &str) -> String {
    let mut out = String::new();
    let mut before = '.';
    for c in name.chars().skip(1) {
        if c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            out.push('_');
        }
        out.push(if c == '.' {
            '_'
        } else {
            c.to_ascii_uppercase()
        });
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;
    use prost_reflect::{DescriptorPool, DynamicMessage};
    use std::fmt::Debug;
    use tidemark_proto::p4::config::v1::P4Info;
    use tidemark_proto::p4::v1::WriteRequest;
    use tidemark_proto::text_format::{self, FromText};

    /// The reader and prost-reflect's, on one text.
    fn same<M: FromText + PartialEq + Debug>(pool: &DescriptorPool, name: &str, file: &str) {
        let text = crate::codegen::read(&crate::root().join(file)).unwrap();
        let descriptor = pool.get_message_by_name(name).unwrap();
        let reflected = DynamicMessage::parse_text_format(descriptor, &text).unwrap();
        let wire = reflected.encode_to_vec();
        assert!(!wire.is_empty(), "{file} is empty");
        let expected = M::decode(wire.as_slice()).unwrap();
        assert_eq!(text_format::parse::<M>(&text).unwrap(), expected, "{file}");
    }

    /// Every text of the tree but the P4Info of Tofino's compiler: these have `Any`
    /// in its expanded form, of messages whose definitions are not public.
    #[test]
    fn the_reader_agrees_with_reflection() {
        let set = descriptors(&crate::root()).unwrap();
        let pool = DescriptorPool::from_file_descriptor_set(set).unwrap();
        for file in [
            "p4src/build/tidemark.p4info.txtpb",
            "switch/p4runtime-server/tests/data/mixed.p4info.txtpb",
            "switch/daemon/tests/data/entities/entities.p4info.txtpb",
        ] {
            same::<P4Info>(&pool, "p4.config.v1.P4Info", file);
        }
        for file in [
            "switch/daemon/tests/data/entities/writes.txtpb",
            "switch/daemon/tests/data/forward-and-report.txtpb",
        ] {
            same::<WriteRequest>(&pool, "p4.v1.WriteRequest", file);
        }
    }
}
