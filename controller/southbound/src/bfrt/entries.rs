// SPDX-License-Identifier: Apache-2.0
//! What is written: entries of the Tidemark program, and of Tofino's own tables.

use super::client::Item;
use super::info::{Fields, Info, Value};
use crate::driver::{FLOOD_GROUP, destination};
use crate::p4rt::values::{mac, prefix};
use crate::{Error, Forward, Limit, ReportDestination, Watch};
use serde::{Deserialize, Serialize};
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::update::Type;

/// A session of the program: what of a packet goes into a report differs by its
/// headers, and a session is what cuts.
struct Session {
    id: u64,
    header_bytes: u64,
}

/// Mirrored in front of the headers (contract with the P4 program).
const MIRROR_HEADER_BYTES: u64 = 30;
const ETHERNET: u64 = 14;
const VLAN: u64 = 4;
const IPV4: u64 = 20;
const IPV6: u64 = 40;
const UDP: u64 = 8;
const TCP: u64 = 20;

/// Sessions 1 to 12: without and with VLAN; IPv4, IPv6; nothing, UDP, TCP.
fn sessions() -> Vec<Session> {
    let mut all = Vec::new();
    for vlan in [0, VLAN] {
        for ip in [IPV4, IPV6] {
            for transport in [0, UDP, TCP] {
                all.push(Session {
                    id: all.len() as u64 + 1,
                    header_bytes: ETHERNET + vlan + ip + transport,
                });
            }
        }
    }
    all
}

/// A queue of the traffic manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Pipe of the port.
    pub pipe: u32,
    /// Port group within the pipe.
    pub pg_id: u32,
    /// Queue within the port group.
    pub pg_queue: u32,
}

fn put(what: String, table_id: u32, key: bf::TableKey, data: bf::TableData) -> Item {
    Item {
        what,
        kind: Type::InsertOrModify,
        entry: bf::TableEntry {
            table_id,
            key: Some(key),
            data: Some(data),
            ..Default::default()
        },
    }
}

/// The limit of an egress port, as an entry of the program.
pub fn limit(info: &Info, port: u32, limit: Limit, cell_bytes: u32) -> Result<Item, Error> {
    let t = info.table("queue_limit")?;
    let key = t.key(&[("egress_port", u64::from(port), None)])?;
    let cells = limit.bytes().map(|b| b / u64::from(cell_bytes.max(1)));
    let args: Vec<_> = cells
        .map(|c| ("limit_cells", Value::Number(c)))
        .into_iter()
        .collect();
    let data = t.action(limit.action(), &args)?;
    Ok(put(
        format!("{}[port {port}] = {limit}", t.name),
        t.id,
        key,
        data,
    ))
}

/// The key alone, for reading the limit of a port.
pub fn limit_key(info: &Info, port: u32) -> Result<bf::TableEntry, Error> {
    let t = info.table("queue_limit")?;
    Ok(bf::TableEntry {
        table_id: t.id,
        key: Some(t.key(&[("egress_port", u64::from(port), None)])?),
        ..Default::default()
    })
}

/// What an entry of `queue_limit` says.
pub fn read_limit(info: &Info, entry: &bf::TableEntry, cell_bytes: u32) -> Result<Limit, Error> {
    let t = info.table("queue_limit")?;
    let data = entry.data.clone().unwrap_or_default();
    let (action, fields) = t.read(&data);
    let cells = fields.values().find_map(|v| match v {
        Value::Number(n) => Some(*n),
        _ => None,
    });
    let limit_bytes = cells
        .unwrap_or(0)
        .saturating_mul(u64::from(cell_bytes.max(1)));
    match action {
        Some("drop_tail") => Ok(Limit::DropTail { limit_bytes }),
        Some("mark_ce") => Ok(Limit::MarkCe { limit_bytes }),
        Some("unlimited") => Ok(Limit::Unlimited),
        other => Err(Error::value(
            "queue_limit",
            format!("unknown action {other:?} (id {})", data.action_id),
        )),
    }
}

fn queue_key(info: &Info, q: &Queue) -> Result<(u32, bf::TableKey), Error> {
    let t = info.table("tm.queue.buffer")?;
    let key = t.key(&[
        ("pg_id", u64::from(q.pg_id), None),
        ("pg_queue", u64::from(q.pg_queue), None),
    ])?;
    Ok((t.id, key))
}

