// SPDX-License-Identifier: Apache-2.0
//! Tables, keys, actions and data fields by name, from BFRT's JSON.

use crate::Error;
use crate::program_contract::without_unit;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use tidemark_proto::bfrt_proto as bf;

/// All tables of the program and the device's fixed tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Info {
    tables: Vec<Table>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Table {
    pub name: String,
    pub id: u32,
    #[serde(default)]
    key: Vec<Field>,
    #[serde(default)]
    action_specs: Vec<Action>,
    /// Fields without an action, or in addition to those of any action.
    #[serde(default, deserialize_with = "fields")]
    data: Vec<Field>,
}

/// A field of a key or of data.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Field {
    pub id: u32,
    pub name: String,
    #[serde(default)]
    match_type: String,
    #[serde(rename = "type", default)]
    kind: Kind,
    #[serde(default)]
    repeated: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Kind {
    #[serde(rename = "type", default)]
    name: String,
    width: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
struct Action {
    id: u32,
    name: String,
    #[serde(default, deserialize_with = "fields")]
    data: Vec<Field>,
}

/// Deserialises data fields, each either plain or in `singleton` with its access rights: the
/// program's actions have the first form, the device's the second.
fn fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Field>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Described {
        Wrapped { singleton: Field },
        Bare(Field),
    }
    let all = Vec::<Described>::deserialize(deserializer)?.into_iter();
    let field = |d| match d {
        Described::Wrapped { singleton } | Described::Bare(singleton) => singleton,
    };
    Ok(all.map(field).collect())
}

/// Value that a key field is matched against.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'a> {
    Number(u64),
    /// Value and mask of a ternary field; a plain number matches all bits.
    Masked(u128, u128),
    Text(&'a str),
}

/// Value of a data field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(u64),
    Text(String),
    Flag(bool),
    Numbers(Vec<u32>),
    Flags(Vec<bool>),
}

/// Fields of an entry by name.
pub(super) type Fields = BTreeMap<String, Value>;

impl Info {
    /// Parses the JSON of the program and of the device.
    ///
    /// # Errors
    /// Text that is not JSON, or a table of an unknown shape, with its name.
    pub(super) fn parse(parts: &[&[u8]]) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Document {
            tables: Vec<serde_json::Value>,
        }
        let wrong = |what: &str, e| {
            let text = format!("{what}not understood: {e}");
            Error::value("bfruntime_info", text)
        };
        let mut all = Info::default();
        for part in parts.iter().filter(|p| !p.is_empty()) {
            let document: Document = serde_json::from_slice(part).map_err(|e| wrong("", e))?;
            for table in document.tables {
                let name = table.get("name").map(|n| format!("table {n}: "));
                let read = Table::deserialize(table);
                let read = read.map_err(|e| wrong(&name.unwrap_or_default(), e))?;
                all.tables.push(read);
            }
        }
        Ok(all)
    }

    /// Finds a table by its full name or its last parts, so that `queue_limit` finds
    /// `pipe.Egress.queue_limit` and `tm.queue.buffer` finds `tf1.tm.queue.buffer`.
    pub(super) fn table(&self, name: &str) -> Result<&Table, Error> {
        let tail = format!(".{name}");
        let exact = self.tables.iter().find(|t| t.name == name);
        let found = exact.or_else(|| self.tables.iter().find(|t| t.name.ends_with(&tail)));
        let known = self.tables.iter().map(|t| t.name.as_str());
        found.ok_or_else(|| Error::name("table", name, known))
    }
}

impl Info {
    pub(super) fn by_id(&self, id: u32) -> Option<&Table> {
        self.tables.iter().find(|t| t.id == id)
    }
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Finds a field by name, which may omit its path and its unit.
fn find<'a>(fields: impl Iterator<Item = &'a Field> + Clone, name: &str) -> Option<&'a Field> {
    let exact = |f: &&Field| f.name == name || short(&f.name) == name;
    let mut all = fields.clone();
    let found = all.find(exact);
    found.or_else(|| {
        fields
            .clone()
            .find(|f| without_unit(short(&f.name)) == name)
    })
}

fn missing<'a>(name: &str, of: &str, known: impl Iterator<Item = &'a Field>) -> Error {
    let known = known.map(|f| f.name.as_str());
    Error::name("field", format!("{name} of {of}"), known)
}

