// SPDX-License-Identifier: Apache-2.0
//! The traffic manager: its own limits, and what it dropped.

use super::{Device, unread};
use crate::bfrt::client::ALL_PIPES;
use crate::bfrt::config::Queue;
use crate::bfrt::entries;
use crate::bfrt::info::Value;
use crate::{Expected, Inspection, Limit};
use daemon_kit::doctor::Finding;
use std::collections::BTreeMap;

/// Counters of the measured ports, and the limits of the queues that are configured.
pub(super) async fn look(
    device: &Device<'_>,
    queues: &BTreeMap<(u32, u32), Queue>,
    expected: &Expected<'_>,
    found: &mut Inspection,
) {
    for ((port, _), queue) in queues {
        found.findings.push(limit(device, *port, queue).await);
    }
    let ports = expected.capacities_bps.iter().map(|(port, _)| *port);
    for port in ports {
        match drops_pkts(device, port).await {
            Ok(Some(drops)) => {
                found.hardware_drops_pkts.insert(port, drops);
            }
            Ok(None) => {}
            Err(e) => found
                .findings
                .push(unread(format!("drop counter of port {port}"), &e)),
        }
    }
}

/// Packets that the traffic manager dropped on their way to a port, since its counter
/// was cleared; `None` where the device tells none.
async fn drops_pkts(device: &Device<'_>, port: u32) -> Result<Option<u64>, crate::Error> {
    let table = device.info.table("tm.counter.eg_port")?;
    let key = [("dev_port", u64::from(port))];
    let fields = device.fields(table, &key, ALL_PIPES, true).await?;
    Ok(fields.and_then(|f| match f.get("drop_count_packets") {
        Some(Value::Number(n)) => Some(*n),
        _ => None,
    }))
}

/// A queue whose limit the traffic manager holds.
async fn limit(device: &Device<'_>, port: u32, queue: &Queue) -> Finding {
    let check = format!(
        "queue {} of group {} in pipe {} (port {port})",
        queue.pg_queue, queue.pg_id, queue.pipe
    );
    let cells = device.client.server().switch.limit_unit_bytes;
    let key = match entries::queue_buffer_key(device.info, queue) {
        Ok(k) => k,
        Err(e) => return unread(check, &e),
    };
    let what = format!("the limit of port {port}");
    match device.client.read(queue.pipe, &what, key, true).await {
        Err(e) => unread(check, &e),
        Ok(None) => Finding::problem(
            check,
            "is not there",
            "bfrt.queues of the switch: pg_id and pg_queue by tm.port.cfg",
        ),
        Ok(Some(entry)) => match entries::read_queue_buffer(device.info, &entry, cells) {
            Ok(Limit::Unlimited) => Finding::warning(
                check,
                "has no limit of its own",
                "set one: `tidemark-controller provision`, or the first change",
            ),
            Ok(limit) => Finding::ok(check, limit.to_string()),
            Err(e) => unread(check, &e),
        },
    }
}
