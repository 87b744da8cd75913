// SPDX-License-Identifier: Apache-2.0
//! What happens once a second.

use super::audit::{lock, unix_ms};
use super::{Core, control, phases};
use crate::api::view;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::advise;

const PERIOD: Duration = Duration::from_secs(1);
/// The window is at least this many effective RTTs long.
const LEAST_RTTS: f64 = 50.0;

/// Ticks until the task is aborted.
pub async fn run(core: Arc<Core>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        once(&core).await;
    }
}

/// One tick.
pub async fn once(core: &Arc<Core>) {
    let working = Arc::clone(core);
    // Estimates may take longer than an async task should.
    let work = tokio::task::spawn_blocking(move || {
        estimate_all(&working);
        phases::complete(&working);
    });
    if let Err(e) = work.await {
        tracing::error!("estimates: {e}");
    }
    control::judge(core).await;
    control::follow(core).await;
    core.metrics.refresh(core);
    let links: Vec<_> = core
        .known_links()
        .into_iter()
        .map(|id| view::link(core, id, false))
        .collect();
    core.emit("update", json!({"unix_ms": unix_ms(), "links": links}));
}

/// The advisor's options at a link: with its own largest limit and the unit of
/// its switch.
pub fn advisor_options(core: &Core, link: LinkId) -> tidemark_rules::Options {
    let mut options = core.config.advisor.clone();
    let max = core.config.max_limit_bytes(link.node_id, link.port) as f64;
    options.max_bytes = Some(options.max_bytes.map_or(max, |m| m.min(max)));
    if let Some(switch) = core.switches.get(&link.node_id) {
        let unit = f64::from(switch.config.limit_unit_bytes);
        options.unit_bytes = options.unit_bytes.max(unit);
    }
    options
}

fn estimate_all(core: &Core) {
    for id in core.known_links() {
        let Some(Some(estimate)) = core.with_feed(id, |feed| estimate(feed, core, id)) else {
            continue;
        };
        let measured = estimate.measured();
        let advice = advise(&measured, &core.targets_of(id), &advisor_options(core, id));
        let mut links = lock(&core.links);
        let state = links.entry(id).or_default();
        state.estimate = Some(Arc::new(estimate));
        state.advice = Some(Arc::new(advice));
    }
}

/// The estimate over the sliding window that ends with what has arrived
/// completely.
fn estimate(feed: &super::feed::Feed, core: &Core, id: LinkId) -> Option<LinkEstimate> {
    let end_ns = feed.complete_ns(id);
    let first_ns = feed.series.get(&id)?.first_ns;
    if end_ns <= first_ns {
        return None;
    }
    let window_ns = (core.config.window_s * 1e9) as u64;
    let mut e = feed.estimate(id, end_ns.saturating_sub(window_ns).max(first_ns), end_ns);
    if let Some(t) = e.estimates.t_e_ms {
        let least_ns = (LEAST_RTTS * t.value * 1e6).min(core.config.retention_s * 1e9) as u64;
        if least_ns > window_ns {
            e = feed.estimate(id, end_ns.saturating_sub(least_ns).max(first_ns), end_ns);
        }
    }
    Some(e)
}
