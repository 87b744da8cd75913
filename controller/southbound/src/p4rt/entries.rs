// SPDX-License-Identifier: Apache-2.0
//! The entries of the Tidemark program, each with a description for error messages.

use super::program::{Program, Table};
use crate::program_contract::{
    FLOOD_GROUP, QUEUE_TABLE, WATCH_TABLES, destination, limit_arguments, limit_of, watched_ends,
};
use crate::values::{mac, number};
use crate::{Error, Forward, Limit, Queues, ReportDestination, Watch};
use tidemark_proto::p4::v1 as p4;

/// The clone session that carries reports (contract with the P4 program).
pub(super) const REPORT_CLONE_SESSION: u32 = 1;

/// An entity to write, with its description for error messages.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// Description for error messages.
    pub what: String,
    /// The entity on the wire.
    pub entity: p4::Entity,
    /// Whether the entity is a default entry, which can be modified but not inserted.
    pub modify_only: bool,
}

fn table_item(what: String, entry: p4::TableEntry) -> Item {
    Item {
        what,
        modify_only: entry.is_default_action,
        entity: p4::Entity {
            entity: Some(p4::entity::Entity::TableEntry(entry)),
        },
    }
}

fn entry(table: &Table<'_>, key: Vec<p4::FieldMatch>, action: p4::TableAction) -> p4::TableEntry {
    p4::TableEntry {
        table_id: table.id(),
        r#match: key,
        action: Some(action),
        ..Default::default()
    }
}

/// Creates the read request for all entries of a table, or for its default entry.
pub(super) fn entries_of(table: &Table<'_>, is_default_action: bool) -> p4::Entity {
    p4::Entity {
        entity: Some(p4::entity::Entity::TableEntry(p4::TableEntry {
            table_id: table.id(),
            is_default_action,
            ..Default::default()
        })),
    }
}

/// Creates the entry that forwards frames for an address through a port.
pub(super) fn forward(program: &Program, f: &Forward, field: &str) -> Result<Item, Error> {
    let t = program.table("l2_forward")?;
    let address = mac(&f.mac, &format!("{field}.mac"))?;
    let key = vec![t.exact("dst_addr", address)?];
    let action = t.call("forward", &[("port", u64::from(f.port))])?;
    let what = format!("{}[{}] = port {}", t.name(), f.mac, f.port);
    Ok(table_item(what, entry(&t, key, action)))
}

/// Returns the table that holds the limit of a queue of an egress port, and its key.
fn limit_place(
    program: &Program,
    (port, queue): (u32, u32),
) -> Result<(Table<'_>, Vec<p4::FieldMatch>), Error> {
    if queue == 0 {
        let t = program.table("queue_limit")?;
        let key = vec![t.exact("egress_port", u64::from(port))?];
        return Ok((t, key));
    }
    // Programs of earlier releases have one queue per port.
    let t = program.table("priority_queue_limit");
    let t = t.map_err(|_| Error::QueueLimit { port, queue })?;
    let key = vec![
        t.exact("egress_port", u64::from(port))?,
        t.exact("queue", u64::from(queue))?,
    ];
    Ok((t, key))
}

/// Creates the entry of a queue's limit; `unit` = bytes per unit of the target.
pub(super) fn limit(
    program: &Program,
    (port, queue): (u32, u32),
    limit: Limit,
    unit: u32,
) -> Result<Item, Error> {
    let (t, key) = limit_place(program, (port, queue))?;
    let args = limit_arguments(limit, unit, t.parameters(limit.action())?)?;
    let action = t.call(limit.action(), &args)?;
    let of_queue = match queue {
        0 => String::new(),
        _ => format!(", queue {queue}"),
    };
    let what = format!("{}[port {port}{of_queue}] = {limit}", t.name());
    Ok(table_item(what, entry(&t, key, action)))
}

/// Creates an entry with only the key, to read the limit of a queue.
pub(super) fn limit_key(program: &Program, queue: (u32, u32)) -> Result<p4::Entity, Error> {
    let (t, key) = limit_place(program, queue)?;
    Ok(p4::Entity {
        entity: Some(p4::entity::Entity::TableEntry(p4::TableEntry {
            table_id: t.id(),
            r#match: key,
            ..Default::default()
        })),
    })
}

