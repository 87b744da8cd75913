// SPDX-License-Identifier: Apache-2.0
//! Checks that the program has the tables to which the driver writes.

use super::Device;
use daemon_kit::doctor::Finding;

/// Tables and their actions as the driver uses them.
const TABLES: &[(&str, &[&str])] = &[
    ("queue_limit", &["drop_tail", "mark_ce", "unlimited"]),
    ("l2_forward", &["forward"]),
    ("watch", &["report", "ignore"]),
    ("report_port", &["report_on", "report_off"]),
    ("report_to", &["set_destination"]),
];

/// Checks that the program has every table and action.
pub(super) fn look(device: &Device<'_>) -> Finding {
    let check = format!("program {}", device.client.server().config.p4_name);
    let missing: Vec<String> = TABLES
        .iter()
        .flat_map(|&(table, actions)| match device.info.table(table) {
            Err(_) => vec![format!("table {table}")],
            Ok(t) => {
                let absent = actions.iter().filter(|a| t.parameters(a).is_err());
                absent.map(|a| format!("action {a} of {table}")).collect()
            }
        })
        .collect();
    if missing.is_empty() {
        return Finding::ok(check, format!("has its {} tables", TABLES.len()));
    }
    Finding::problem(
        check,
        format!("has no {}", missing.join(", ")),
        "load the program of this release, compiled from p4src/tna (docs/how-to/tofino.md)",
    )
}
