// SPDX-License-Identifier: Apache-2.0
//! Writes by name, in the JSON of p4lang's tutorials (`sN-runtime.json`).
//!
//! ```text
//! { "table_entries": [
//!     { "table": "Ingress.watch", "match": { "src_port": [5001, "0xffff"] }, "priority": 1,
//!       "action_name": "Ingress.report", "action_params": { "shift": 0 } },
//!     { "table": "Ingress.watch", "default_action": true, "action_name": "Ingress.ignore" } ],
//!   "multicast_group_entries": [
//!     { "multicast_group_id": 1, "replicas": [{ "egress_port": 1, "instance": 1 }] } ],
//!   "clone_session_entries": [
//!     { "clone_session_id": 1, "replicas": [{ "egress_port": 2, "instance": 1 }] } ] }
//! ```
//!
//! A value is a number, a number as a string (`"0x1f"`, `"31"`), an IPv4 or a MAC address; for an
//! LPM key with the prefix length, for a ternary key with the mask, for a range with its end.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, anyhow, bail};
use num_bigint::BigUint;
use serde_json::{Map, Value};
use tidemark_proto::p4::config::v1::match_field::{Match, MatchType};
use tidemark_proto::p4::config::v1::{MatchField, P4Info, Preamble};
use tidemark_proto::p4::v1::{
    Action, CloneSessionEntry, Entity, FieldMatch, MulticastGroupEntry,
    PacketReplicationEngineEntry, Replica, TableAction, TableEntry, Update, action, entity,
    field_match, packet_replication_engine_entry as engine, table_action, update,
};

/// Returns the updates in the order of the file.
///
/// # Errors
/// Anything that is not such JSON or does not fit the program, with its place in the file.
pub(super) fn parse(text: &[u8], info: &P4Info) -> Result<Vec<Update>> {
    let file: Value = serde_json::from_slice(text).context("not JSON")?;
    let mut updates = Vec::new();
    for (key, convert) in [
        (
            "table_entries",
            table_entry as fn(&Value, &P4Info) -> Result<Update>,
        ),
        ("multicast_group_entries", |e, _| group(e)),
        ("clone_session_entries", |e, _| session(e)),
    ] {
        let none = Value::Array(Vec::new());
        let list = file.get(key).unwrap_or(&none);
        let list = list
            .as_array()
            .with_context(|| format!("{key}: not a list"))?;
        for (i, entry) in list.iter().enumerate() {
            updates.push(convert(entry, info).with_context(|| format!("{key}[{i}]"))?);
        }
    }
    if updates.is_empty() {
        bail!("has neither table_entries nor multicast_group_entries nor clone_session_entries");
    }
    Ok(updates)
}

fn named<'a, T>(
    kind: &str,
    all: &'a [T],
    name: &str,
    preamble: fn(&T) -> Option<&Preamble>,
) -> Result<(u32, &'a T)> {
    let of = |item: &'a T| preamble(item).map(|p| (p, item));
    let mut with = all.iter().filter_map(of);
    with.find(|(p, _)| p.name == name || p.alias == name)
        .map(|(p, item)| (p.id, item))
        .ok_or_else(|| anyhow!("the program has no {kind} {name}"))
}

fn text<'a>(entry: &'a Value, key: &str) -> Result<&'a str> {
    let found = entry.get(key).and_then(Value::as_str);
    found.with_context(|| format!("{key}: is missing or not a string"))
}

fn table_entry(entry: &Value, info: &P4Info) -> Result<Update> {
    let (table_id, table) = named("table", &info.tables, text(entry, "table")?, |t| {
        t.preamble.as_ref()
    })?;
    let none = Map::new();
    let object = |key: &str| match entry.get(key) {
        None | Some(Value::Null) => Ok(&none),
        Some(given) => given
            .as_object()
            .with_context(|| format!("{key}: not an object")),
    };
    let mut keys = Vec::new();
    for (name, value) in object("match")? {
        let field = table.match_fields.iter().find(|f| f.name == *name);
        let field = field.with_context(|| format!("match: the table has no key {name}"))?;
        keys.push(key(field, value).with_context(|| format!("match: {name}"))?);
    }
    let (action_id, action) = named("action", &info.actions, text(entry, "action_name")?, |a| {
        a.preamble.as_ref()
    })?;
    let mut params = Vec::new();
    for (name, value) in object("action_params")? {
        let param = action.params.iter().find(|p| p.name == *name);
        let param = param.with_context(|| format!("action_params: there is no {name}"))?;
        let value =
            number(value, param.bitwidth).with_context(|| format!("action_params: {name}"))?;
        params.push(action::Param {
            param_id: param.id,
            value,
        });
    }
    let is_default = entry.get("default_action").and_then(Value::as_bool) == Some(true);
    let priority = entry.get("priority").map_or(Some(0), Value::as_i64);
    let priority = priority.and_then(|p| i32::try_from(p).ok());
    Ok(update(
        if is_default {
            update::Type::Modify
        } else {
            update::Type::Insert
        },
        entity::Entity::TableEntry(TableEntry {
            table_id,
            r#match: keys,
            action: Some(TableAction {
                r#type: Some(table_action::Type::Action(Action { action_id, params })),
            }),
            priority: priority.context("priority: not a number of 32 bits")?,
            is_default_action: is_default,
            ..TableEntry::default()
        }),
    ))
}