impl Field {
    fn width(&self) -> u32 {
        self.kind.width.unwrap_or(match self.kind.name.as_str() {
            "uint8" => 8,
            "uint16" => 16,
            "uint64" => 64,
            _ => 32,
        })
    }

    /// Encodes a number, big-endian, in the width of the field.
    fn bytes(&self, value: u128) -> Result<Vec<u8>, Error> {
        let width = self.width();
        if width < u128::BITS && value >> width != 0 {
            return Err(Error::value(
                &self.name,
                format!("{value} does not fit {width} bits"),
            ));
        }
        let length = width.div_ceil(8) as usize;
        let number = value.to_be_bytes();
        let mut bytes = vec![0; length.saturating_sub(number.len())];
        bytes.extend(&number[number.len().saturating_sub(length)..]);
        Ok(bytes)
    }

    fn data(&self, value: &Value) -> Result<bf::DataField, Error> {
        use bf::data_field::Value as Wire;
        let kind = self.kind.name.as_str();
        let is_number = matches!(kind, "bytes" | "uint8" | "uint16" | "uint32" | "uint64");
        let value = match (value, self.repeated) {
            (Value::Number(n), false) if is_number => Wire::Stream(self.bytes((*n).into())?),
            (Value::Text(t), false) if kind == "string" => Wire::StrVal(t.clone()),
            (Value::Flag(b), false) if kind == "bool" => Wire::BoolVal(*b),
            (Value::Numbers(all), true) if is_number => {
                Wire::IntArrVal(bf::data_field::IntArray { val: all.clone() })
            }
            (Value::Flags(all), true) if kind == "bool" => {
                Wire::BoolArrVal(bf::data_field::BoolArray { val: all.clone() })
            }
            (v, repeated) => {
                let list = if repeated { "a list of " } else { "" };
                let text = format!("takes {list}{kind}, not {v:?}");
                return Err(Error::value(&self.name, text));
            }
        };
        Ok(bf::DataField {
            field_id: self.id,
            value: Some(value),
        })
    }

    fn read(&self, field: &bf::DataField) -> Option<Value> {
        use bf::data_field::Value as Wire;
        match field.value.as_ref()? {
            Wire::Stream(b) => crate::values::number(b).ok().map(Value::Number),
            Wire::StrVal(t) => Some(Value::Text(t.clone())),
            Wire::BoolVal(b) => Some(Value::Flag(*b)),
            Wire::IntArrVal(a) => Some(Value::Numbers(a.val.clone())),
            Wire::BoolArrVal(a) => Some(Value::Flags(a.val.clone())),
            Wire::FloatVal(_) => None,
        }
    }
}

impl Table {
    /// Adds the name of the table to an error about a value.
    fn of_table(&self, e: Error) -> Error {
        match e {
            Error::Value { field, problem } => Error::Value {
                field: format!("{}: {field}", self.name),
                problem,
            },
            other => other,
        }
    }

