// SPDX-License-Identifier: Apache-2.0
//! Queue limits as entries of the program.

use super::put;
use crate::bfrt::client::Item;
use crate::bfrt::info::{Info, Part, Value};
use crate::program_contract::{limit_arguments, limit_of};
use crate::{Error, Limit};
use tidemark_proto::bfrt_proto as bf;

/// Creates the program's entry for the limit of an egress port.
pub(crate) fn limit(info: &Info, port: u32, limit: Limit, cell_bytes: u32) -> Result<Item, Error> {
    let t = info.table("queue_limit")?;
    let key = t.key(&[("egress_port", Part::Number(port.into()))])?;
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

/// Creates an entry with only the key, to read the limit of a port.
pub(crate) fn limit_key(info: &Info, port: u32) -> Result<bf::TableEntry, Error> {
    let t = info.table("queue_limit")?;
    t.key_entry(&[("egress_port", Part::Number(port.into()))])
}

/// Returns the limit of an entry of `queue_limit`.
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