fn update(kind: update::Type, entity: entity::Entity) -> Update {
    Update {
        r#type: kind.into(),
        entity: Some(Entity {
            entity: Some(entity),
        }),
    }
}

fn key(field: &MatchField, value: &Value) -> Result<FieldMatch> {
    let of = |v: &Value| number(v, field.bitwidth);
    let pair = || match value.as_array().map(Vec::as_slice) {
        Some([first, second]) => Ok((first, second)),
        _ => Err(anyhow!("needs a list of two")),
    };
    let kind = match field.r#match {
        Some(Match::MatchType(kind)) => MatchType::try_from(kind).unwrap_or_default(),
        _ => MatchType::Unspecified,
    };
    let matched = match kind {
        MatchType::Exact => {
            // The tutorials' own reader also accepts a list of one.
            let value = match value.as_array().map(Vec::as_slice) {
                Some([only]) => only,
                _ => value,
            };
            field_match::FieldMatchType::Exact(field_match::Exact { value: of(value)? })
        }
        MatchType::Lpm => {
            let (value, length) = pair()?;
            let length = length.as_i64().and_then(|n| i32::try_from(n).ok());
            field_match::FieldMatchType::Lpm(field_match::Lpm {
                value: of(value)?,
                prefix_len: length.context("the prefix length is not a number")?,
            })
        }
        MatchType::Ternary => {
            let (value, mask) = pair()?;
            let (value, mask) = (of(value)?, of(mask)?);
            field_match::FieldMatchType::Ternary(field_match::Ternary { value, mask })
        }
        MatchType::Range => {
            let (low, high) = pair()?;
            let (low, high) = (of(low)?, of(high)?);
            field_match::FieldMatchType::Range(field_match::Range { low, high })
        }
        MatchType::Optional => {
            field_match::FieldMatchType::Optional(field_match::Optional { value: of(value)? })
        }
        MatchType::Unspecified => bail!("unknown match kind"),
    };
    Ok(FieldMatch {
        field_id: field.id,
        field_match_type: Some(matched),
    })
}

/// Returns the bytes of a value in P4Runtime's form: no more than necessary.
fn number(value: &Value, bits: i32) -> Result<Vec<u8>> {
    let parsed = match value {
        Value::Number(n) => n.as_u64().map(BigUint::from),
        Value::String(s) => of_text(s),
        _ => None,
    };
    let number = parsed.ok_or_else(|| anyhow!("{value} is not a valid value"))?;
    if number.bits() > u64::try_from(bits).unwrap_or(0) {
        bail!("{value} has more than {bits} bits");
    }
    Ok(number.to_bytes_be())
}

fn of_text(s: &str) -> Option<BigUint> {
    if let Some(hex) = s.strip_prefix("0x").or_else(|| s.strip_prefix("0X")) {
        return BigUint::parse_bytes(hex.as_bytes(), 16);
    }
    if let Ok(address) = s.parse::<Ipv4Addr>() {
        return Some(BigUint::from(u32::from(address)));
    }
    let parts: Vec<&str> = s.split(':').collect();
    if parts.len() == 6 {
        let bytes = parts.iter().map(|p| u8::from_str_radix(p, 16).ok());
        return bytes
            .collect::<Option<Vec<u8>>>()
            .map(|b| BigUint::from_bytes_be(&b));
    }
    BigUint::parse_bytes(s.as_bytes(), 10)
}

fn count(entry: &Value, key: &str) -> Result<u32> {
    let value = entry
        .get(key)
        .with_context(|| format!("{key}: is missing"))?;
    let bytes = number(value, 32).with_context(|| key.to_owned())?;
    Ok(bytes.iter().fold(0, |sum, &b| sum << 8 | u32::from(b)))
}

fn replicas(entry: &Value) -> Result<Vec<Replica>> {
    let list = entry.get("replicas").and_then(Value::as_array);
    let list = list.context("replicas: is missing or not a list")?;
    list.iter()
        .enumerate()
        .map(|(i, one)| {
            let at = || format!("replicas[{i}]");
            let instance = match one.get("instance") {
                Some(_) => count(one, "instance").with_context(at)?,
                None => 0,
            };
            let port = count(one, "egress_port").with_context(at)?;
            #[allow(deprecated, reason = "ports by number are what these files have")]
            Ok(Replica {
                instance,
                port_kind: Some(tidemark_proto::p4::v1::replica::PortKind::EgressPort(port)),
                ..Replica::default()
            })
        })
        .collect()
}

