// SPDX-License-Identifier: Apache-2.0
//! Status of the controller as a whole.

use crate::core::feed::Feed;
use crate::core::switch::{Switch, SwitchState};
use crate::core::{self, Core, State};
use tidemark_api::{
    AuditLog, Collector, CollectorCounters, Drift, Health, LinkId, Recording, Status,
};
use tidemark_control::{LinkControl, Timestamp};
use tidemark_proto::telemetry::CollectorStatus;

/// Returns the status of the controller as a whole.
pub fn status(core: &Core) -> Status {
    let now = core.now();
    let known = |s: &Switch| core.switch_state(s.config.node).unwrap_or_default();
    let links = core.known_links();
    Status {
        version: env!("CARGO_PKG_VERSION").into(),
        mode: core.read(|s| s.mode),
        dry_run: core.config.control.dry_run,
        uptime_s: core.uptime_s(),
        window_s: core.config.window_s,
        estimated_every_s: core.turns.every_s(),
        retention_s: core.config.retention_s,
        collectors: core.read(|s| s.feeds.iter().map(|f| collector(f, now)).collect()),
        switches: core
            .switches
            .iter()
            .map(|(n, s)| switch(*n, s, &known(s)))
            .collect(),
        targets: core.read(|s| s.default_targets.clone()),
        audit: audit(core),
        drift: core.read(drift),
        state_problem: core.state_problem(),
        recording: core.recording().map(recording),
        links: links
            .iter()
            .map(|l| LinkId {
                node: l.node_id,
                port: l.port,
                queue: l.queue,
            })
            .collect(),
    }
}

fn recording(run: &core::Recording) -> Recording {
    let reading = run.reading();
    Recording {
        capture: run.capture.display().to_string(),
        started_unix_ms: run.started_unix_ms,
        ended_unix_ms: run.ended_unix_ms,
        seconds: reading.seconds,
        read_fraction: reading.share,
        notes: reading.notes,
        problem: reading.problem,
    }
}

fn audit(core: &Core) -> AuditLog {
    let health = core.audit.health();
    AuditLog {
        file: core.audit.has_file(),
        policy: core.audit_policy(),
        not_written: health.not_written,
        problem: health.problem,
    }
}

fn drift(state: &State) -> Vec<Drift> {
    let of = |(id, l): (&tidemark_estimators::LinkId, &LinkControl)| {
        let d = l.drift()?;
        Some(Drift {
            node: id.node_id,
            port: id.port,
            queue: id.queue,
            expected: d.expected,
            found: d.found,
            unix_ms: d.at.unix_ms,
            answer: d.answer,
        })
    };
    state.links.iter().filter_map(of).collect()
}

fn collector(feed: &Feed, now: Timestamp) -> Collector {
    Collector {
        address: feed.address.clone(),
        connected: feed.connected,
        problem: feed.problem.clone(),
        connections: feed.connections,
        instance: feed.info.instance.clone(),
        version: feed.info.version.clone(),
        interval_ms: feed.info.interval_ms,
        capture_dir: feed.info.capture_dir.clone(),
        updates: feed.updates,
        updates_lost: feed.updates_lost,
        age_s: feed.age_s(now),
        status: counters(feed.status.clone()),
    }
}

fn switch(node: u32, switch: &Switch, state: &SwitchState) -> tidemark_api::Switch {
    let d = switch.driver.describe();
    tidemark_api::Switch {
        node,
        driver: d.driver.into(),
        address: d.address,
        device_id: d.device_id,
        limit_unit_bytes: d.limit_unit_bytes,
        ready: state.is_ready(),
        health: health(state.health.clone()),
        provisioned: state.provisioned,
        provision_problem: state.provision_problem.clone(),
        limits: state
            .limits
            .iter()
            .filter(|(id, _)| id.queue == 0)
            .map(|(id, limit)| (id.port, *limit))
            .collect(),
    }
}

/// Converts a struct to another one with the same fields; a field that only the first has does not
/// compile.
macro_rules! same_fields {
    ($value:expr, $from:path => $to:path { $($field:ident),* $(,)? }) => {{
        let $from { $($field),* } = $value;
        $to { $($field),* }
    }};
}

fn counters(of: CollectorStatus) -> CollectorCounters {
    same_fields!(of, CollectorStatus => CollectorCounters {
        reports_received, reports_lost, reports_late, reports_duplicate,
        reports_implausible_sequence, reports_of_hops, nodes_of_hops_alone, nodes_of_two_clocks,
        datagrams_received,
        datagrams_malformed, kernel_drops, probe_samples, probe_lost, join_candidates,
        join_matched, flows, flows_evicted, capture_rows, capture_rows_lost,
    })
}

fn health(of: tidemark_southbound::Health) -> Health {
    same_fields!(of, tidemark_southbound::Health => Health {
        connected, primary, program_loaded, api_version, problem,
    })
}
