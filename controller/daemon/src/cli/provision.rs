// SPDX-License-Identifier: Apache-2.0
//! `provision`: writes the plans of the configured switches, and exits.

use super::run::runtime;
use crate::config::Config;
use crate::core::audit::Audit;
use crate::core::switch::{self, PlanWritten};
use crate::core::time;
use anyhow::Context as _;
use daemon_kit::cli::{print, print_json};
use serde_json::json;
use std::path::Path;

pub(super) fn provision(path: &Path, as_json: bool) -> anyhow::Result<()> {
    let config = Config::load(path)?;
    anyhow::ensure!(
        config.switches.iter().any(|s| s.provision.is_some()),
        "{}: no [switches.provision] in it",
        path.display()
    );
    let control = &config.control;
    let audit = Audit::open(control.audit_log.as_deref()).context("control.audit_log")?;
    let policy = control.audit_policy(control.mode);
    let unix_ms = || time::now().unix_ms;
    let mut all = Vec::new();
    runtime()?.block_on(async {
        for (node, reached) in switch::connect(&config)? {
            let Some(written) = reached.provision(&audit, policy, &unix_ms).await? else {
                continue;
            };
            if !as_json {
                print(line(node, &written))?;
            }
            all.push(json!({"node": node, "done": written.done}));
            for change in written.outcomes {
                audit
                    .record(change)
                    .map_err(|why| anyhow::anyhow!("node {node}: written, but {why}"))?;
            }
            if let Some((port, why)) = written.held_back.into_iter().next() {
                anyhow::bail!("node {node}: port {port} has no limit: {why}");
            }
        }
        Ok(())
    })?;
    if as_json {
        print_json(&json!({"switches": all}))?;
    }
    Ok(())
}

fn line(node: u32, written: &PlanWritten) -> String {
    let done = &written.done;
    let limits: Vec<String> = done
        .limits
        .iter()
        .map(|(p, l)| format!("port {p}: {l}"))
        .collect();
    let program = match done.pushed {
        true => "program pushed",
        false => "program was there",
    };
    format!(
        "node {node}: {program}, {} entries written; {}",
        done.entries,
        limits.join(", ")
    )
}
