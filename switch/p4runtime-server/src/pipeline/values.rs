// SPDX-License-Identifier: Apache-2.0
//! Values as clients and as the program write them: the same number, unless the type is
//! translated (`@p4runtime_translation`).
//!
//! A number of another width (`sdn_bitwidth`) is the same number and must fit both widths. A
//! string of digits (`sdn_string`) is that number; any other string is assigned a number, the
//! same wherever the type occurs.

use crate::bytestring;
use crate::errors::{Failure, Outcome, refuse};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tidemark_proto::p4::config::v1 as p4info;
use tidemark_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use tidemark_proto::p4::config::v1::p4_new_type_spec::Representation;
use tidemark_proto::p4::config::v1::p4_new_type_translation::SdnType;

/// Most levels of nested types; more are taken for a cycle.
const MAX_DEPTH: usize = 16;

/// Form in which clients write the values of a key or parameter.
#[derive(Clone, Debug, Default)]
pub(crate) enum Form {
    /// A number of the same width as in the program.
    #[default]
    Number,
    /// A number of this width.
    Wide(u32),
    Text(Arc<Names>),
}

/// Width of a key or parameter in the program, and the form in which clients write its values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    pub bits: u32,
    pub form: Form,
}

/// Strings of one type, and the numbers that represent them in the program.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_name: Mutex<BTreeMap<String, Vec<u8>>>,
}

/// The translated types of a P4Info.
pub(super) struct Types<'a> {
    info: Option<&'a p4info::P4TypeInfo>,
    names: BTreeMap<&'a str, Arc<Names>>,
}

impl<'a> Types<'a> {
    pub(super) fn new(info: &'a p4info::P4Info) -> Self {
        let info = info.type_info.as_ref();
        let types = info.into_iter().flat_map(|t| t.new_types.keys());
        Self {
            info,
            names: types.map(|n| (n.as_str(), Arc::default())).collect(),
        }
    }

    /// `bits` is the P4Info's width: 0 for strings and errors. `of` names the owner of the type.
    pub(super) fn values(
        &self,
        bits: i32,
        of_type: Option<&p4info::P4NamedType>,
        of: impl std::fmt::Display,
    ) -> Outcome<Values> {
        let form = of_type.map_or(Form::Number, |t| self.form(&t.name, MAX_DEPTH));
        let bits = u32::try_from(bits);
        let bits = bits.map_err(|_| Failure::invalid(format!("P4Info: width of {of}")))?;
        Ok(Values { bits, form })
    }

    fn form(&self, name: &str, depth: usize) -> Form {
        let Some(depth) = depth.checked_sub(1) else {
            return Form::Number;
        };
        let found = self.info.and_then(|i| i.new_types.get(name));
        match found.and_then(|t| t.representation.as_ref()) {
            Some(Representation::TranslatedType(t)) => match t.sdn_type {
                Some(SdnType::SdnBitwidth(n)) => Form::Wide(u32::try_from(n).unwrap_or(0)),
                Some(SdnType::SdnString(_)) => match self.names.get(name) {
                    Some(names) => Form::Text(names.clone()),
                    None => Form::Number,
                },
                None => Form::Number,
            },
            Some(Representation::OriginalType(t)) => match &t.type_spec {
                Some(TypeSpec::NewType(n)) => self.form(&n.name, depth),
                _ => Form::Number,
            },
            None => Form::Number,
        }
    }
}

impl Values {
    /// Sets the program's width; unless the type is translated, both widths must be equal.
    pub(super) fn set_program_bits(&mut self, bits: u32) -> bool {
        let unsaid = self.bits == 0 || !matches!(self.form, Form::Number);
        let same = self.bits == bits;
        self.bits = bits;
        same || unsaid
    }

    /// Returns the value in the program, in `ceil(bits / 8)` bytes.
    pub(crate) fn parse(&self, value: &[u8]) -> Outcome<Vec<u8>> {
        match &self.form {
            Form::Number => bytestring::parse(value, self.bits),
            Form::Wide(bits) => {
                bytestring::parse(value, *bits)?;
                bytestring::parse(value, self.bits)
            }
            Form::Text(names) => names.number(value, self.bits),
        }
    }

