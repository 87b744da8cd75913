// SPDX-License-Identifier: Apache-2.0
//! Checks ports: set up, up, and as fast as configured.

use super::{CHECKLIST, Device, shaper, unread};
use crate::Expected;
use crate::bfrt::entries::port_speed;
use crate::bfrt::info::{Fields, Value};
use daemon_kit::doctor::Finding;
use std::collections::BTreeMap;

/// Returns a finding for each port that is measured, has a limit, or carries reports.
pub(super) async fn look(device: &Device<'_>, expected: &Expected<'_>) -> Vec<Finding> {
    let table = match device.info.table("$PORT") {
        Ok(t) => t,
        Err(e) => return vec![unread("ports", &e)],
    };
    let mut found = Vec::new();
    let reports_port = expected.plan.and_then(|p| Some(p.reports.as_ref()?.port));
    for (port, capacity_bps) in ports(expected) {
        let check = format!("port {port}");
        let entry = device.entry(table, &[("$DEV_PORT", u64::from(port))]).await;
        let slower = matches!(&entry, Ok(Some(f)) if is_slower(capacity_bps, f));
        found.push(match entry {
            Err(e) => unread(check, &e),
            Ok(None) => Finding::problem(
                check,
                "is not set up",
                "bfrt.port.port.add (docs/how-to/tofino.md, \"Ports\"), or another dev_port number",
            ),
            Ok(Some(fields)) => judge(check, capacity_bps, &fields),
        });
        if slower {
            found.push(shaper::look(device, port, capacity_bps).await);
        }
        if Some(port) == reports_port && expected.capacities_bps.iter().any(|(p, _)| *p == port) {
            found.push(Finding::warning(
                format!("port {port}"),
                "carries reports and is measured: reports add to the queue under test",
                "send reports through a port of their own (provision.reports.port)",
            ));
        }
    }
    found
}

/// Returns the ports with their capacity, bits/s; 0 if unknown.
fn ports(expected: &Expected<'_>) -> BTreeMap<u32, u64> {
    let mut ports = BTreeMap::new();
    if let Some(plan) = expected.plan {
        let limited = plan.limit_ports().unwrap_or_default();
        ports.extend(limited.iter().map(|(p, _)| (*p, 0)));
        ports.extend(plan.flood_ports.iter().map(|p| (*p, 0)));
        ports.extend(plan.forward.iter().map(|f| (f.port, 0)));
        ports.extend(plan.reports.iter().map(|r| (r.port, 0)));
    }
    ports.extend(expected.capacities_bps.iter().copied());
    ports
}

fn judge(check: String, capacity_bps: u64, fields: &Fields) -> Finding {
    let flag = |name: &str| fields.get(name) == Some(&Value::Flag(false));
    if flag("$PORT_ENABLE") {
        let remedy = "bfrt.port.port.mod(DEV_PORT=..., PORT_ENABLE=True)";
        return Finding::problem(check, "is disabled", remedy);
    }
    if flag("$PORT_UP") {
        let remedy = "cable, transceiver, FEC and auto-negotiation of both ends";
        return Finding::problem(check, "is down", remedy);
    }
    let speed_bps = match port_speed(fields) {
        Ok(s) => s,
        Err(e) => return unread(check, &e),
    };
    let Some(speed_bps) = speed_bps else {
        return Finding::warning(check, "the switch does not report its speed", CHECKLIST);
    };
    let gbps = |bps: u64| format!("{} Gbit/s", bps as f64 / 1e9);
    if capacity_bps > speed_bps {
        return Finding::problem(
            check,
            format!(
                "has {}, and the collector's configuration {}",
                gbps(speed_bps),
                gbps(capacity_bps)
            ),
            "capacity of the port in nodes.ID.ports: estimates and advice depend on it",
        );
    }
    if is_slower(capacity_bps, fields) {
        let (port, link) = (gbps(speed_bps), gbps(capacity_bps));
        return Finding::ok(check, format!("up with {port}; {link} are configured"));
    }
    Finding::ok(check, format!("up with {}", gbps(speed_bps)))
}

/// Whether the configured link is slower than its port.
fn is_slower(capacity_bps: u64, fields: &Fields) -> bool {
    let speed = port_speed(fields).ok().flatten();
    capacity_bps > 0 && speed.is_some_and(|speed| capacity_bps < speed)
}
