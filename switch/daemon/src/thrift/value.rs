// SPDX-License-Identifier: Apache-2.0
//! Reads and writes values of any Thrift type as trees.

use thrift::protocol::{
    TFieldIdentifier, TInputProtocol, TListIdentifier, TMapIdentifier, TOutputProtocol,
    TStructIdentifier, TType,
};
use thrift::{ProtocolError, ProtocolErrorKind};

/// Deepest nesting of structs and lists.
const MAX_DEPTH: u8 = 8;
/// Most values in one message.
const MAX_VALUES: usize = 1 << 18;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    I16(i16),
    I32(i32),
    I64(i64),
    Double(f64),
    Bytes(Vec<u8>),
    /// A list of values of one type, which is named even if the list is empty.
    List(TType, Vec<Value>),
    Map(Vec<(Vec<u8>, Vec<u8>)>),
    Struct(Fields),
}

/// Fields of a struct by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fields(pub Vec<(i16, Value)>);

impl Value {
    pub(super) fn text(s: impl Into<String>) -> Self {
        Self::Bytes(s.into().into_bytes())
    }

    pub(super) fn structs(items: impl IntoIterator<Item = Fields>) -> Self {
        Self::List(TType::Struct, items.into_iter().map(Self::Struct).collect())
    }

    fn kind(&self) -> TType {
        match self {
            Self::Bool(_) => TType::Bool,
            Self::I16(_) => TType::I16,
            Self::I32(_) => TType::I32,
            Self::I64(_) => TType::I64,
            Self::Double(_) => TType::Double,
            Self::Bytes(_) => TType::String,
            Self::List(..) => TType::List,
            Self::Map(_) => TType::Map,
            Self::Struct(_) => TType::Struct,
        }
    }
}

impl Fields {
    /// Makes fields numbered from 1.
    pub(super) fn of(values: impl IntoIterator<Item = Value>) -> Self {
        Self((1..).zip(values).collect())
    }

    pub(super) fn get(&self, id: i16) -> Option<&Value> {
        self.0.iter().find(|(i, _)| *i == id).map(|(_, v)| v)
    }

    pub(super) fn bool(&self, id: i16) -> bool {
        matches!(self.get(id), Some(Value::Bool(true)))
    }

    /// Returns an integer field; 0 if it is missing.
    pub(super) fn i64(&self, id: i16) -> i64 {
        match self.get(id) {
            Some(Value::I16(v)) => i64::from(*v),
            Some(Value::I32(v)) => i64::from(*v),
            Some(Value::I64(v)) => *v,
            _ => 0,
        }
    }

    /// Returns an integer field; 0 if it is missing.
    pub(super) fn i32(&self, id: i16) -> i32 {
        i32::try_from(self.i64(id)).unwrap_or(0)
    }

    /// Returns a handle or index; a negative one becomes one that does not exist.
    pub(super) fn u32(&self, id: i16) -> u32 {
        self.i32(id).cast_unsigned()
    }

    pub(super) fn double(&self, id: i16) -> f64 {
        match self.get(id) {
            Some(Value::Double(v)) => *v,
            _ => 0.0,
        }
    }

    pub(super) fn bytes(&self, id: i16) -> &[u8] {
        match self.get(id) {
            Some(Value::Bytes(v)) => v,
            _ => &[],
        }
    }

    /// Returns a string field; empty if it is missing or not UTF-8.
    pub(super) fn text(&self, id: i16) -> &str {
        std::str::from_utf8(self.bytes(id)).unwrap_or_default()
    }

    pub(super) fn list(&self, id: i16) -> &[Value] {
        match self.get(id) {
            Some(Value::List(_, v)) => v,
            _ => &[],
        }
    }

    pub(super) fn structs(&self, id: i16) -> impl Iterator<Item = &Fields> {
        self.list(id).iter().filter_map(|v| match v {
            Value::Struct(f) => Some(f),
            _ => None,
        })
    }

    pub(super) fn fields(&self, id: i16) -> Option<&Fields> {
        match self.get(id) {
            Some(Value::Struct(f)) => Some(f),
            _ => None,
        }
    }
}

fn refused(kind: ProtocolErrorKind, what: &str) -> thrift::Error {
    thrift::Error::Protocol(ProtocolError::new(kind, what))
}

