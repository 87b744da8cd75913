// SPDX-License-Identifier: Apache-2.0
//! The current state of one link.

use crate::core::feed::Feed;
use crate::core::series::Point;
use crate::core::{Core, State};
use tidemark_api::{LinkSummary, Recent, RecentDelay, RecentOccupancy, Steadiness, Trial};
use tidemark_control::Timestamp;
use tidemark_estimators::{LinkEstimate, LinkId, foremost};

/// Maximum number of flows of a link in an answer; `/flows` returns more.
const MAX_FLOWS: usize = 500;
const SECOND_NS: u64 = 1_000_000_000;

/// Returns the state of a link, with the rules of its advice if `with_rules`.
pub fn link(core: &Core, id: LinkId, with_rules: bool) -> tidemark_api::Link {
    let now = core.now();
    let max_age_s = core.config.control.max_telemetry_age_s;
    let (mut link, status) = core.read(|s| {
        let mut link = blank(s, id);
        if let Some(feed) = s.feed_of(id) {
            link = telemetry(link, feed, id, now, max_age_s, s.capacity_bps(id));
        }
        let switch = s.switches.get(&id.node_id);
        link.limit = switch.and_then(|s| s.limits.get(&id).copied());
        (link, s.link_status(id))
    });
    // A large estimate is copied after the lock on the state is released.
    if let Some(status) = status {
        link.estimate = status.estimate.as_deref().map(|e| LinkEstimate {
            flows: foremost(e.flows.clone(), MAX_FLOWS),
            ..e.clone()
        });
        link.verdict = status.verdict.as_deref().cloned();
        link.advice = status.advice.as_deref().map(|a| match with_rules {
            true => a.clone(),
            false => a.without_rules(),
        });
        link.steadiness = steadiness(status.steadiness);
        link.trial = status.trial.map(|t| Trial {
            before: t.change.before,
            limit: t.change.limit,
            from_ns: t.span_ns.map(|s| s.0),
            to_ns: t.span_ns.map(|s| s.1),
        });
    }
    link
}

/// Returns a link that is known only to exist.
fn blank(state: &State, id: LinkId) -> tidemark_api::Link {
    tidemark_api::Link {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        depth_unit_bytes: 1,
        stale: true,
        targets: state.targets_of(id),
        ..tidemark_api::Link::default()
    }
}

/// Fills a blank link with the data from its collector.
fn telemetry(
    blank: tidemark_api::Link,
    feed: &Feed,
    id: LinkId,
    now: Timestamp,
    max_age_s: f64,
    capacity_bps: u64,
) -> tidemark_api::Link {
    let port = feed.port(id).cloned().unwrap_or_default();
    let node = feed.info.nodes.iter().find(|n| n.node_id == id.node_id);
    let series = feed.series.get(&id);
    let age_s = feed.report_age_s(id, now);
    tidemark_api::Link {
        name: port.name,
        node_name: feed.node_name(id.node_id).into(),
        collector: feed.address.clone(),
        capacity_bps,
        wire_overhead_bytes: port.wire_overhead_bytes,
        queue_overhead_bytes: port.queue_overhead_bytes,
        depth_unit_bytes: node.map_or(1, |n| n.depth_unit_bytes.max(1)),
        capture_start_ns: series.map(|s| s.first_ns),
        capture_start_unix_ms: series.map(|s| unix_ms_of(feed, id, now, s.first_ns)),
        now_ns: feed.complete_ns(id),
        age_s,
        node_age_s: feed.node_age_s(id.node_id, now),
        lag_s: feed.lag_s(id.node_id, now),
        stale: age_s.is_none_or(|a| a > max_age_s),
        reported_limit_bytes: series.map(|s| s.limit_bytes).filter(|&b| b > 0),
        recent: series.and_then(|s| s.last_second()).and_then(|p| {
            let end_ns = p.start_ns.saturating_add(SECOND_NS);
            let silent_ns = feed.silent_ns(id, p.start_ns, end_ns);
            let told = recent(&p.heard(silent_ns, SECOND_NS)?, capacity_bps);
            let is_untold = feed.are_drops_untold(id.node_id) && told.drops == Some(0);
            Some(Recent {
                loss_rate: told.loss_rate.filter(|_| !is_untold),
                drops: told.drops.filter(|_| !is_untold),
                ..told
            })
        }),
        ..blank
    }
}

/// Converts a time on a link's clock to Unix time, ms.
fn unix_ms_of(feed: &Feed, id: LinkId, now: Timestamp, time_ns: u64) -> i64 {
    let since_ms = (i128::from(feed.now_ns(id, now)) - i128::from(time_ns)) / 1_000_000;
    i64::try_from(i128::from(now.unix_ms) - since_ms).unwrap_or(i64::MAX)
}

/// Returns the summary of a link.
pub fn summary(core: &Core, id: LinkId) -> LinkSummary {
    let now = core.now();
    let max_age_s = core.config.control.max_telemetry_age_s;
    core.read(|s| {
        let mut link = blank(s, id);
        if let Some(feed) = s.feed_of(id) {
            link = telemetry(link, feed, id, now, max_age_s, s.capacity_bps(id));
        }
        let switch = s.switches.get(&id.node_id);
        let control = s.links.get(&id);
        LinkSummary {
            node: link.node,
            port: link.port,
            queue: link.queue,
            name: link.name,
            node_name: link.node_name,
            capacity_bps: link.capacity_bps,
            age_s: link.age_s,
            stale: link.stale,
            reported_limit_bytes: link.reported_limit_bytes,
            limit: switch.and_then(|s| s.limits.get(&id).copied()),
            recent: link.recent,
            targets: link.targets,
            n_b: control.and_then(|c| Some(c.estimate()?.estimates.n_b.value)),
            advised_bytes: control.and_then(|c| c.advice()?.limit_bytes),
            answer: control.and_then(|c| Some(c.verdict()?.answer)),
            on_trial: control.is_some_and(|c| c.trial().is_some()),
        }
    })
}

fn recent(p: &Point, capacity_bps: u64) -> Recent {
    Recent {
        start_ns: p.start_ns,
        utilisation: p.utilisation(capacity_bps),
        loss_rate: (p.arrivals > 0).then(|| p.drops as f64 / p.arrivals as f64),
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
        drops: Some(p.drops),
        ce_marked: p.ce_marked,
        reports_lost: p.reports_lost,
    }
}

fn steadiness(s: tidemark_control::Steadiness) -> Steadiness {
    Steadiness {
        steady: s.steady,
        seconds: s.seconds,
        since_ns: Some(s.since_ns),
    }
}
