// SPDX-License-Identifier: Apache-2.0
//! Checks conditions that a Tofino must meet before the first run. Reads only, and writes nothing.

mod mirror;
mod ports;
mod shaper;
mod tables;
mod traffic_manager;

use super::client::{ALL_PIPES, Client};
use super::config::Queue;
use super::info::{Fields, Info, Part, Table};
use crate::{Error, Expected, Inspection};
use daemon_kit::doctor::Finding;
use std::collections::BTreeMap;

/// Document with the steps of the first run.
const CHECKLIST: &str = "docs/how-to/tofino.md, \"The first run\"";

/// Checks program, mirror sessions, ports and traffic manager, in order of dependence. Parts that
/// cannot be read become findings, and the other checks still run.
pub(super) async fn inspect(
    client: &Client,
    queues: &BTreeMap<(u32, u32), Queue>,
    expected: &Expected<'_>,
) -> Inspection {
    let mut found = Inspection::default();
    let info = match client.bound().await {
        Ok(info) => info,
        Err(e) => {
            let remedy = match e {
                Error::Value { .. } => {
                    "a program is loaded whose tables this release cannot read: report it in an \
                     issue, with the versions of the switch daemon and of its SDE"
                }
                _ => "is the switch daemon up, with a program loaded under bfrt.p4_name?",
            };
            let program = format!("program {}", client.server().config.p4_name);
            found
                .findings
                .push(Finding::problem(program, e.to_string(), remedy));
            return found;
        }
    };
    let device = Device {
        client,
        info: &info,
    };
    let reports_port = expected.plan.and_then(|p| Some(p.reports.as_ref()?.port));
    found.findings.push(tables::look(&device));
    found
        .findings
        .extend(mirror::look(&device, reports_port).await);
    found.findings.extend(ports::look(&device, expected).await);
    traffic_manager::look(&device, queues, expected, &mut found).await;
    found
}

/// A bound device, for reading.
struct Device<'a> {
    client: &'a Client,
    info: &'a Info,
}

impl Device<'_> {
    /// Reads the fields of an entry; `None` if there is no such entry.
    async fn fields(
        &self,
        table: &Table,
        key: &[(&str, u64)],
        pipe: u32,
        from_hw: bool,
    ) -> Result<Option<Fields>, Error> {
        let key: Vec<_> = key.iter().map(|&(n, v)| (n, Part::Number(v))).collect();
        let entry = table.key_entry(&key)?;
        let (client, name) = (self.client, &table.name);
        let found = client.read(self.info, pipe, name, entry, from_hw).await?;
        Ok(found.map(|e| table.read(&e.data.unwrap_or_default()).1))
    }

    /// Reads [`Self::fields`] in all pipes, from the daemon's copy.
    async fn entry(&self, table: &Table, key: &[(&str, u64)]) -> Result<Option<Fields>, Error> {
        self.fields(table, key, ALL_PIPES, false).await
    }
}

/// Returns the finding for something that could not be read.
fn unread(check: impl Into<String>, e: &Error) -> Finding {
    Finding::problem(check, e.to_string(), CHECKLIST)
}
