// SPDX-License-Identifier: Apache-2.0
//! Tables, keys, actions and data fields by name, out of BFRT's JSON.

use crate::Error;
use crate::program_contract::without_unit;
use serde::Deserialize;
use std::collections::BTreeMap;
use tidemark_proto::bfrt_proto as bf;

/// All tables: those of the program and the device's fixed ones.
#[derive(Clone, Debug, Default, Deserialize)]
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
    #[serde(default)]
    data: Vec<Data>,
}

/// A field of key or data.
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
    #[serde(default)]
    data: Vec<Field>,
}

#[derive(Clone, Debug, Deserialize)]
struct Data {
    singleton: Option<Field>,
}

/// A value for a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(u64),
    Text(String),
    Flag(bool),
    Numbers(Vec<u32>),
    Flags(Vec<bool>),
}

/// What an entry holds: its action's short name, and its fields by name.
pub(super) type Fields = BTreeMap<String, Value>;

impl Info {
    /// Reads the JSON of the program and of the device.
    pub(super) fn parse(parts: &[&[u8]]) -> Result<Self, Error> {
        let mut all = Info::default();
        for part in parts.iter().filter(|p| !p.is_empty()) {
            let info: Info = serde_json::from_slice(part)
                .map_err(|e| Error::value("bfruntime_info", format!("not understood: {e}")))?;
            all.tables.extend(info.tables);
        }
        Ok(all)
    }

    /// The table of this name: the full one, or its last parts, so that
    /// `queue_limit` finds `pipe.Egress.queue_limit` and `tm.queue.buffer`
    /// finds `tf1.tm.queue.buffer`.
    pub(super) fn table(&self, name: &str) -> Result<&Table, Error> {
        let tail = format!(".{name}");
        let exact = self.tables.iter().find(|t| t.name == name);
        let found = exact.or_else(|| self.tables.iter().find(|t| t.name.ends_with(&tail)));
        let known = self.tables.iter().map(|t| t.name.as_str());
        found.ok_or_else(|| Error::name("table", name, known))
    }
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn find<'a>(fields: &'a [Field], name: &str, of: &str) -> Result<&'a Field, Error> {
    let only = fields.len() == 1 && !name.starts_with('$');
    fields
        .iter()
        .find(|f| f.name == name || short(&f.name) == name)
        .or_else(|| fields.iter().find(|f| without_unit(short(&f.name)) == name))
        .or_else(|| fields.first().filter(|_| only))
        .ok_or_else(|| {
            let known = fields.iter().map(|f| f.name.as_str());
            Error::name("field", format!("{name} of {of}"), known)
        })
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

    /// A number as wide as the field, big-endian.
    fn bytes(&self, value: u64) -> Result<Vec<u8>, Error> {
        let width = self.width();
        if width < 64 && value >> width != 0 {
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
            (Value::Number(n), false) if is_number => Wire::Stream(self.bytes(*n)?),
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
    /// The key of an entry: exact fields by value, ternary ones by value and
    /// mask; ternary fields that are left out match anything.
    pub(super) fn key(&self, given: &[(&str, u64, Option<u64>)]) -> Result<bf::TableKey, Error> {
        let mut fields = Vec::new();
        for &(name, value, mask) in given {
            let f = find(&self.key, name, &self.name)?;
            let match_type = if f.match_type == "Ternary" {
                let all = u64::MAX >> (64 - f.width().clamp(1, 64));
                let mask = mask.unwrap_or(all);
                bf::key_field::MatchType::Ternary(bf::key_field::Ternary {
                    value: f.bytes(value & mask)?,
                    mask: f.bytes(mask)?,
                })
            } else {
                bf::key_field::MatchType::Exact(bf::key_field::Exact {
                    value: f.bytes(value)?,
                })
            };
            fields.push(bf::KeyField {
                field_id: f.id,
                match_type: Some(match_type),
            });
        }
        Ok(bf::TableKey { fields })
    }

    /// The key alone, for reading the entry.
    pub(super) fn key_entry(&self, key: &[(&str, u64)]) -> Result<bf::TableEntry, Error> {
        let key: Vec<_> = key.iter().map(|&(name, v)| (name, v, None)).collect();
        Ok(bf::TableEntry {
            table_id: self.id,
            key: Some(self.key(&key)?),
            ..Default::default()
        })
    }

    /// The key field of the priority, where the table has ternary fields.
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

    /// How many parameters an action has.
    pub(super) fn parameters(&self, action: &str) -> Result<usize, Error> {
        Ok(self.named(action)?.data.len())
    }

    /// An action with its arguments, by name, which may leave out the unit
    /// (`limit` for `limit_bytes` and `limit_cells`); an action with one
    /// parameter takes it whatever its name.
    pub(super) fn action(
        &self,
        name: &str,
        args: &[(&str, Value)],
    ) -> Result<bf::TableData, Error> {
        let action = self.named(name)?;
        let fields = args
            .iter()
            .map(|(n, v)| find(&action.data, n, name)?.data(v));
        Ok(bf::TableData {
            action_id: action.id,
            fields: fields.collect::<Result<_, _>>()?,
        })
    }

    /// Data of a table without actions, or beside them.
    pub(super) fn data(&self, values: &[(&str, Value)]) -> Result<bf::TableData, Error> {
        let singles: Vec<Field> = self
            .data
            .iter()
            .filter_map(|d| d.singleton.clone())
            .collect();
        let fields = values
            .iter()
            .map(|(n, v)| find(&singles, n, &self.name)?.data(v));
        Ok(bf::TableData {
            action_id: 0,
            fields: fields.collect::<Result<_, _>>()?,
        })
    }

    /// Short name of the entry's action, and its fields.
    pub(super) fn read(&self, data: &bf::TableData) -> (Option<&str>, Fields) {
        let action = self.action_specs.iter().find(|a| a.id == data.action_id);
        let of_action = action.map_or(&[][..], |a| &a.data[..]);
        let singles = self.data.iter().filter_map(|d| d.singleton.as_ref());
        let known: Vec<&Field> = of_action.iter().chain(singles).collect();
        let mut fields = Fields::new();
        for f in &data.fields {
            if let Some(field) = known.iter().find(|k| k.id == f.field_id)
                && let Some(value) = field.read(f)
            {
                fields.insert(short(&field.name).into(), value);
            }
        }
        (action.map(|a| short(&a.name)), fields)
    }
}
