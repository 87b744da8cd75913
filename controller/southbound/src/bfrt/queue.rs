// SPDX-License-Identifier: Apache-2.0
//! Reads, plans and writes the limits of the traffic manager's queues.

use super::client::{ALL_PIPES, Client, Item};
use super::config::{Queue, Threshold};
use super::entries::{Buffer, FIRST_POOL, Pool, queue_buffer, queue_key};
use super::info::{Info, Part, Value};
use crate::{Error, Limit};

/// A queue's share of the memory, and the pool in which its limit floats, if any.
pub(super) struct Share {
    buffer: Buffer,
    pool: Option<Pool>,
}

impl Share {
    pub(super) fn limit(&self, cell_bytes: u32) -> Limit {
        self.buffer.limit(self.pool.as_ref(), cell_bytes)
    }

    /// Describes the limit and its form.
    pub(super) fn in_words(&self, cell_bytes: u32) -> String {
        self.buffer.in_words(self.pool.as_ref(), cell_bytes)
    }
}

/// Reads the share that the hardware holds.
///
/// # Errors
/// [`Error::Value`] if the queue does not exist.
pub(super) async fn read(client: &Client, info: &Info, q: &Queue) -> Result<Share, Error> {
    let buffer = buffer(client, info, q).await?;
    let pool = match buffer.floats_in() {
        Some(name) => Some(pool(client, info, name).await?),
        None => None,
    };
    Ok(Share { buffer, pool })
}

/// Returns the entry to write for a limit, and the limit that results.
pub(super) async fn plan(
    client: &Client,
    info: &Info,
    q: &Queue,
    limit: Limit,
) -> Result<(Item, Limit), Error> {
    let pool = match q.threshold {
        Threshold::Static => None,
        Threshold::Dynamic => {
            let now = buffer(client, info, q).await?;
            let name = now.pool.as_deref().unwrap_or(FIRST_POOL);
            Some(pool(client, info, name).await?)
        }
    };
    queue_buffer(info, q, limit, pool.as_ref(), client.cell_bytes())
}

async fn buffer(client: &Client, info: &Info, q: &Queue) -> Result<Buffer, Error> {
    let name = format!("queue {} of group {}, pipe {}", q.pg_queue, q.pg_id, q.pipe);
    let key = queue_key(info, q)?;
    let what = format!("the buffer of {name}");
    let found = client.read(info, q.pipe, &what, key, true).await?;
    let absent = || {
        let text = format!(
            "{name}: is not there, or not of a port; pg_id and pg_queue are in tm.port.cfg of \
             the switch (pg_id, egress_qid_queues)"
        );
        Error::value("bfrt.queues", text)
    };
    Buffer::read(info, &found.ok_or_else(absent)?)
}

async fn pool(client: &Client, info: &Info, name: &str) -> Result<Pool, Error> {
    let t = info.table("tm.pool.cfg")?;
    let key = t.key_entry(&[("pool", Part::Text(name))])?;
    let what = format!("the size of {name}");
    let found = client.read(info, ALL_PIPES, &what, key, true).await?;
    let data = found.and_then(|e| e.data).unwrap_or_default();
    match t.read(&data).1.get("size_cells") {
        Some(Value::Number(cells)) => Ok(Pool {
            name: name.into(),
            cells: *cells,
        }),
        _ => Err(Error::value(
            format!("{}: size_cells", t.name),
            format!("is not reported for {name}"),
        )),
    }
}