/// Creates the entries of the number of queues and of the traffic for queues above 0.
pub(super) fn queue_items(program: &Program, queues: &Queues) -> Result<Vec<Item>, Error> {
    let t = program.table("queue_count")?;
    let action = t.call("set_queue_count", &[("count", u64::from(queues.count))])?;
    let mut count = entry(&t, Vec::new(), action);
    count.is_default_action = true;
    let what = format!("{} = {}", t.name(), queues.count);
    let mut items = vec![table_item(what, count)];
    let t = program.table(QUEUE_TABLE)?;
    for (i, u) in queues.uses.iter().enumerate() {
        let keys = [
            ("egress_port", u.egress_port),
            ("dscp", u.dscp.map(u32::from)),
        ];
        let mut key = Vec::new();
        for (name, value) in keys {
            if let Some(value) = value {
                key.push(t.ternary(name, u64::from(value))?);
            }
        }
        let action = t.call("take_queue", &[("queue", u64::from(u.queue))])?;
        let mut e = entry(&t, key, action);
        e.priority = default_priority(i, queues.uses.len());
        items.push(table_item(format!("{}[use[{i}]]", t.name()), e));
    }
    Ok(items)
}

/// Returns the limit of a table entry of `queue_limit`.
pub(super) fn read_limit(program: &Program, e: &p4::TableEntry, unit: u32) -> Result<Limit, Error> {
    let t = program.table_by_id(e.table_id)?;
    let Some(p4::table_action::Type::Action(a)) = e.action.as_ref().and_then(|a| a.r#type.as_ref())
    else {
        return Err(Error::value("queue_limit", "the entry has no action"));
    };
    let mut arguments = Vec::with_capacity(a.params.len());
    for p in &a.params {
        let units = number(&p.value).map_err(|m| Error::value("queue_limit", m))?;
        arguments.push((t.parameter_name(a.action_id, p.param_id), units));
    }
    limit_of(t.action_name(a.action_id), &arguments, unit)
}

/// Creates the entries of traffic to report (or not), in the table of its address family, or in
/// both if it names no address. `priority` is used if the watch has none.
pub(super) fn watch(
    program: &Program,
    w: &Watch,
    priority: i32,
    field: &str,
) -> Result<Vec<Item>, Error> {
    let ends = watched_ends(w, field)?;
    let mut items = Vec::new();
    for (table, ipv6) in WATCH_TABLES.into_iter().zip([false, true]) {
        let t = match (ends.first(), program.table(table)) {
            (Some((_, end)), _) if end.network().is_ipv6() != ipv6 => continue,
            // The program does not support IPv6.
            (None, Err(_)) if ipv6 => continue,
            (_, t) => t?,
        };
        let mut key = Vec::new();
        for (name, prefix) in &ends {
            if prefix.prefix_len() > 0 {
                let version = if ipv6 { 6 } else { 4 };
                key.push(t.address(&format!("ipv{version}_{name}"), *prefix)?);
            }
        }
        items.push(watch_item(&t, w, key, priority, field)?);
    }
    Ok(items)
}

fn watch_item(
    t: &Table<'_>,
    w: &Watch,
    mut key: Vec<p4::FieldMatch>,
    priority: i32,
    field: &str,
) -> Result<Item, Error> {
    for (name, value) in w.numbers() {
        if let Some(value) = value {
            key.push(t.ternary(name, value)?);
        }
    }
    let priority = w.priority.unwrap_or(priority);
    if priority <= 0 {
        return Err(Error::value(
            format!("{field}.priority"),
            format!("{priority} must be above 0"),
        ));
    }
    let action = if w.report {
        t.call("report", &[("sampling_shift", u64::from(w.sampling_shift))])?
    } else {
        t.call("ignore", &[])?
    };
    let mut e = entry(t, key, action);
    e.priority = priority;
    Ok(table_item(format!("{}[{field}]", t.name()), e))
}

/// Returns the identity of an entry: table, match fields (in order of their ids) and priority.
pub(super) fn key_of(entity: &p4::Entity) -> Option<(u32, Vec<p4::FieldMatch>, i32)> {
    let Some(p4::entity::Entity::TableEntry(e)) = &entity.entity else {
        return None;
    };
    let mut fields = e.r#match.clone();
    fields.sort_by_key(|f| f.field_id);
    Some((e.table_id, fields, e.priority))
}

fn default_priority(index: usize, count: usize) -> i32 {
    // Earlier entries take precedence, as do larger numbers.
    i32::try_from(count - index).unwrap_or(i32::MAX)
}

/// Creates the watch entries of a plan; without priorities, earlier ones take precedence.
pub(super) fn watch_items(program: &Program, watches: &[Watch]) -> Result<Vec<Item>, Error> {
    let n = watches.len();
    let mut items = Vec::new();
    for (i, w) in watches.iter().enumerate() {
        let field = format!("watch[{i}]");
        items.extend(watch(program, w, default_priority(i, n), &field)?);
    }
    Ok(items)
}

/// Creates the entry that turns the reports of an egress port on or off.
pub(super) fn report_port(program: &Program, port: u32, on: bool) -> Result<Item, Error> {
    let t = program.table("report_port")?;
    let name = if on { "report_on" } else { "report_off" };
    let key = vec![t.exact("egress_port", u64::from(port))?];
    let what = format!("{}[port {port}] = {name}", t.name());
    Ok(table_item(what, entry(&t, key, t.call(name, &[])?)))
}

/// Creates the default entry of the keyless table with the addresses of the reports.
pub(super) fn report_to(program: &Program, d: &ReportDestination) -> Result<Item, Error> {
    let t = program.table("report_to")?;
    let args = destination(d)?;
    let mut e = entry(&t, Vec::new(), t.call("set_destination", &args)?);
    e.is_default_action = true;
    Ok(table_item(
        format!("{} = {}:{}", t.name(), d.dst_ip, d.udp_port),
        e,
    ))
}

fn replicas(ports: &[u32]) -> Vec<p4::Replica> {
    ports
        .iter()
        .map(|&port| p4::Replica {
            // Servers older than the byte-string form only know this one.
            port_kind: Some(p4::replica::PortKind::EgressPort(port)),
            instance: 1,
            ..Default::default()
        })
        .collect()
}

fn pre_item(what: String, kind: p4::packet_replication_engine_entry::Type) -> Item {
    Item {
        what,
        modify_only: false,
        entity: pre_entity(kind),
    }
}

fn pre_entity(kind: p4::packet_replication_engine_entry::Type) -> p4::Entity {
    p4::Entity {
        entity: Some(p4::entity::Entity::PacketReplicationEngineEntry(
            p4::PacketReplicationEngineEntry { r#type: Some(kind) },
        )),
    }
}

/// Creates the clone session of the reports. Its length stays 0: BMv2 refuses other values, and the
/// program truncates the clone itself.
pub(super) fn clone_session(port: u32) -> Item {
    pre_item(
        format!("clone session {REPORT_CLONE_SESSION} = port {port}"),
        p4::packet_replication_engine_entry::Type::CloneSessionEntry(p4::CloneSessionEntry {
            session_id: REPORT_CLONE_SESSION,
            replicas: replicas(&[port]),
            ..Default::default()
        }),
    )
}

/// Creates the read request for all clone sessions: some servers fail if asked for an absent one.
pub(super) fn clone_sessions() -> p4::Entity {
    let all = p4::CloneSessionEntry::default();
    pre_entity(p4::packet_replication_engine_entry::Type::CloneSessionEntry(all))
}

/// Creates the multicast group of flooded frames.
pub(super) fn flood_group(ports: &[u32]) -> Item {
    pre_item(
        format!("multicast group {FLOOD_GROUP} = ports {ports:?}"),
        p4::packet_replication_engine_entry::Type::MulticastGroupEntry(p4::MulticastGroupEntry {
            multicast_group_id: FLOOD_GROUP,
            replicas: replicas(ports),
            ..Default::default()
        }),
    )
}