    /// Creates the key of an entry; ternary fields that are omitted match anything.
    pub(super) fn key(&self, given: &[(&str, Part<'_>)]) -> Result<bf::TableKey, Error> {
        use bf::key_field::{Exact, MatchType, Ternary};
        let mut fields = Vec::new();
        for &(name, part) in given {
            let only = self.key.first().filter(|_| self.key.len() == 1);
            let f = find(self.key.iter(), name).or(only.filter(|_| !name.starts_with('$')));
            let f = f.ok_or_else(|| missing(name, &self.name, self.key.iter()))?;
            let (ternary, text) = (f.match_type == "Ternary", f.kind.name == "string");
            let bytes = |n| f.bytes(n).map_err(|e| self.of_table(e));
            let match_type = match part {
                Part::Number(n) if ternary => MatchType::Ternary(Ternary {
                    value: bytes(n.into())?,
                    mask: bytes(u128::MAX >> (u128::BITS - f.width().clamp(1, u128::BITS)))?,
                }),
                Part::Masked(value, mask) if ternary => MatchType::Ternary(Ternary {
                    value: bytes(value & mask)?,
                    mask: bytes(mask)?,
                }),
                Part::Number(n) if !text => MatchType::Exact(Exact {
                    value: bytes(n.into())?,
                }),
                Part::Text(t) if text => MatchType::Exact(Exact { value: t.into() }),
                _ => {
                    let takes = format!("takes {} {}, not {part:?}", f.match_type, f.kind.name);
                    return Err(self.of_table(Error::value(&f.name, takes)));
                }
            };
            fields.push(bf::KeyField {
                field_id: f.id,
                match_type: Some(match_type),
            });
        }
        Ok(bf::TableKey { fields })
    }

    /// Creates an entry with only the key, to read it.
    pub(super) fn key_entry(&self, key: &[(&str, Part<'_>)]) -> Result<bf::TableEntry, Error> {
        Ok(bf::TableEntry {
            table_id: self.id,
            key: Some(self.key(key)?),
            ..Default::default()
        })
    }

    /// Whether the key has a priority, as in tables with ternary fields.
    pub(super) fn has_priority(&self) -> bool {
        self.key.iter().any(|f| f.name == "$MATCH_PRIORITY")
    }

    fn named(&self, action: &str) -> Result<&Action, Error> {
        let mut actions = self.action_specs.iter();
        let found = actions.find(|a| a.name == action || short(&a.name) == action);
        let known = self.action_specs.iter().map(|a| a.name.as_str());
        found
            .ok_or_else(|| Error::name("action", format!("{action} of table {}", self.name), known))
    }

    /// Returns the number of parameters of an action.
    pub(super) fn parameters(&self, action: &str) -> Result<usize, Error> {
        Ok(self.named(action)?.data.len())
    }

    /// Creates the data of an action with its arguments by name, which may omit the unit (`limit`
    /// for `limit_bytes` and `limit_cells`). The name does not matter if the action has one
    /// parameter. Arguments may also be fields of the table that apply to any action.
    pub(super) fn action(
        &self,
        name: &str,
        args: &[(&str, Value)],
    ) -> Result<bf::TableData, Error> {
        let action = self.named(name)?;
        let mut data = self.values(&action.data, args)?;
        data.action_id = action.id;
        Ok(data)
    }

    /// Creates the data of an entry in a table without actions.
    pub(super) fn data(&self, values: &[(&str, Value)]) -> Result<bf::TableData, Error> {
        self.values(&[], values)
    }

    fn values(&self, own: &[Field], values: &[(&str, Value)]) -> Result<bf::TableData, Error> {
        let known = || own.iter().chain(&self.data);
        let fields = values.iter().map(|(name, value)| {
            let only = own
                .first()
                .filter(|_| own.len() == 1 && self.data.is_empty());
            let field = find(known(), name).or(only);
            let field = field.ok_or_else(|| missing(name, &self.name, known()))?;
            field.data(value).map_err(|e| self.of_table(e))
        });
        Ok(bf::TableData {
            action_id: 0,
            fields: fields.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the short name of the entry's action, and its fields.
    pub(super) fn read(&self, data: &bf::TableData) -> (Option<&str>, Fields) {
        let action = self.action_specs.iter().find(|a| a.id == data.action_id);
        let of_action = action.map_or(&[][..], |a| &a.data[..]);
        let mut fields = Fields::new();
        for f in &data.fields {
            let known = of_action.iter().chain(&self.data);
            if let Some(field) = known.into_iter().find(|k| k.id == f.field_id)
                && let Some(value) = field.read(f)
            {
                fields.insert(short(&field.name).into(), value);
            }
        }
        (action.map(|a| short(&a.name)), fields)
    }

    /// Returns the server's message about a refusal, and adds the name of the field that it gives
    /// by number ("field:5", "field id 5").
    pub(super) fn explained(&self, words: &str) -> String {
        let after = words.split_once("field").map_or("", |(_, after)| after);
        let digits = after.trim_start_matches([':', ' ', '_', 'i', 'd', '=']);
        let digits = digits.split(|c: char| !c.is_ascii_digit()).next();
        let id: Option<u32> = digits.and_then(|d| d.parse().ok());
        let actions = self.action_specs.iter().flat_map(|a| &a.data);
        let of_key: &[Field] = if words.contains("key") {
            &self.key
        } else {
            &[]
        };
        let mut known = of_key.iter().chain(actions).chain(&self.data);
        match known.find(|f| Some(f.id) == id) {
            Some(f) => format!("{words} ({})", f.name),
            None => words.into(),
        }
    }
}