/// Reads the values of one message.
pub(super) struct Reader<'a> {
    from: &'a mut dyn TInputProtocol,
    left: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(from: &'a mut dyn TInputProtocol) -> Self {
        Self {
            from,
            left: MAX_VALUES,
        }
    }

    /// Reads a struct; the arguments of a call are one.
    pub(super) fn fields(&mut self) -> thrift::Result<Fields> {
        self.struct_within(MAX_DEPTH)
    }

    fn struct_within(&mut self, depth: u8) -> thrift::Result<Fields> {
        let mut out = Fields::default();
        self.from.read_struct_begin()?;
        loop {
            let field = self.from.read_field_begin()?;
            if field.field_type == TType::Stop {
                break;
            }
            let value = self.value(field.field_type, depth)?;
            self.from.read_field_end()?;
            out.0.push((field.id.unwrap_or_default(), value));
        }
        self.from.read_struct_end()?;
        Ok(out)
    }

    fn value(&mut self, kind: TType, depth: u8) -> thrift::Result<Value> {
        let too_deep = || {
            refused(
                ProtocolErrorKind::DepthLimit,
                "too many values within values",
            )
        };
        let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
        let too_many = || refused(ProtocolErrorKind::SizeLimit, "too many values in a message");
        self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
        Ok(match kind {
            TType::Bool => Value::Bool(self.from.read_bool()?),
            TType::I08 => Value::I16(i16::from(self.from.read_i8()?)),
            TType::I16 => Value::I16(self.from.read_i16()?),
            TType::I32 => Value::I32(self.from.read_i32()?),
            TType::I64 => Value::I64(self.from.read_i64()?),
            TType::Double => Value::Double(self.from.read_double()?),
            TType::String | TType::Utf7 => Value::Bytes(self.from.read_bytes()?),
            TType::Struct => Value::Struct(self.struct_within(depth)?),
            TType::List => {
                let list = self.from.read_list_begin()?;
                let mut out = Vec::new();
                for _ in 0..list.size {
                    out.push(self.value(list.element_type, depth)?);
                }
                self.from.read_list_end()?;
                Value::List(list.element_type, out)
            }
            // No method called here uses such types.
            _ => {
                return Err(refused(
                    ProtocolErrorKind::NotImplemented,
                    "a type that no method accepts",
                ));
            }
        })
    }
}

fn named(name: &str) -> TStructIdentifier {
    TStructIdentifier::new(name)
}

/// Writes a struct.
pub(super) fn write_fields(to: &mut dyn TOutputProtocol, fields: &Fields) -> thrift::Result<()> {
    to.write_struct_begin(&named(""))?;
    for (id, value) in &fields.0 {
        to.write_field_begin(&TFieldIdentifier::new("", value.kind(), *id))?;
        write(to, value)?;
        to.write_field_end()?;
    }
    to.write_field_stop()?;
    to.write_struct_end()
}

fn write(to: &mut dyn TOutputProtocol, value: &Value) -> thrift::Result<()> {
    match value {
        Value::Bool(v) => to.write_bool(*v),
        Value::I16(v) => to.write_i16(*v),
        Value::I32(v) => to.write_i32(*v),
        Value::I64(v) => to.write_i64(*v),
        Value::Double(v) => to.write_double(*v),
        Value::Bytes(v) => to.write_bytes(v),
        Value::Struct(f) => write_fields(to, f),
        Value::List(kind, items) => {
            to.write_list_begin(&TListIdentifier::new(*kind, length(items.len())?))?;
            items.iter().try_for_each(|v| write(to, v))?;
            to.write_list_end()
        }
        Value::Map(items) => {
            let size = length(items.len())?;
            to.write_map_begin(&TMapIdentifier::new(TType::String, TType::String, size))?;
            for (k, v) in items {
                to.write_bytes(k)?;
                to.write_bytes(v)?;
            }
            to.write_map_end()
        }
    }
}

fn length(n: usize) -> thrift::Result<i32> {
    i32::try_from(n).map_err(|_| refused(ProtocolErrorKind::SizeLimit, "too long a list"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thrift::protocol::{TBinaryInputProtocol, TBinaryOutputProtocol};

    fn bytes(f: &Fields) -> Vec<u8> {
        let mut out = Vec::new();
        write_fields(&mut TBinaryOutputProtocol::new(&mut out, true), f).unwrap();
        out
    }

    fn read(bytes: &[u8]) -> thrift::Result<Fields> {
        Reader::new(&mut TBinaryInputProtocol::new(bytes, false)).fields()
    }

    #[test]
    fn every_type_comes_back() {
        let inner = Fields::of([Value::Double(0.5), Value::I16(-3), Value::Bool(true)]);
        let all = Fields::of([
            Value::I32(-7),
            Value::I64(1 << 40),
            Value::text("a.b"),
            Value::structs([inner.clone(), inner]),
            Value::List(TType::I32, vec![]),
        ]);
        assert_eq!(read(&bytes(&all)).unwrap(), all);
        assert_eq!(all.i64(2), 1 << 40);
        assert_eq!(all.text(3), "a.b");
        assert_eq!(all.structs(4).count(), 2);
    }

    #[test]
    fn what_is_too_deep_too_much_or_cut_is_refused() {
        let mut deep = Fields::of([Value::Bool(true)]);
        for _ in 0..9 {
            deep = Fields::of([Value::Struct(deep)]);
        }
        assert!(read(&bytes(&deep)).is_err());
        // A list that claims to have 2^31 - 1 structs.
        let claim = [15u8, 0, 1, 12, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0];
        assert!(read(&claim).is_err());
        let whole = bytes(&Fields::of([Value::text("abc"), Value::I64(4)]));
        for cut in 0..whole.len() {
            assert!(read(&whole[..cut]).is_err(), "{cut}");
        }
        for kind in 0..=255u8 {
            let _ = read(&[kind, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0]);
        }
    }
}
