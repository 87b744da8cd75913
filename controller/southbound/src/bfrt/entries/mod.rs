// SPDX-License-Identifier: Apache-2.0
//! Entries to write: of the Tidemark program, and of Tofino's own tables.

mod limit;
mod queue_buffer;
mod report;

pub(super) use limit::{limit, limit_key, read_limit};
pub(super) use queue_buffer::{Buffer, FIRST_POOL, Pool, queue_buffer, queue_key};
pub(super) use report::{
    Session, mirror_sessions, mirror_table, report_port, report_to, sessions, watch,
};

use super::client::Item;
use super::info::{Fields, Info, Part, Value};
use crate::program_contract::FLOOD_GROUP;
use crate::values::mac;
use crate::{Error, Forward};
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::update::Type;

/// Creates an entry that may exist already; the client then modifies it.
fn put(what: String, table_id: u32, key: bf::TableKey, data: bf::TableData) -> Item {
    Item {
        what,
        kind: Type::Insert,
        entry: bf::TableEntry {
            table_id,
            key: Some(key),
            data: Some(data),
            ..Default::default()
        },
    }
}

/// Returns the speed in the fields of a port, e.g. `BF_SPEED_25G`, in bits/s.
pub(super) fn port_speed(fields: &Fields) -> Result<Option<u64>, Error> {
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
        _ => Err(Error::value("$SPEED", format!("\"{speed}\" is unknown"))),
    }
}

/// Creates the entry that forwards frames for an address through a port.
pub(super) fn forward(info: &Info, f: &Forward, field: &str) -> Result<Item, Error> {
    let t = info.table("l2_forward")?;
    let address = Part::Number(mac(&f.mac, &format!("{field}.mac"))?);
    let key = t.key(&[("dst_addr", address)])?;
    let data = t.action("forward", &[("port", Value::Number(u64::from(f.port)))])?;
    let what = format!("{}[{}] = port {}", t.name, f.mac, f.port);
    Ok(put(what, t.id, key, data))
}

/// Creates the group of flooded frames: a node with all ports, and a group that names it. The node
/// goes first because a group can only name existing nodes.
pub(super) fn flood_group(info: &Info, ports: &[u32]) -> Result<Vec<Item>, Error> {
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
            node.key(&[("$MULTICAST_NODE_ID", Part::Number(id))])?,
            copies,
        ),
        put(
            format!("{}[{id}] = node {id}", group.name),
            group.id,
            group.key(&[("$MGID", Part::Number(id))])?,
            nodes,
        ),
    ])
}
