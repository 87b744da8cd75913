// SPDX-License-Identifier: Apache-2.0
//! What happens once a second.

use super::audit::{lock, unix_ms};
use super::feed::Feed;
use super::link::LinkState;
use super::{Core, Event, control, phases};
use crate::config::Control;
use std::sync::Arc;
use std::time::Duration;
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::{Advice, Measured, Targets, advise, predict};

const PERIOD: Duration = Duration::from_secs(1);
/// No window is shorter than this many effective RTTs.
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
    core.save();
    core.metrics.refresh(core);
    core.emit(Event::Estimated { unix_ms: unix_ms() });
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

/// What the advisor aims at: the targets, with the headroom of the control.
pub fn advisor_targets(core: &Core, link: LinkId) -> Targets {
    let mut targets = core.targets_of(link);
    let within = 1.0 - core.config.control.headroom;
    targets.utilisation = 1.0 - (1.0 - targets.utilisation) * within;
    targets.loss_rate = targets.loss_rate.map(|p| p * within);
    targets.delay_ms = targets.delay_ms.map(|d| d * within);
    targets
}

fn estimate_all(core: &Core) {
    for id in core.known_links() {
        let Some(Some(seen)) = core.with_feed(id, |feed| look(core, feed, id)) else {
            continue;
        };
        if let Some(why) = seen.traffic_changed {
            tracing::info!(link = %id, "traffic changed: {why}; advice starts anew");
            control::abandon(core, id, &format!("the traffic changed meanwhile: {why}"));
            if let Some(state) = lock(&core.links).get_mut(&id) {
                state.forget_rollback();
            }
        }
        let measured = seen.estimate.measured();
        let targets = advisor_targets(core, id);
        let options = advisor_options(core, id);
        let advice = advise(&measured, &targets, &options);
        let mut links = lock(&core.links);
        let state = links.entry(id).or_default();
        state.raw_bytes = advice.limit_bytes;
        let shown = steadied(state, &measured, advice, seen.pure, &core.config.control);
        state.estimate = Some(Arc::new(seen.estimate));
        state.advice = Some(Arc::new(shown));
    }
}

/// What one tick saw of a link.
struct Seen {
    estimate: LinkEstimate,
    /// Fit to base advice on.
    pure: bool,
    traffic_changed: Option<String>,
}

/// Estimates a link over the sliding window that ends with what has arrived
/// completely, and starts no earlier than limit and traffic are what they are.
fn look(core: &Core, feed: &Feed, id: LinkId) -> Option<Seen> {
    let end_ns = feed.complete_ns(id);
    let first_ns = feed.span(id)?.0;
    if end_ns <= first_ns {
        return None;
    }
    let ns = |s: f64| (s * 1e9) as u64;
    let mut window_ns = ns(core.config.window_s);
    let mut short_ns = ns(core.config.control.short_window_s).min(window_ns);
    let mut links = lock(&core.links);
    let state = links.entry(id).or_default();
    let reported = feed.series.get(&id).map_or(0, |s| s.limit_bytes);
    if state.conditions.reported_limit(reported) {
        state.conditions.changed(end_ns);
        state.steady.restart();
    }
    let mut span = state.conditions.span(first_ns, end_ns, window_ns, short_ns);
    let mut estimate = feed.estimate(id, span.from_ns, span.to_ns);
    if let Some(t) = estimate.estimates.t_e_ms {
        let least_ns = ns((LEAST_RTTS * t.value / 1e3).min(core.config.retention_s));
        if least_ns > short_ns {
            (window_ns, short_ns) = (window_ns.max(least_ns), least_ns);
            span = state.conditions.span(first_ns, end_ns, window_ns, short_ns);
            estimate = feed.estimate(id, span.from_ns, span.to_ns);
        }
    }
    let mut seen = Seen {
        estimate,
        pure: span.pure,
        traffic_changed: None,
    };
    if let Some((from_ns, to_ns)) = state.conditions.earlier(span, short_ns) {
        let before = feed.estimate(id, from_ns, to_ns).estimates.n_b;
        let latest = feed.estimate(id, end_ns - short_ns, end_ns);
        let now = latest.estimates.n_b;
        if state.conditions.traffic(&before, &now) {
            // Within the short window, on average in its middle.
            state.conditions.changed(end_ns - short_ns / 2);
            state.steady.restart();
            seen = Seen {
                estimate: latest,
                pure: false,
                traffic_changed: Some(format!(
                    "N_b was {:.0} and is {:.0} in the last {:.1} s",
                    before.value,
                    now.value,
                    short_ns as f64 / 1e9
                )),
            };
        }
    }
    Some(seen)
}

/// The advice to show: at the limit that is held steady (see [`Steady`]), with
/// what this second's estimate expects of it.
///
/// [`Steady`]: super::steady::Steady
fn steadied(
    state: &mut LinkState,
    measured: &Measured,
    mut advice: Advice,
    pure: bool,
    control: &Control,
) -> Advice {
    let Some(raw) = advice.limit_bytes.filter(|&b| b > 0) else {
        state.steady.reset();
        return advice;
    };
    if pure {
        state.steady.push(raw, control);
    }
    let held = state.steady.held().unwrap_or(raw);
    if held == raw {
        return advice;
    }
    let scale = held as f64 / raw as f64;
    advice.limit_bytes = Some(held);
    advice.limit_packets = advice.limit_packets.map(|v| v * scale);
    advice.limit_ms = advice.limit_ms.map(|v| v * scale);
    advice.predicted = predict(measured, held as f64).ok();
    advice.reasons.push(match state.steady.range() {
        Some((low, high, count)) => format!(
            "the advice stays at {held} bytes: that of the last {count} s lay between {low} and {high} bytes, and its median within {:.0} % of it",
            control.hysteresis * 100.0
        ),
        None => format!(
            "the advice stays at {held} bytes until there is enough of the traffic as it is now"
        ),
    });
    advice
}
