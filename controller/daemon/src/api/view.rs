// SPDX-License-Identifier: Apache-2.0
//! The state as JSON, the same for REST and events.

use crate::core::Core;
use crate::core::audit::lock;
use crate::core::series::utilisation;
use serde_json::{Value, json};
use std::time::Instant;
use tidemark_estimators::LinkId;
use tidemark_proto::telemetry::CollectorStatus;
use tidemark_rules::Advice;

/// An advice; without its rules when `brief`.
pub fn advice(a: &Advice, brief: bool) -> Value {
    let mut v = json!(a);
    if let (true, Some(map)) = (brief, v.as_object_mut()) {
        map.remove("rules");
        map.remove("rejected");
    }
    v
}

/// A link; with the rules of its advice when `full`.
pub fn link(core: &Core, id: LinkId, full: bool) -> Value {
    let telemetry = core.with_feed(id, |f| {
        let port = f.port(id).cloned().unwrap_or_default();
        let depth_unit = f.info.nodes.iter().find(|n| n.node_id == id.node_id);
        let series = f.series.get(&id);
        let age_s = f.age_s(Instant::now());
        let recent = series.and_then(|s| s.last_second()).map(|p| {
            json!({
                "start_ns": p.start_ns,
                "utilisation": utilisation(p, port.capacity_bps),
                "loss_rate": if p.arrivals > 0 { p.drops as f64 / p.arrivals as f64 } else { 0.0 },
                "occupancy_bytes": {
                    "p50": p.occupancy_p50_bytes.round(), "p99": p.occupancy_p99_bytes.round(),
                    "max": p.occupancy_max_bytes,
                },
                "delay_ms": {
                    "p50": p.delay_p50_ns / 1e6, "p99": p.delay_p99_ns / 1e6,
                    "max": p.delay_max_ns as f64 / 1e6,
                },
                "packets": p.packets, "arrivals": p.arrivals, "drops": p.drops,
                "ce_marked": p.ce_marked, "reports_lost": p.reports_lost,
            })
        });
        json!({
            "node": id.node_id, "port": id.port,
            "name": port.name, "node_name": f.node_name(id.node_id),
            "collector": f.address,
            "capacity_bps": port.capacity_bps,
            "wire_overhead_bytes": port.wire_overhead_bytes,
            "queue_overhead_bytes": port.queue_overhead_bytes,
            "depth_unit_bytes": depth_unit.map_or(1, |n| n.depth_unit_bytes.max(1)),
            "capture_start_ns": series.map(|s| s.first_ns),
            "now_ns": f.complete_ns(id),
            "age_s": age_s,
            "stale": age_s.is_none_or(|a| a > core.config.control.max_telemetry_age_s),
            "reported_limit_bytes": series.map(|s| s.limit_bytes).filter(|&b| b > 0),
            "recent": recent,
        })
    });
    let mut v = telemetry.unwrap_or_else(|| json!({"node": id.node_id, "port": id.port}));
    let switch = core.switches.get(&id.node_id);
    v["limit"] = json!(switch.and_then(|s| lock(&s.state).limits.get(&id.port).copied()));
    v["targets"] = json!(core.targets_of(id));
    let links = lock(&core.links);
    let state = links.get(&id);
    v["estimate"] = json!(state.and_then(|s| s.estimate.as_deref()));
    let a = state.and_then(|s| s.advice.as_deref());
    let range = state.and_then(|s| s.steady.range());
    v["steadiness"] = json!({
        "steady": state.is_some_and(|s| s.steady.is_steady(&core.config.control)),
        "latest_bytes": state.and_then(|s| s.raw_bytes),
        "low_bytes": range.map(|r| r.0), "high_bytes": range.map(|r| r.1),
        "seconds": range.map_or(0, |r| r.2),
        "since_ns": state.map(|s| s.conditions.since_ns()),
    });
    v["advice"] = a.map_or(Value::Null, |a| advice(a, !full));
    v["watching"] = state
        .and_then(|s| s.watching.as_ref())
        .map_or(Value::Null, |w| {
            json!({
                "before": w.change.before, "limit": w.change.limit,
                "from_ns": w.span_ns.map(|s| s.0), "to_ns": w.span_ns.map(|s| s.1),
            })
        });
    v
}

fn counters(s: &CollectorStatus) -> Value {
    json!({
        "reports_received": s.reports_received, "reports_lost": s.reports_lost,
        "reports_late": s.reports_late, "reports_duplicate": s.reports_duplicate,
        "datagrams_received": s.datagrams_received, "datagrams_malformed": s.datagrams_malformed,
        "kernel_drops": s.kernel_drops, "probe_samples": s.probe_samples,
        "probe_lost": s.probe_lost, "join_candidates": s.join_candidates,
        "join_matched": s.join_matched, "flows": s.flows, "flows_evicted": s.flows_evicted,
        "capture_rows": s.capture_rows, "capture_rows_lost": s.capture_rows_lost,
    })
}

/// The state of the controller as a whole.
pub fn status(core: &Core) -> Value {
    let collectors: Vec<Value> = core
        .feeds
        .iter()
        .map(|m| {
            let f = lock(m);
            json!({
                "address": f.address, "connected": f.connected, "problem": f.problem,
                "connections": f.connections, "instance": f.info.instance,
                "version": f.info.version, "interval_ms": f.info.interval_ms,
                "capture_dir": f.info.capture_dir, "updates": f.updates,
                "updates_lost": f.updates_lost, "age_s": f.age_s(Instant::now()),
                "status": counters(&f.status),
            })
        })
        .collect();
    let switches: Vec<Value> = core
        .switches
        .iter()
        .map(|(node, s)| {
            let d = s.driver.describe();
            let state = lock(&s.state);
            json!({
                "node": node, "driver": d.driver, "address": d.address,
                "device_id": d.device_id, "limit_unit_bytes": d.limit_unit_bytes,
                "ready": state.health.ready() && state.provisioned, "health": state.health,
                "provisioned": state.provisioned, "provision_problem": state.provision_problem,
                "limits": state.limits,
            })
        })
        .collect();
    let targets = lock(&core.targets).0.clone();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "mode": core.mode(),
        "dry_run": core.config.control.dry_run,
        "uptime_s": core.started.elapsed().as_secs_f64(),
        "window_s": core.config.window_s,
        "retention_s": core.config.retention_s,
        "collectors": collectors, "switches": switches, "targets": targets,
        "links": core.known_links().iter().map(|l| json!({"node": l.node_id, "port": l.port})).collect::<Vec<_>>(),
    })
}
