// SPDX-License-Identifier: Apache-2.0
//! Checks the traffic manager: its limits and its drop counters.

use super::{Device, unread};
use crate::bfrt::client::ALL_PIPES;
use crate::bfrt::config::Queue;
use crate::bfrt::info::Value;
use crate::bfrt::queue;
use crate::{Expected, Inspection, Limit};
use daemon_kit::doctor::Finding;
use std::collections::BTreeMap;

/// Reads the drop counters of the measured ports and checks the limits of the configured queues.
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

/// Returns the number of packets that the traffic manager dropped for a port since its counter was
/// cleared; `None` if the device has no such counter.
async fn drops_pkts(device: &Device<'_>, port: u32) -> Result<Option<u64>, crate::Error> {
    let table = device.info.table("tm.counter.eg_port")?;
    let key = [("dev_port", u64::from(port))];
    let fields = device.fields(table, &key, ALL_PIPES, true).await?;
    Ok(fields.and_then(|f| match f.get("drop_count_packets") {
        Some(Value::Number(n)) => Some(*n),
        _ => None,
    }))
}

/// Checks a queue whose limit the traffic manager holds.
async fn limit(device: &Device<'_>, port: u32, queue: &Queue) -> Finding {
    let check = format!(
        "queue {} of group {} in pipe {} (port {port})",
        queue.pg_queue, queue.pg_id, queue.pipe
    );
    let cells = device.client.cell_bytes();
    match queue::read(device.client, device.info, queue).await {
        Err(e) => unread(check, &e),
        Ok(share) if share.limit(cells) == Limit::Unlimited => Finding::warning(
            check,
            "has no limit of its own (tail_drop_enable is off)",
            "set one: `tidemark-controller provision`, or the first change",
        ),
        Ok(share) => Finding::ok(check, share.in_words(cells)),
    }
}
