// SPDX-License-Identifier: Apache-2.0
//! `status`: the counters of a running collector.

use crate::config;
use anyhow::Result;
use daemon_kit::cli::{print, print_json};

pub(super) fn status(http: &config::HttpConfig, json: bool) -> Result<()> {
    let value = crate::status_client::fetch(http)?;
    if json {
        return print_json(&value);
    }
    for section in
        "reports datagrams packets samples join tcp_probe flows capture clickhouse".split(' ')
    {
        if let Some(map) = value[section].as_object() {
            let line: Vec<String> = map.iter().map(|(k, v)| format!("{k} {v}")).collect();
            print(format_args!("{section:<11}{}", line.join(", ")))?;
        }
    }
    for a in value["agents"].as_array().into_iter().flatten() {
        print(format_args!(
            "agent      {} events {}, lost {} in rings, {} in its buffer",
            a["host"], a["events"], a["ring_lost"], a["buffer_lost"]
        ))?;
    }
    for clock in value["clocks"].as_array().into_iter().flatten() {
        print(format_args!(
            "clock      node {} to {}: offset {} ns, drift {} ppb",
            clock["node_id"], clock["host"], clock["offset_ns"], clock["drift_ppb"]
        ))?;
    }
    for s in value["subscribers"].as_array().into_iter().flatten() {
        print(format_args!(
            "subscriber {} updates {}, lost {}",
            s["name"], s["updates"], s["lost"]
        ))?;
    }
    Ok(())
}