fn replication(kind: engine::Type) -> Update {
    update(
        update::Type::Insert,
        entity::Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
            r#type: Some(kind),
        }),
    )
}

fn group(entry: &Value) -> Result<Update> {
    Ok(replication(engine::Type::MulticastGroupEntry(
        MulticastGroupEntry {
            multicast_group_id: count(entry, "multicast_group_id")?,
            replicas: replicas(entry)?,
            ..MulticastGroupEntry::default()
        },
    )))
}

fn session(entry: &Value) -> Result<Update> {
    let length = match entry.get("packet_length_bytes") {
        Some(_) => count(entry, "packet_length_bytes")?,
        None => 0,
    };
    Ok(replication(engine::Type::CloneSessionEntry(
        CloneSessionEntry {
            session_id: count(entry, "clone_session_id")?,
            replicas: replicas(entry)?,
            packet_length_bytes: i32::try_from(length).context("packet_length_bytes: too large")?,
            ..CloneSessionEntry::default()
        },
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> P4Info {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../p4src/build/tidemark.p4info.txtpb"
        );
        tidemark_proto::p4info::parse(&std::fs::read(file).unwrap()).unwrap()
    }

    fn error(text: &str) -> String {
        format!("{:#}", parse(text.as_bytes(), &info()).unwrap_err())
    }

    #[test]
    fn entries_by_name() {
        let text = r#"{
          "target": "bmv2",
          "table_entries": [
            { "table": "Ingress.l2_forward", "match": { "hdr.ethernet.dst_addr": "02:00:00:00:00:07" },
              "action_name": "Ingress.forward", "action_params": { "port": 3 } },
            { "table": "Ingress.watch", "match": { "ipv4_src": ["10.0.0.1", "0xffffffff"] },
              "priority": 7, "action_name": "Ingress.report", "action_params": { "sampling_shift": "2" } },
            { "table": "Egress.report_to", "default_action": true, "action_name": "Egress.none" } ],
          "multicast_group_entries": [
            { "multicast_group_id": 1, "replicas": [{ "egress_port": 1, "instance": 1 }] } ],
          "clone_session_entries": [
            { "clone_session_id": 4, "replicas": [{ "egress_port": 2 }], "packet_length_bytes": 128 } ]
        }"#;
        let updates = parse(text.as_bytes(), &info()).unwrap();
        let entries: Vec<&TableEntry> = updates
            .iter()
            .filter_map(|u| match u.entity.as_ref()?.entity.as_ref()? {
                entity::Entity::TableEntry(e) => Some(e),
                _ => None,
            })
            .collect();
        let [forward, watch, none] = entries[..] else {
            panic!("{updates:?}")
        };
        assert_eq!(
            forward.r#match[0].field_match_type,
            Some(field_match::FieldMatchType::Exact(field_match::Exact {
                value: vec![2, 0, 0, 0, 0, 7]
            }))
        );
        assert_eq!(watch.priority, 7);
        assert_eq!(
            watch.r#match[0].field_match_type,
            Some(field_match::FieldMatchType::Ternary(field_match::Ternary {
                value: vec![10, 0, 0, 1],
                mask: vec![255; 4]
            }))
        );
        assert!(none.is_default_action && none.r#match.is_empty());
        let kinds: Vec<i32> = updates.iter().map(|u| u.r#type).collect();
        assert_eq!(kinds, [1, 1, 2, 1, 1]);
    }

    #[test]
    fn errors_say_where() {
        assert!(error("{").starts_with("not JSON"));
        assert!(error("{}").contains("neither table_entries"));
        let entry = |rest: &str| error(&format!(r#"{{ "table_entries": [{{ {rest} }}] }}"#));
        assert_eq!(
            entry(r#""table": "x""#),
            "table_entries[0]: the program has no table x"
        );
        let forward = r#""table": "Ingress.l2_forward", "action_name": "Ingress.forward""#;
        assert_eq!(
            entry(&format!(r#"{forward}, "match": {{ "mac": 1 }}"#)),
            "table_entries[0]: match: the table has no key mac"
        );
        assert_eq!(
            entry(&format!(r#"{forward}, "action_params": {{ "port": 512 }}"#)),
            "table_entries[0]: action_params: port: 512 has more than 9 bits"
        );
        assert_eq!(
            entry(&format!(
                r#"{forward}, "action_params": {{ "port": "eth0" }}"#
            )),
            "table_entries[0]: action_params: port: \"eth0\" is not a valid value"
        );
        assert!(entry(&format!(r#"{forward}, "match": 3"#)).ends_with("match: not an object"));
        assert_eq!(
            error(r#"{ "clone_session_entries": [{ "clone_session_id": 1 }] }"#),
            "clone_session_entries[0]: replicas: is missing or not a list"
        );
    }
}
