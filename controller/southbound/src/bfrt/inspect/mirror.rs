// SPDX-License-Identifier: Apache-2.0
//! Checks mirror sessions: packets whose headers have no session are never reported; with a wrong
//! length, reports are longer than their IP headers say.

use super::{Device, unread};
use crate::bfrt::entries::{Session, mirror_table, sessions};
use crate::bfrt::info::{Fields, Value};
use daemon_kit::doctor::Finding;

const REMEDY: &str = "`tidemark-controller provision` with switches[].provision.reports, or docs/how-to/tofino.md, \"Mirror sessions\"";

/// Returns a finding for each session that is wrong, or one for all if none is. `port`: port of the
/// reports, if the plan has one.
pub(super) async fn look(device: &Device<'_>, port: Option<u32>) -> Vec<Finding> {
    let table = match mirror_table(device.info) {
        Ok(t) => t,
        Err(e) => return vec![unread("mirror sessions", &e)],
    };
    let mut found = Vec::new();
    let all = sessions();
    for s in &all {
        let check = format!("mirror session {} ({})", s.id, s.headers);
        match device.entry(table, &[("$sid", s.id)]).await {
            Err(e) => found.push(unread(check, &e)),
            Ok(None) => found.push(Finding::problem(
                check,
                "is not there: such packets are not reported",
                REMEDY,
            )),
            Ok(Some(fields)) => {
                let faults = faults(s, &fields, port);
                if !faults.is_empty() {
                    found.push(Finding::problem(check, faults.join("; "), REMEDY));
                }
            }
        }
    }
    if found.is_empty() {
        found.push(Finding::ok(
            "mirror sessions",
            format!("{} sessions, cut at their lengths", all.len()),
        ));
    }
    found
}

/// Describes the faults of a session.
fn faults(s: &Session, fields: &Fields, port: Option<u32>) -> Vec<String> {
    let mut faults = Vec::new();
    if fields.get("$session_enable") == Some(&Value::Flag(false)) {
        faults.push("is disabled".into());
    }
    match fields.get("$direction") {
        Some(Value::Text(d)) if d != "EGRESS" => {
            faults.push(format!("its direction is {d}, not EGRESS"));
        }
        _ => {}
    }
    match fields.get("$max_pkt_len") {
        Some(Value::Number(n)) if *n != s.length_bytes() => {
            faults.push(format!("cuts at {n} bytes, not {}", s.length_bytes()));
        }
        _ => {}
    }
    if fields.get("$ucast_egress_port_valid") == Some(&Value::Flag(false)) {
        faults.push("has no port".into());
    }
    match (fields.get("$ucast_egress_port"), port) {
        (Some(Value::Number(n)), Some(p)) if *n != u64::from(p) => {
            faults.push(format!("goes to port {n}, not {p}"));
        }
        _ => {}
    }
    faults
}
