// SPDX-License-Identifier: Apache-2.0
//! Checks the shaper of a port that is faster than its link. A rate (`sched_shaping`) has no effect
//! until `max_rate_enable` (`sched_cfg`) is set, for the port or for its queue.

use super::{ALL_PIPES, CHECKLIST, Device, unread};
use crate::Error;
use crate::bfrt::info::{Fields, Value};
use daemon_kit::doctor::Finding;

/// Shift of a dev_port to its pipe: the lower 7 bits are the number within the pipe.
const PIPE_SHIFT: u32 = 7;
/// Largest relative deviation of a shaper's rate from the capacity: the chip rounds rates.
const ROUNDING: f64 = 0.02;

/// Checks that a shaper slows the port down to its configured capacity (bits/s).
pub(super) async fn look(device: &Device<'_>, port: u32, capacity_bps: u64) -> Finding {
    let check = format!("shaper of port {port}");
    match rates(device, port).await {
        Ok(rates) => judge(check, &rates, capacity_bps),
        Err(e) => unread(check, &e),
    }
}

/// A configured rate of the port or of its queue 0.
struct Rate {
    of: &'static str,
    enabled: bool,
    /// Bits per second; `None` if the rate counts packets.
    bps: Option<u64>,
}

async fn rates(device: &Device<'_>, port: u32) -> Result<Vec<Rate>, Error> {
    let key = [("dev_port", u64::from(port))];
    let of_port = rate(device, "port", "the port", &key, ALL_PIPES).await?;
    let mut all: Vec<Rate> = of_port.into_iter().collect();
    let table = device.info.table("tm.port.cfg")?;
    let fields = device.entry(table, &key).await?.unwrap_or_default();
    let group = fields.get("pg_id");
    let queues = fields.get("egress_qid_queues");
    if let (Some(Value::Number(group)), Some(Value::Numbers(queues))) = (group, queues)
        && let Some(queue) = queues.first()
    {
        let key = [("pg_id", *group), ("pg_queue", u64::from(*queue))];
        all.extend(rate(device, "queue", "its queue 0", &key, port >> PIPE_SHIFT).await?);
    }
    Ok(all)
}

async fn rate(
    device: &Device<'_>,
    level: &str,
    of: &'static str,
    key: &[(&str, u64)],
    pipe: u32,
) -> Result<Option<Rate>, Error> {
    let of_table = async |name: &str| -> Result<Option<Fields>, Error> {
        let table = device.info.table(&format!("tm.{level}.{name}"))?;
        device.fields(table, key, pipe, false).await
    };
    let Some(scheduling) = of_table("sched_cfg").await? else {
        return Ok(None);
    };
    let shaping = of_table("sched_shaping").await?.unwrap_or_default();
    let in_bits = shaping.get("unit") == Some(&Value::Text("BPS".into()));
    let bps = match shaping.get("max_rate") {
        Some(Value::Number(kbps)) if in_bits => kbps.checked_mul(1000),
        _ => None,
    };
    Ok(Some(Rate {
        of,
        enabled: scheduling.get("max_rate_enable") == Some(&Value::Flag(true)),
        bps,
    }))
}

fn judge(check: String, rates: &[Rate], capacity_bps: u64) -> Finding {
    let near =
        |bps: u64| (bps as f64 - capacity_bps as f64).abs() <= ROUNDING * capacity_bps as f64;
    let words = |r: &Rate| match r.bps {
        Some(bps) => format!("{} has {} Gbit/s", r.of, bps as f64 / 1e9),
        None => format!("{} counts packets", r.of),
    };
    if rates.is_empty() {
        return Finding::warning(check, "is not reported by the switch", CHECKLIST);
    }
    let enabled: Vec<&Rate> = rates.iter().filter(|r| r.enabled).collect();
    if let Some(rate) = enabled.iter().find(|r| r.bps.is_some_and(near)) {
        return Finding::ok(check, words(rate));
    }
    if enabled.is_empty() {
        let idle = rates.iter().find(|r| r.bps.is_some_and(near));
        let found = match idle {
            Some(r) => format!(
                "{}, but max_rate_enable is off: it shapes nothing",
                words(r)
            ),
            None => "max_rate_enable is off, of the port and of its queue 0".into(),
        };
        let remedy = "set max_rate_enable in tm.port.sched_cfg or tm.queue.sched_cfg, and the \
                      max_rate of sched_shaping; none is needed where the far end is slower";
        return Finding::warning(check, found, remedy);
    }
    let found: Vec<String> = enabled.iter().map(|r| words(r)).collect();
    let capacity = capacity_bps as f64 / 1e9;
    let found = format!(
        "{}; the configured link has {capacity} Gbit/s",
        found.join(", ")
    );
    Finding::warning(check, found, CHECKLIST)
}
