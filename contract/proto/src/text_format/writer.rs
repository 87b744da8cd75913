// SPDX-License-Identifier: Apache-2.0
//! Converts text to wire format.

use std::collections::BTreeSet;

use prost::encoding::{WireType, encode_key, encode_varint};
use prost_types::FieldDescriptorProto as Field;
use prost_types::field_descriptor_proto::{Label, Type};

use super::TextError;
use super::lexer::{Lexer, Token};
use super::schema::{Message, Schema};

/// Deepest nesting of messages, the same as prost's limit.
const MAX_DEPTH: usize = 100;

/// Encodes `text`, a message of type `name`, as wire format.
pub(super) fn encode(text: &str, name: &str) -> Result<Vec<u8>, TextError> {
    let schema = Schema::get();
    let mut writer = Writer {
        schema,
        lexer: Lexer::new(text)?,
        depth: 0,
    };
    let mut out = Vec::new();
    let lexer = &writer.lexer;
    let message = schema.message(name).map_err(|e| lexer.error(0, e))?;
    writer.fields(message, None, &mut out)?;
    Ok(out)
}

struct Writer<'a> {
    schema: &'static Schema,
    lexer: Lexer<'a>,
    depth: usize,
}

impl Writer<'_> {
    /// Encodes fields up to the sign `end`, or to the end of the text.
    fn fields(
        &mut self,
        message: Message,
        end: Option<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), TextError> {
        let mut seen = BTreeSet::new();
        loop {
            let at = self.lexer.position();
            match (self.lexer.take()?, end) {
                (Token::End, None) => return Ok(()),
                (Token::Sign(s), Some(end)) if s == end => return Ok(()),
                (Token::Name(name), _) => {
                    let field = message.field(name).ok_or_else(|| {
                        let what = format!("{} has no field {name}", message.name());
                        self.lexer.error(at, what)
                    })?;
                    self.once(message, field, &mut seen, at)?;
                    self.field(field, out)?;
                }
                (Token::Sign(b'['), _) => {
                    let what = "extensions and expanded Any are not supported";
                    return Err(self.lexer.error(at, what));
                }
                (token, _) => {
                    let what = format!("expected a field of {}, found {token}", message.name());
                    return Err(self.lexer.error(at, what));
                }
            }
        }
    }

    /// Returns an error if a field that is not repeated is given twice, or together with another
    /// field of its `oneof`.
    fn once(
        &self,
        message: Message,
        field: &Field,
        seen: &mut BTreeSet<i32>,
        at: usize,
    ) -> Result<(), TextError> {
        if field.label() == Label::Repeated {
            return Ok(());
        }
        let other = message.fields().find(|f| {
            let same = f.number() == field.number();
            let oneof = f.oneof_index.is_some() && f.oneof_index == field.oneof_index;
            seen.contains(&f.number()) && (same || oneof)
        });
        if let Some(other) = other {
            let what = format!(
                "{} is given, and {} already was",
                field.name(),
                other.name()
            );
            return Err(self.lexer.error(at, what));
        }
        seen.insert(field.number());
        Ok(())
    }

    /// Encodes the part after a field's name: a value, or a list of values.
    fn field(&mut self, field: &'static Field, out: &mut Vec<u8>) -> Result<(), TextError> {
        let at = self.lexer.position();
        let colon = self.lexer.accept(b':')?;
        if !colon && field.r#type() != Type::Message {
            let what = format!("expected `:` after {}", field.name());
            return Err(self.lexer.error(at, what));
        }
        if field.label() == Label::Repeated && self.lexer.accept(b'[')? {
            if !self.lexer.accept(b']')? {
                loop {
                    self.value(field, out)?;
                    if self.lexer.accept(b']')? {
                        break;
                    }
                    self.expect(b',')?;
                }
            }
        } else {
            self.value(field, out)?;
        }
        let _ = self.lexer.accept(b',')? || self.lexer.accept(b';')?;
        Ok(())
    }

    fn value(&mut self, field: &'static Field, out: &mut Vec<u8>) -> Result<(), TextError> {
        match field.r#type() {
            Type::Message => self.message(field, out),
            Type::String | Type::Bytes => self.literal(field, out),
            Type::Enum => self.enumeration(field, out),
            Type::Bool => self.boolean(field, out),
            Type::Int32 => self.integer(field, i32::MIN.into()..=i32::MAX.into(), out),
            Type::Int64 => self.integer(field, i64::MIN.into()..=i64::MAX.into(), out),
            Type::Uint32 => self.integer(field, 0..=u32::MAX.into(), out),
            Type::Uint64 => self.integer(field, 0..=u64::MAX.into(), out),
            other => {
                let what = format!("{} has a type that is not read: {other:?}", field.name());
                Err(self.lexer.error(self.lexer.position(), what))
            }
        }
    }

    fn message(&mut self, field: &Field, out: &mut Vec<u8>) -> Result<(), TextError> {
        let at = self.lexer.position();
        let message = self.schema.message(field.type_name());
        let message = message.map_err(|e| self.lexer.error(at, e))?;
        let end = match self.lexer.take()? {
            Token::Sign(b'{') => b'}',
            Token::Sign(b'<') => b'>',
            token => {
                let what = format!("expected `{{` after {}, found {token}", field.name());
                return Err(self.lexer.error(at, what));
            }
        };
        if self.depth == MAX_DEPTH {
            let what = format!("more than {MAX_DEPTH} messages inside each other");
            return Err(self.lexer.error(at, what));
        }
        self.depth += 1;
        let mut inner = Vec::new();
        self.fields(message, Some(end), &mut inner)?;
        self.depth -= 1;
        length_delimited(field, &inner, out);
        Ok(())
    }

    /// Encodes a string; adjacent strings are joined.
    fn literal(&mut self, field: &Field, out: &mut Vec<u8>) -> Result<(), TextError> {
        let at = self.lexer.position();
        let Token::Literal(mut bytes) = self.lexer.take()? else {
            let what = format!("expected a string for {}", field.name());
            return Err(self.lexer.error(at, what));
        };
        while matches!(self.lexer.peek(), Token::Literal(_)) {
            if let Token::Literal(more) = self.lexer.take()? {
                bytes.extend(more);
            }
        }
        if field.r#type() == Type::String && std::str::from_utf8(&bytes).is_err() {
            let what = format!("{} is not UTF-8", field.name());
            return Err(self.lexer.error(at, what));
        }
        length_delimited(field, &bytes, out);
        Ok(())
    }

    fn enumeration(&mut self, field: &Field, out: &mut Vec<u8>) -> Result<(), TextError> {
        let Token::Name(name) = *self.lexer.peek() else {
            return self.integer(field, i32::MIN.into()..=i32::MAX.into(), out);
        };
        let at = self.lexer.position();
        let Some(number) = self.schema.enum_value(field.type_name(), name) else {
            let what = format!("{} has no value {name}", field.name());
            return Err(self.lexer.error(at, what));
        };
        self.lexer.take()?;
        varint(field, i64::from(number).cast_unsigned(), out);
        Ok(())
    }

    fn boolean(&mut self, field: &Field, out: &mut Vec<u8>) -> Result<(), TextError> {
        let at = self.lexer.position();
        let value = match self.lexer.take()? {
            Token::Name("true" | "True" | "t") | Token::Number("1") => 1,
            Token::Name("false" | "False" | "f") | Token::Number("0") => 0,
            token => {
                let what = format!("expected true or false for {}, found {token}", field.name());
                return Err(self.lexer.error(at, what));
            }
        };
        varint(field, value, out);
        Ok(())
    }

    /// Encodes a decimal, octal (`0…`) or hexadecimal (`0x…`) number within `range`.
    fn integer(
        &mut self,
        field: &Field,
        range: std::ops::RangeInclusive<i128>,
        out: &mut Vec<u8>,
    ) -> Result<(), TextError> {
        let at = self.lexer.position();
        let negative = self.lexer.accept(b'-')?;
        let value = match self.lexer.take()? {
            Token::Number(digits) => unsigned(digits),
            _ => None,
        };
        let value = value.map(|v| if negative { -i128::from(v) } else { v.into() });
        let Some(value) = value.filter(|v| range.contains(v)) else {
            let (low, high) = range.into_inner();
            let what = format!(
                "expected a number from {low} to {high} for {}",
                field.name()
            );
            return Err(self.lexer.error(at, what));
        };
        // Negative numbers are encoded as ten bytes of their two's complement.
        let bits = match i64::try_from(value) {
            Ok(v) => v.cast_unsigned(),
            Err(_) => u64::try_from(value).unwrap_or_default(),
        };
        varint(field, bits, out);
        Ok(())
    }

    fn expect(&mut self, sign: u8) -> Result<(), TextError> {
        let at = self.lexer.position();
        if self.lexer.accept(sign)? {
            return Ok(());
        }
        let what = format!("expected `{}`", char::from(sign));
        Err(self.lexer.error(at, what))
    }
}

fn unsigned(digits: &str) -> Option<u64> {
    let hexadecimal = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    match (hexadecimal, digits.strip_prefix('0')) {
        (Some(h), _) => u64::from_str_radix(h, 16).ok(),
        (None, Some(octal)) if !octal.is_empty() => u64::from_str_radix(octal, 8).ok(),
        _ => digits.parse().ok(),
    }
}

fn varint(field: &Field, value: u64, out: &mut Vec<u8>) {
    encode_key(field.number().cast_unsigned(), WireType::Varint, out);
    encode_varint(value, out);
}

fn length_delimited(field: &Field, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(
        field.number().cast_unsigned(),
        WireType::LengthDelimited,
        out,
    );
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Name(s) | Token::Number(s) => write!(f, "`{s}`"),
            Token::Literal(_) => f.write_str("a string"),
            Token::Sign(s) => write!(f, "`{}`", char::from(*s)),
            Token::End => f.write_str("the end of the text"),
        }
    }
}