/// A queue's share of the traffic manager's memory as a static limit: so many
/// guaranteed cells, nothing shared, and tail drop beyond.
pub fn queue_buffer(info: &Info, q: &Queue, limit: Limit, cell_bytes: u32) -> Result<Item, Error> {
    let t = info.table("tm.queue.buffer")?;
    let Limit::DropTail { limit_bytes } = limit else {
        return Err(Error::value(
            "limit",
            format!(
                "the traffic manager knows drop_tail only, not {}",
                limit.action()
            ),
        ));
    };
    let cells = limit_bytes / u64::from(cell_bytes.max(1));
    let data = t.action(
        "shared_pool",
        &[
            ("guaranteed_cells", Value::Number(cells)),
            ("pool_id", Value::Text("EG_APP_POOL_0".into())),
            ("pool_max_cells", Value::Number(0)),
            ("dynamic_baf", Value::Text("DISABLE".into())),
            ("tail_drop_enable", Value::Flag(true)),
        ],
    );
    let what = format!("{}[pg {} queue {}] = {limit}", t.name, q.pg_id, q.pg_queue);
    // The device's fixed entries exist: they can only be modified.
    let (table_id, key) = queue_key(info, q)?;
    Ok(Item {
        kind: Type::Modify,
        ..put(what, table_id, key, data?)
    })
}

/// The key alone, for reading.
pub fn queue_buffer_key(info: &Info, q: &Queue) -> Result<bf::TableEntry, Error> {
    let (table_id, key) = queue_key(info, q)?;
    Ok(bf::TableEntry {
        table_id,
        key: Some(key),
        ..Default::default()
    })
}

/// What an entry of `tm.queue.buffer` says, when it is a static limit.
pub fn read_queue_buffer(
    info: &Info,
    entry: &bf::TableEntry,
    cell_bytes: u32,
) -> Result<Limit, Error> {
    let t = info.table("tm.queue.buffer")?;
    let (_, fields) = t.read(&entry.data.clone().unwrap_or_default());
    if fields.get("tail_drop_enable") == Some(&Value::Flag(false)) {
        return Ok(Limit::Unlimited);
    }
    if let Some(Value::Text(baf)) = fields.get("dynamic_baf") {
        if baf != "DISABLE" {
            return Err(Error::value(
                "tm.queue.buffer",
                format!("the queue's limit floats (dynamic_baf {baf}): set a static one first"),
            ));
        }
    }
    let cells = |f: &Fields, name: &str| match f.get(name) {
        Some(Value::Number(n)) => *n,
        _ => 0,
    };
    let all = cells(&fields, "guaranteed_cells") + cells(&fields, "pool_max_cells");
    Ok(Limit::DropTail {
        limit_bytes: all.saturating_mul(u64::from(cell_bytes.max(1))),
    })
}

/// The key of a port, for reading its speed.
pub fn port_key(info: &Info, port: u32) -> Result<bf::TableEntry, Error> {
    let t = info.table("$PORT")?;
    Ok(bf::TableEntry {
        table_id: t.id,
        key: Some(t.key(&[("$DEV_PORT", u64::from(port), None)])?),
        ..Default::default()
    })
}

/// Speed of a port, bits/s: `BF_SPEED_25G`.
pub fn read_port_speed(info: &Info, entry: &bf::TableEntry) -> Result<Option<u64>, Error> {
    let t = info.table("$PORT")?;
    let (_, fields) = t.read(&entry.data.clone().unwrap_or_default());
    let Some(Value::Text(speed)) = fields.get("$SPEED") else {
        return Ok(None);
    };
    let digits: String = speed
        .trim_start_matches("BF_SPEED_")
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let gigabits: Option<u64> = digits.parse().ok();
    match gigabits {
        Some(g) if speed.starts_with("BF_SPEED_") => Ok(Some(g.saturating_mul(1_000_000_000))),
        _ => Err(Error::value("$SPEED", format!("\"{speed}\" is no speed"))),
    }
}

/// Frames to an address leave by a port.
pub fn forward(info: &Info, f: &Forward, field: &str) -> Result<Item, Error> {
    let t = info.table("l2_forward")?;
    let key = t.key(&[("dst_addr", mac(&f.mac, &format!("{field}.mac"))?, None)])?;
    let data = t.action("forward", &[("port", Value::Number(u64::from(f.port)))])?;
    let what = format!("{}[{}] = port {}", t.name, f.mac, f.port);
    Ok(put(what, t.id, key, data))
}