    /// Returns the value as clients write it.
    pub(crate) fn canonical(&self, value: &[u8]) -> Vec<u8> {
        match &self.form {
            Form::Text(names) => names.name(value),
            _ => bytestring::canonical(value),
        }
    }
}

impl Names {
    fn number(&self, name: &[u8], bits: u32) -> Outcome<Vec<u8>> {
        let name = match std::str::from_utf8(name) {
            Ok(n) if !n.is_empty() => n,
            _ => refuse!(invalid: "its type is translated: a UTF-8 string is required"),
        };
        let mut taken = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = taken.get(name) {
            return Ok(number.clone());
        }
        let is_taken = |v: &Vec<u8>| taken.values().any(|t| t == v);
        let number = match name.parse::<u64>() {
            Ok(n) if n.to_string() == name => {
                let number = bytestring::parse(&n.to_be_bytes(), bits)?;
                if is_taken(&number) {
                    refuse!(invalid: "\"{name}\" is the number of another string of this type");
                }
                number
            }
            // From the largest number downwards: small numbers are ports and the like.
            _ => {
                let mut number = bytestring::prefix_mask(bits, bits);
                while is_taken(&number) {
                    if !decrement(&mut number) {
                        return Err(Failure::exhausted(format!(
                            "there are more strings than {bits} bits can number"
                        )));
                    }
                }
                number
            }
        };
        taken.insert(name.to_owned(), number.clone());
        Ok(number)
    }

    fn name(&self, number: &[u8]) -> Vec<u8> {
        let taken = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.iter().find(|(_, n)| *n == number) {
            Some((name, _)) => name.clone().into_bytes(),
            None => match bytestring::to_u64(number) {
                Some(n) => n.to_string().into_bytes(),
                None => format!("0x{}", bytestring::hex(number)).into_bytes(),
            },
        }
    }
}

/// Subtracts 1; returns `false` at 0.
fn decrement(number: &mut [u8]) -> bool {
    for b in number.iter_mut().rev() {
        let (less, borrow) = b.overflowing_sub(1);
        *b = less;
        if !borrow {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    #[test]
    fn numbers_of_another_width_fit_both() {
        let values = Values {
            bits: 8,
            form: Form::Wide(12),
        };
        assert_eq!(values.parse(&[0, 200]).unwrap(), [200]);
        assert_eq!(values.parse(&[1, 0]).unwrap_err().code, Code::OutOfRange);
        let narrow = Values {
            bits: 12,
            form: Form::Wide(8),
        };
        assert_eq!(narrow.parse(&[200]).unwrap(), [0, 200]);
        assert_eq!(narrow.parse(&[1, 0]).unwrap_err().code, Code::OutOfRange);
    }

    #[test]
    fn strings_have_one_number_each() {
        let values = Values {
            bits: 9,
            form: Form::Text(Arc::default()),
        };
        assert_eq!(values.parse(b"3").unwrap(), [0, 3]);
        let eth0 = values.parse(b"eth0").unwrap();
        assert_eq!(eth0, [1, 0xff]);
        assert_eq!(values.parse(b"eth1").unwrap(), [1, 0xfe]);
        assert_eq!(values.parse(b"eth0").unwrap(), eth0);
        assert_eq!(values.canonical(&eth0), b"eth0");
        assert_eq!(values.canonical(&[0, 3]), b"3");
        assert_eq!(values.canonical(&[0, 4]), b"4");
        assert_eq!(
            values.parse(b"510").unwrap_err().code,
            Code::InvalidArgument
        );
        assert_eq!(values.parse(b"512").unwrap_err().code, Code::OutOfRange);
        assert_eq!(values.parse(b"").unwrap_err().code, Code::InvalidArgument);
        assert_eq!(values.parse(b"007").unwrap(), [1, 0xfd]);
        let one_bit = Values {
            bits: 1,
            form: Form::Text(Arc::default()),
        };
        one_bit.parse(b"a").unwrap();
        one_bit.parse(b"b").unwrap();
        assert_eq!(
            one_bit.parse(b"c").unwrap_err().code,
            Code::ResourceExhausted
        );
    }
}
