// SPDX-License-Identifier: Apache-2.0
//! Keeps the switches provisioned, and the limits in force known.

use super::Core;
use super::switch::{PlanWritten, Switch, SwitchState};
use std::sync::Arc;
use std::time::Duration;
use tidemark_control::Input;
use tidemark_estimators::LinkId;
use tidemark_southbound::{Error, Provisioned};

const POLL: Duration = Duration::from_secs(2);

/// Watches a switch until the task is aborted: provisions it when it comes up,
/// restores our limits when it lost them, reads the limits of known links.
pub async fn run(core: Arc<Core>, node: u32) {
    let Some(switch) = core.switches.get(&node) else {
        return;
    };
    let mut ticks = tokio::time::interval(POLL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        poll(&core, switch).await;
    }
}

impl Core {
    fn update_switch(&self, node: u32, f: impl FnOnce(&mut SwitchState)) {
        self.write(|s| f(s.switches.entry(node).or_default()));
    }
}

/// Polls a switch once; [`run`] does so repeatedly.
pub async fn poll(core: &Core, switch: &Switch) {
    let node = switch.config.node;
    let mut health = switch.driver.health().await;
    let was = core.switch_state(node).unwrap_or_default();
    // Gone, or up again without our program: everything must be written.
    let lost = !health.connected || !health.program_loaded;
    if lost {
        core.update_switch(node, |s| s.provisioned = false);
    }
    // A driver that cannot write does not ask to be primary.
    let may_write = health.primary || core.config.control.dry_run;
    let wanted = health.connected && may_write && (lost || !was.provisioned);
    if wanted && provision(core, switch, &was, lost).await {
        health = switch.driver.health().await;
    }
    if health.problem != was.health.problem {
        match &health.problem {
            Some(p) => tracing::warn!(node, "switch: {p}"),
            None => tracing::info!(node, "switch: ready"),
        }
    }
    let readable = health.connected && health.program_loaded;
    core.update_switch(node, |s| s.health = health);
    if readable {
        read_limits(core, switch).await;
    }
}

/// Writes the plan, and then the limits that the loops had set. Returns whether the plan is
/// written. `was`: the state before; `lost`: the switch has lost everything.
async fn provision(core: &Core, switch: &Switch, was: &SwitchState, lost: bool) -> bool {
    let node = switch.config.node;
    let unix_ms = || core.now().unix_ms;
    let written = switch
        .provision(&core.audit, core.audit_policy(), &unix_ms)
        .await;
    match written {
        Ok(written) => {
            let (done, problem) = written.map_or_else(Default::default, |w| told(core, w));
            // This is retried repeatedly, but logged once.
            let waits_still = problem.is_some() && problem == was.provision_problem;
            match &problem {
                Some(text) if !waits_still => tracing::error!(node, "switch: {text}"),
                Some(_) => {}
                None => tracing::info!(
                    node,
                    pushed = done.pushed,
                    entries = done.entries,
                    "switch: provisioned"
                ),
            }
            core.update_switch(node, |s| {
                s.provisioned = problem.is_none();
                s.provision_problem = problem;
                let limits = done.limits.iter();
                s.limits
                    .extend(limits.map(|(&port, &limit)| (LinkId::new(node, port, 0), limit)));
            });
            let pushes = switch.config.driver.kind().pushes_program;
            // If no program is pushed, only the limits tell whether they were lost.
            if done.pushed || !(pushes || waits_still) {
                restore(core, node, done.pushed).await;
            }
            true
        }
        Err(e @ Error::DryRun { .. }) => {
            let text = e.to_string();
            let lost_now = lost && was.health.program_loaded;
            if lost_now || was.provision_problem.as_ref() != Some(&text) {
                tracing::info!(node, "switch: {text}");
                // This records what would be restored.
                restore(core, node, lost).await;
            }
            core.update_switch(node, |s| s.provision_problem = Some(text));
            false
        }
        Err(e) => {
            let text = e.to_string();
            if was.provision_problem.as_ref() != Some(&text) {
                tracing::error!(node, "switch: not provisioned: {text}");
            }
            core.update_switch(node, |s| s.provision_problem = Some(text));
            false
        }
    }
}

/// Records the outcomes of the initial limits. Returns what the driver did, and why some of the
/// limits are not written.
fn told(core: &Core, written: PlanWritten) -> (Provisioned, Option<String>) {
    for change in written.outcomes {
        core.record(change);
    }
    let problem = written.held_back.into_iter().next().map(|(port, why)| {
        format!("port {port} has no limit yet (control.audit = \"required\"): {why}")
    });
    (written.done, problem)
}

async fn read_limits(core: &Core, switch: &Switch) {
    let node = switch.config.node;
    let mut links = core.known_links();
    links.extend(core.switch_state(node).unwrap_or_default().limits.keys());
    // Links of an earlier run: is the switch as that run left it?
    links.extend(core.read(|s| s.links.keys().copied().collect::<Vec<_>>()));
    links.retain(|l| l.node_id == node);
    links.sort_unstable();
    links.dedup();
    let ours =
        core.config.control.dry_run || core.switch_state(node).is_some_and(|s| s.provisioned);
    for link in links {
        let changing = switch.changing.lock().await;
        let read = switch.driver.read_queue_limit(link.port, link.queue).await;
        let found = read.as_ref().ok().copied();
        core.update_switch(node, |s| match read {
            Ok(limit) => {
                s.limits.insert(link, limit);
            }
            Err(e) => {
                tracing::debug!(%link, "limit not read: {e}");
                s.limits.remove(&link);
            }
        });
        // A switch that is not provisioned does not hold the limits that it was given.
        if let Some(limit) = found.filter(|_| ours) {
            core.drive(link, Input::Found(limit), Some(changing)).await;
        }
    }
}

/// Gives the switch back the limits that we set: all of them if it has lost everything, otherwise
/// those that are missing.
///
/// The loops of links without a limit of ours are informed as well.
async fn restore(core: &Core, node: u32, everything: bool) {
    let links: Vec<LinkId> = core.read(|s| {
        let of_node = s.links.keys().filter(|id| id.node_id == node);
        of_node.copied().collect()
    });
    for link in links {
        core.drive(link, Input::StateLost { everything }, None)
            .await;
    }
}
