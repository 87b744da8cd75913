// SPDX-License-Identifier: Apache-2.0
//! Digests of a P4Info: the type of their data, and decoding of samples.

use super::checks::preamble;
use super::numbered::Numbered;
use crate::bytestring::{bytes_for, canonical};
use crate::errors::{Failure, Outcome, refuse};
use p4_ir::Program;
use tidemark_proto::p4::config::v1 as p4info;
use tidemark_proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as BitSpec;
use tidemark_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use tidemark_proto::p4::config::v1::p4_new_type_spec::Representation;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::p4_data::Data;

/// Most levels of nested named types; more are taken for a cycle.
const MAX_DEPTH: usize = 16;

pub(crate) struct Digest {
    pub id: u32,
    pub name: String,
    /// `Err`: a type that cannot be sent to a controller.
    pub layout: Outcome<Layout>,
}

/// A P4 type that consists of numbers, each of which takes `ceil(bits / 8)` bytes in a
/// sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Bits(u32),
    Bool,
    EnumValue(u32),
    Struct(Vec<Layout>),
    Tuple(Vec<Layout>),
}

impl Layout {
    /// Decodes a sample; `None` if its length is wrong.
    pub(crate) fn decode(&self, sample: &[u8]) -> Option<p4::P4Data> {
        let mut rest = sample;
        let data = self.take(&mut rest)?;
        rest.is_empty().then_some(data)
    }

    fn take(&self, rest: &mut &[u8]) -> Option<p4::P4Data> {
        let mut number = |bits: u32| {
            let (value, after) = rest.split_at_checked(bytes_for(bits))?;
            *rest = after;
            Some(canonical(value))
        };
        let data = match self {
            Self::Bits(bits) => Data::Bitstring(number(*bits)?),
            Self::EnumValue(bits) => Data::EnumValue(number(*bits)?),
            Self::Bool => Data::Bool(number(1)? != [0]),
            Self::Struct(members) => Data::Struct(all(members, rest)?),
            Self::Tuple(members) => Data::Tuple(all(members, rest)?),
        };
        Some(p4::P4Data { data: Some(data) })
    }
}

fn all(members: &[Layout], rest: &mut &[u8]) -> Option<p4::P4StructLike> {
    let members = members
        .iter()
        .map(|m| m.take(rest))
        .collect::<Option<_>>()?;
    Some(p4::P4StructLike { members })
}

pub(super) fn index(info: &p4info::P4Info, program: &Program) -> Outcome<Numbered<Digest>> {
    let types = info.type_info.clone().unwrap_or_default();
    let mut out = Numbered::new("digest");
    for d in &info.digests {
        let p = preamble(&d.preamble)?;
        if program.learn_lists.values().all(|l| *l.name != *p.name) {
            out.left_out(p);
            continue;
        }
        out.insert(
            p.id,
            Digest {
                id: p.id,
                name: p.name.clone(),
                layout: layout(d.type_spec.as_ref(), &types, MAX_DEPTH)
                    .map_err(|f| f.at(format!("digest {}", p.name))),
            },
        );
    }
    Ok(out)
}

fn layout(
    spec: Option<&p4info::P4DataTypeSpec>,
    types: &p4info::P4TypeInfo,
    depth: usize,
) -> Outcome<Layout> {
    let unknown = |name: &str| Failure::invalid(format!("P4Info does not describe type {name}"));
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| Failure::unsupported("its type is nested too deeply"))?;
    match spec.and_then(|s| s.type_spec.as_ref()) {
        Some(TypeSpec::Bitstring(b)) => {
            let bits = match &b.type_spec {
                Some(BitSpec::Bit(b)) => b.bitwidth,
                Some(BitSpec::Int(i)) => i.bitwidth,
                _ => refuse!(unsupported: "varbit in a digest is not supported"),
            };
            bits_of(bits).map(Layout::Bits)
        }
        Some(TypeSpec::Bool(_)) => Ok(Layout::Bool),
        Some(TypeSpec::Struct(n)) => {
            let s = types.structs.get(&n.name).ok_or_else(|| unknown(&n.name))?;
            let members = s.members.iter();
            members
                .map(|m| layout(m.type_spec.as_ref(), types, depth))
                .collect::<Outcome<_>>()
                .map(Layout::Struct)
        }
        Some(TypeSpec::Tuple(t)) => t
            .members
            .iter()
            .map(|m| layout(Some(m), types, depth))
            .collect::<Outcome<_>>()
            .map(Layout::Tuple),
        Some(TypeSpec::SerializableEnum(n)) => {
            let e = types.serializable_enums.get(&n.name);
            let bits = e
                .and_then(|e| e.underlying_type.as_ref())
                .ok_or_else(|| unknown(&n.name))?
                .bitwidth;
            bits_of(bits).map(Layout::EnumValue)
        }
        Some(TypeSpec::NewType(n)) => {
            match types.new_types.get(&n.name).map(|t| &t.representation) {
                Some(Some(Representation::OriginalType(t))) => layout(Some(t), types, depth),
                Some(_) => Err(Failure::unsupported(format!(
                    "type {} is translated, which is not supported",
                    n.name
                ))),
                None => Err(unknown(&n.name)),
            }
        }
        _ => Err(Failure::unsupported(
            "only structs and tuples of bit<W>, int<W>, bool and serializable enums are supported",
        )),
    }
}

fn bits_of(bits: i32) -> Outcome<u32> {
    u32::try_from(bits).map_err(|_| Failure::invalid("P4Info: negative bit width"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_taken_apart_by_type() {
        let l = Layout::Struct(vec![
            Layout::Bits(9),
            Layout::Bool,
            Layout::Tuple(vec![Layout::EnumValue(8), Layout::Bits(32)]),
        ]);
        let data = l.decode(&[1, 0xfe, 1, 7, 0, 0, 0, 0]).unwrap();
        let Some(Data::Struct(s)) = data.data else {
            panic!("{data:?}")
        };
        assert_eq!(s.members[0].data, Some(Data::Bitstring(vec![1, 0xfe])));
        assert_eq!(s.members[1].data, Some(Data::Bool(true)));
        let Some(Data::Tuple(t)) = &s.members[2].data else {
            panic!("{s:?}")
        };
        assert_eq!(t.members[0].data, Some(Data::EnumValue(vec![7])));
        assert_eq!(t.members[1].data, Some(Data::Bitstring(vec![0])));
        assert!(l.decode(&[0; 7]).is_none() && l.decode(&[0; 9]).is_none());
    }

    #[test]
    fn a_type_within_itself_ends() {
        let named = |name: &str| p4info::P4DataTypeSpec {
            type_spec: Some(TypeSpec::Struct(p4info::P4NamedType { name: name.into() })),
        };
        let mut types = p4info::P4TypeInfo::default();
        let member = p4info::p4_struct_type_spec::Member {
            name: "again".into(),
            type_spec: Some(named("s")),
        };
        let s = p4info::P4StructTypeSpec {
            members: vec![member],
            ..Default::default()
        };
        types.structs.insert("s".into(), s);
        let e = layout(Some(&named("s")), &types, MAX_DEPTH).unwrap_err();
        assert!(e.message.contains("too deeply"), "{e}");
        let e = layout(Some(&named("other")), &types, MAX_DEPTH).unwrap_err();
        assert!(e.message.contains("other"), "{e}");
    }
}