/// Traffic to report (or not). BFRT's smaller priority wins, the plan's larger.
pub fn watch(info: &Info, w: &Watch, place: u64, field: &str) -> Result<Item, Error> {
    let t = info.table("watch")?;
    let mut key = Vec::new();
    for (name, text) in [("ipv4_src", &w.src), ("ipv4_dst", &w.dst)] {
        if let Some(text) = text {
            let (value, mask) = prefix(text, &format!("{field}.{}", &name[5..]))?;
            key.push((name, value, Some(mask)));
        }
    }
    let numbers = [
        ("protocol", w.protocol.map(u64::from)),
        ("src_port", w.src_port.map(u64::from)),
        ("dst_port", w.dst_port.map(u64::from)),
        ("ingress_port", w.ingress_port.map(u64::from)),
        ("egress_port", w.egress_port.map(u64::from)),
    ];
    key.extend(
        numbers
            .iter()
            .filter_map(|(n, v)| v.map(|value| (*n, value, None))),
    );
    if t.has_priority() {
        let priority = match w.priority {
            Some(p) if p > 0 => u64::from(u32::MAX >> 8) - p as u64,
            Some(p) => {
                return Err(Error::value(
                    format!("{field}.priority"),
                    format!("{p} must be above 0"),
                ));
            }
            None => place,
        };
        key.push(("$MATCH_PRIORITY", priority, None));
    }
    let data = if w.report {
        let shift = Value::Number(u64::from(w.sampling_shift));
        t.action("report", &[("sampling_shift", shift)])?
    } else {
        t.action("ignore", &[])?
    };
    Ok(put(
        format!("{}[{field}]", t.name),
        t.id,
        t.key(&key)?,
        data,
    ))
}

/// Turns the reports of an egress port on or off.
pub fn report_port(info: &Info, port: u32, on: bool) -> Result<Item, Error> {
    let t = info.table("report_port")?;
    let name = if on { "report_on" } else { "report_off" };
    let key = t.key(&[("egress_port", u64::from(port), None)])?;
    let what = format!("{}[port {port}] = {name}", t.name);
    Ok(put(what, t.id, key, t.action(name, &[])?))
}

/// Addresses of the reports, as the default entry of the keyless table.
pub fn report_to(info: &Info, d: &ReportDestination) -> Result<Item, Error> {
    let t = info.table("report_to")?;
    let args = destination(d)?.map(|(name, value)| (name, Value::Number(value)));
    Ok(Item {
        what: format!("{} = {}:{}", t.name, d.dst_ip, d.udp_port),
        kind: Type::Modify,
        entry: bf::TableEntry {
            table_id: t.id,
            data: Some(t.action("set_destination", &args)?),
            is_default_entry: true,
            ..Default::default()
        },
    })
}

/// The mirror sessions that carry reports to a port.
pub fn mirror_sessions(info: &Info, port: u32) -> Result<Vec<Item>, Error> {
    let t = info
        .table("mirror.cfg")
        .or_else(|_| info.table("$mirror.cfg"))?;
    let items = sessions().into_iter().map(|s| {
        let key = t.key(&[("$sid", s.id, None)])?;
        let length = MIRROR_HEADER_BYTES + s.header_bytes;
        let data = t.action(
            "$normal",
            &[
                ("$session_enable", Value::Flag(true)),
                ("$direction", Value::Text("EGRESS".into())),
                ("$ucast_egress_port", Value::Number(u64::from(port))),
                ("$ucast_egress_port_valid", Value::Flag(true)),
                ("$max_pkt_len", Value::Number(length)),
            ],
        )?;
        let what = format!("{}[session {}] = port {port}", t.name, s.id);
        Ok(put(what, t.id, key, data))
    });
    items.collect()
}

/// The group of flooded frames: one node with all ports, which the group names.
/// The node goes first: a group can only name what is there.
pub fn flood_group(info: &Info, ports: &[u32]) -> Result<Vec<Item>, Error> {
    let node = info
        .table("$pre.node")
        .or_else(|_| info.table("pre.node"))?;
    let group = info
        .table("$pre.mgid")
        .or_else(|_| info.table("pre.mgid"))?;
    let id = u64::from(FLOOD_GROUP);
    let copies = node.data(&[
        ("$MULTICAST_RID", Value::Number(0)),
        ("$MULTICAST_LAG_ID", Value::Numbers(Vec::new())),
        ("$DEV_PORT", Value::Numbers(ports.to_vec())),
    ])?;
    let nodes = group.data(&[
        ("$MULTICAST_NODE_ID", Value::Numbers(vec![FLOOD_GROUP])),
        ("$MULTICAST_NODE_L1_XID_VALID", Value::Flags(vec![false])),
        ("$MULTICAST_NODE_L1_XID", Value::Numbers(vec![0])),
    ])?;
    Ok(vec![
        put(
            format!("{}[{id}] = ports {ports:?}", node.name),
            node.id,
            node.key(&[("$MULTICAST_NODE_ID", id, None)])?,
            copies,
        ),
        put(
            format!("{}[{id}] = node {id}", group.name),
            group.id,
            group.key(&[("$MGID", id, None)])?,
            nodes,
        ),
    ])
}
