// SPDX-License-Identifier: Apache-2.0
//! Queue limits: entries of the program, and static limits of the traffic
//! manager's queues.

use super::put;
use crate::bfrt::client::Item;
use crate::bfrt::config::Queue;
use crate::bfrt::info::{Fields, Info, Value};
use crate::program_contract::{limit_arguments, limit_of};
use crate::{Error, Limit};
use tidemark_proto::bfrt_proto as bf;
use tidemark_proto::bfrt_proto::update::Type;

/// The limit of an egress port, as an entry of the program.
pub(crate) fn limit(info: &Info, port: u32, limit: Limit, cell_bytes: u32) -> Result<Item, Error> {
    let t = info.table("queue_limit")?;
    let key = t.key(&[("egress_port", u64::from(port), None)])?;
    let args = limit_arguments(limit, cell_bytes, t.parameters(limit.action())?)?;
    let args: Vec<_> = args
        .into_iter()
        .map(|(name, cells)| (name, Value::Number(cells)))
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
pub(crate) fn limit_key(info: &Info, port: u32) -> Result<bf::TableEntry, Error> {
    let t = info.table("queue_limit")?;
    t.key_entry(&[("egress_port", u64::from(port))])
}

/// What an entry of `queue_limit` says.
pub(crate) fn read_limit(
    info: &Info,
    entry: &bf::TableEntry,
    cell_bytes: u32,
) -> Result<Limit, Error> {
    let t = info.table("queue_limit")?;
    let data = entry.data.clone().unwrap_or_default();
    let (action, fields) = t.read(&data);
    let number = |(name, value)| match value {
        &Value::Number(cells) => Some((name, cells)),
        _ => None,
    };
    let fields = fields.iter().map(|(name, value)| (name.as_str(), value));
    let arguments: Vec<_> = fields.filter_map(number).collect();
    limit_of(action, &arguments, cell_bytes)
}

/// A queue's share of the traffic manager's memory as a static limit: so many
/// guaranteed cells, nothing shared, and tail drop beyond.
pub(crate) fn queue_buffer(
    info: &Info,
    q: &Queue,
    limit: Limit,
    cell_bytes: u32,
) -> Result<Item, Error> {
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
    Ok(Item {
        what,
        kind: Type::Modify,
        entry: bf::TableEntry {
            data: Some(data?),
            ..queue_buffer_key(info, q)?
        },
    })
}

/// The key alone, for reading.
pub(crate) fn queue_buffer_key(info: &Info, q: &Queue) -> Result<bf::TableEntry, Error> {
    info.table("tm.queue.buffer")?.key_entry(&[
        ("pg_id", u64::from(q.pg_id)),
        ("pg_queue", u64::from(q.pg_queue)),
    ])
}

/// What an entry of `tm.queue.buffer` says, when it is a static limit.
pub(crate) fn read_queue_buffer(
    info: &Info,
    entry: &bf::TableEntry,
    cell_bytes: u32,
) -> Result<Limit, Error> {
    let t = info.table("tm.queue.buffer")?;
    let (_, fields) = t.read(&entry.data.clone().unwrap_or_default());
    if fields.get("tail_drop_enable") == Some(&Value::Flag(false)) {
        return Ok(Limit::Unlimited);
    }
    if let Some(Value::Text(baf)) = fields.get("dynamic_baf")
        && baf != "DISABLE"
    {
        return Err(Error::value(
            "tm.queue.buffer",
            format!("the queue's limit floats (dynamic_baf {baf}): set a static one first"),
        ));
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
