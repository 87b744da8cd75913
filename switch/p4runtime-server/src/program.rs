// SPDX-License-Identifier: Apache-2.0
//! The few facts of a BMv2 JSON that a P4Info is checked against.

use serde::Deserialize;
use std::collections::HashMap;

#[derive(Debug, Deserialize)]
pub(crate) struct Program {
    #[serde(default)]
    header_types: Vec<HeaderType>,
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default)]
    pipelines: Vec<PipelineJson>,
    #[serde(default)]
    pub actions: Vec<Action>,
    #[serde(default)]
    pub counter_arrays: Vec<Array>,
    #[serde(default)]
    pub register_arrays: Vec<Array>,
    #[serde(default)]
    pub meter_arrays: Vec<Array>,
    #[serde(default)]
    learn_lists: Vec<Named>,
    #[serde(default)]
    parse_vsets: Vec<Named>,
}

/// An object of which only the existence matters.
#[derive(Debug, Deserialize)]
struct Named {
    name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ActionProfile {
    pub name: String,
    pub selector: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct HeaderType {
    name: String,
    /// Name, width in bits or "*", then optional flags.
    #[serde(default)]
    fields: Vec<Vec<serde_json::Value>>,
}

#[derive(Debug, Deserialize)]
struct Header {
    name: String,
    header_type: String,
}

#[derive(Debug, Deserialize)]
struct PipelineJson {
    #[serde(default)]
    tables: Vec<Table>,
    #[serde(default)]
    action_profiles: Vec<ActionProfile>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Table {
    pub name: String,
    #[serde(default)]
    pub key: Vec<Key>,
    #[serde(default)]
    pub action_ids: Vec<u32>,
    #[serde(default)]
    pub with_counters: bool,
    #[serde(default)]
    pub support_timeout: bool,
    #[serde(default)]
    pub entries: Vec<Entry>,
    pub default_entry: Option<ActionEntry>,
    /// Name of its direct meter.
    pub direct_meters: Option<String>,
    /// Where its actions come from, if not from its entries.
    pub action_profile: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Key {
    pub match_type: String,
    target: serde_json::Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Entry {
    pub match_key: Vec<MatchKey>,
    pub action_entry: ActionEntry,
    /// Smaller wins.
    #[serde(default)]
    pub priority: i32,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ActionEntry {
    pub action_id: u32,
    #[serde(default)]
    pub action_data: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "match_type", rename_all = "lowercase")]
pub(crate) enum MatchKey {
    Exact { key: String },
    Lpm { key: String, prefix_length: u32 },
    Ternary { key: String, mask: String },
    Optional { key: String, mask: String },
    Range { start: String, end: String },
}

#[derive(Debug, Deserialize)]
pub(crate) struct Action {
    pub name: String,
    pub id: u32,
    #[serde(default)]
    pub runtime_data: Vec<RuntimeData>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RuntimeData {
    pub bitwidth: u32,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Array {
    pub name: String,
    pub size: Option<u64>,
    pub bitwidth: Option<u32>,
    #[serde(default)]
    pub is_direct: bool,
}

impl Program {
    pub(crate) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.pipelines
            .iter()
            .flat_map(|p| &p.tables)
            .find(|t| t.name == name)
    }

    pub(crate) fn action_profile(&self, name: &str) -> Option<&ActionProfile> {
        self.pipelines
            .iter()
            .flat_map(|p| &p.action_profiles)
            .find(|p| p.name == name)
    }

    pub(crate) fn has_digest(&self, name: &str) -> bool {
        self.learn_lists.iter().any(|l| l.name == name)
    }

    pub(crate) fn has_value_set(&self, name: &str) -> bool {
        self.parse_vsets.iter().any(|s| s.name == name)
    }

    /// The action of this name that the table can run.
    pub(crate) fn action_of(&self, table: &Table, name: &str) -> Option<&Action> {
        self.actions
            .iter()
            .find(|a| a.name == name && table.action_ids.contains(&a.id))
    }

    /// Width of a key in bits; `None` where the format hides it.
    pub(crate) fn key_bits(&self, key: &Key) -> Option<u32> {
        let header = key.target.get(0)?.as_str()?;
        let field = key.target.get(1)?.as_str()?;
        if field == "$valid$" {
            return Some(1);
        }
        let of_type = &self.headers.iter().find(|h| h.name == header)?.header_type;
        let fields = &self
            .header_types
            .iter()
            .find(|t| &t.name == of_type)?
            .fields;
        let width = fields
            .iter()
            .find(|f| f.first().and_then(|n| n.as_str()) == Some(field))?
            .get(1)?;
        u32::try_from(width.as_u64()?).ok()
    }
}

/// A hexadecimal number of the JSON ("0x0a0b") as big-endian bytes.
pub(crate) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let padded = format!("{}{digits}", if digits.len() % 2 == 1 { "0" } else { "" });
    (0..padded.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(padded.get(i..i + 2)?, 16).ok())
        .collect()
}

/// Sizes of indexed arrays by name.
pub(crate) fn by_name(arrays: &[Array]) -> HashMap<&str, &Array> {
    arrays.iter().map(|a| (a.name.as_str(), a)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_numbers() {
        assert_eq!(hex_bytes("0xabc"), Some(vec![0x0a, 0xbc]));
        assert_eq!(hex_bytes("0x"), Some(vec![]));
        assert_eq!(hex_bytes("0xgg"), None);
        assert_eq!(hex_bytes("0xü"), None);
    }
}
