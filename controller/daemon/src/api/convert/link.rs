// SPDX-License-Identifier: Apache-2.0
//! One link as it is now.

use super::{ToApi, advice};
use crate::core::Core;
use crate::core::audit::lock;
use crate::core::feed::Feed;
use crate::core::link::LinkState;
use crate::core::series::Point;
use std::time::Instant;
use tidemark_api::{Recent, RecentDelay, RecentOccupancy, Steadiness, Watching};
use tidemark_estimators::LinkId;

/// A link; with the rules of its advice when `with_rules`.
pub fn link(core: &Core, id: LinkId, with_rules: bool) -> tidemark_api::Link {
    let mut link = core
        .with_feed(id, |feed| telemetry(core, feed, id))
        .unwrap_or_else(|| blank(core, id));
    let switch = core.switches.get(&id.node_id);
    link.limit = switch.and_then(|s| lock(&s.state).limits.get(&id.port).copied().to_api());
    let links = lock(&core.links);
    if let Some(state) = links.get(&id) {
        link.estimate = state.estimate.to_api();
        link.advice = state.advice.as_deref().map(|a| advice(a, with_rules));
        link.steadiness = steadiness(core, state);
        link.watching = state.watching.as_ref().map(|w| Watching {
            before: w.change.before.to_api(),
            limit: w.change.limit.to_api(),
            from_ns: w.span_ns.map(|s| s.0),
            to_ns: w.span_ns.map(|s| s.1),
        });
    }
    link
}

/// A link of which nothing is known but that it exists.
fn blank(core: &Core, id: LinkId) -> tidemark_api::Link {
    tidemark_api::Link {
        node: id.node_id,
        port: id.port,
        name: String::new(),
        node_name: String::new(),
        collector: String::new(),
        capacity_bps: 0,
        wire_overhead_bytes: 0,
        queue_overhead_bytes: 0,
        depth_unit_bytes: 1,
        capture_start_ns: None,
        now_ns: 0,
        age_s: None,
        stale: true,
        reported_limit_bytes: None,
        recent: None,
        limit: None,
        targets: core.targets_of(id).to_api(),
        estimate: None,
        steadiness: Steadiness {
            steady: false,
            latest_bytes: None,
            low_bytes: None,
            high_bytes: None,
            seconds: 0,
            since_ns: None,
        },
        advice: None,
        watching: None,
    }
}

/// What the collector says of a link.
fn telemetry(core: &Core, feed: &Feed, id: LinkId) -> tidemark_api::Link {
    let port = feed.port(id).cloned().unwrap_or_default();
    let node = feed.info.nodes.iter().find(|n| n.node_id == id.node_id);
    let series = feed.series.get(&id);
    let age_s = feed.age_s(Instant::now());
    tidemark_api::Link {
        name: port.name,
        node_name: feed.node_name(id.node_id).into(),
        collector: feed.address.clone(),
        capacity_bps: port.capacity_bps,
        wire_overhead_bytes: port.wire_overhead_bytes,
        queue_overhead_bytes: port.queue_overhead_bytes,
        depth_unit_bytes: node.map_or(1, |n| n.depth_unit_bytes.max(1)),
        capture_start_ns: series.map(|s| s.first_ns),
        now_ns: feed.complete_ns(id),
        age_s,
        stale: age_s.is_none_or(|a| a > core.config.control.max_telemetry_age_s),
        reported_limit_bytes: series.map(|s| s.limit_bytes).filter(|&b| b > 0),
        recent: series
            .and_then(|s| s.last_second())
            .map(|p| recent(p, port.capacity_bps)),
        ..blank(core, id)
    }
}

fn recent(p: &Point, capacity_bps: u64) -> Recent {
    Recent {
        start_ns: p.start_ns,
        utilisation: p.utilisation(capacity_bps),
        loss_rate: if p.arrivals > 0 {
            p.drops as f64 / p.arrivals as f64
        } else {
            0.0
        },
        occupancy_bytes: RecentOccupancy {
            p50: p.occupancy_p50_bytes.round(),
            p99: p.occupancy_p99_bytes.round(),
            max: p.occupancy_max_bytes,
        },
        delay_ms: RecentDelay {
            p50: p.delay_p50_ns / 1e6,
            p99: p.delay_p99_ns / 1e6,
            max: p.delay_max_ns as f64 / 1e6,
        },
        packets: p.packets,
        arrivals: p.arrivals,
        drops: p.drops,
        ce_marked: p.ce_marked,
        reports_lost: p.reports_lost,
    }
}

fn steadiness(core: &Core, state: &LinkState) -> Steadiness {
    let range = state.steady.range();
    Steadiness {
        steady: state.steady.is_steady(&core.config.control),
        latest_bytes: state.raw_bytes,
        low_bytes: range.map(|r| r.0),
        high_bytes: range.map(|r| r.1),
        seconds: range.map_or(0, |r| r.2 as u64),
        since_ns: Some(state.conditions.since_ns()),
    }
}
