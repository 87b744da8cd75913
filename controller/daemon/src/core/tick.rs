// SPDX-License-Identifier: Apache-2.0
//! Work done once a second.
//!
//! The control loops of one switch's links run one after another, those of different switches
//! concurrently: a switch that is slow, or never answers, delays only its own links. Drivers'
//! requests have their own timeouts.

use super::history::Point;
use super::link_telemetry::LinkTelemetry;
use super::parallel;
use super::phases::lifecycle;
use super::{Core, Event, State};
use futures::future::join_all;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidemark_advice::advise;
use tidemark_control::{Input, LinkControl, StationarityWindow, Timestamp, WindowEstimate};
use tidemark_estimators::LinkId;
use tokio::task::JoinSet;

const PERIOD: Duration = Duration::from_secs(1);
/// A tick reports its results after this time, even if some switches have not answered by then.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs a tick every second until the task is aborted.
pub async fn run(core: Arc<Core>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Ends with this task.
    let mut passes = JoinSet::new();
    let is_watched = daemon_kit::notify::watchdog_period().is_some();
    loop {
        ticks.tick().await;
        work(&core).await;
        let mut begun = Vec::new();
        for node in nodes(&core) {
            let core = Arc::clone(&core);
            begun.push(passes.spawn(async move { pass(&core, node).await }));
        }
        let all_ended = async {
            while begun.iter().any(|pass| !pass.is_finished()) {
                if let Some(Err(e)) = passes.join_next().await {
                    tracing::error!("control: {e}");
                }
            }
        };
        // Passes that still wait for a switch continue.
        let _ = tokio::time::timeout(PATIENCE, all_ended).await;
        while passes.try_join_next().is_some() {}
        finish(&core);
        // If the state is locked for good, or estimates never end, this is not reached.
        if is_watched {
            daemon_kit::notify::alive();
        }
    }
}

/// Runs one tick to its end: estimates, advice, phases, then the control loops of the links.
pub async fn once(core: &Arc<Core>) {
    work(core).await;
    loops(core).await;
}

async fn work(core: &Arc<Core>) {
    let working = Arc::clone(core);
    // Estimates may take longer than an async task should.
    let work = tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        estimates(&working);
        working.turns.ended(began.elapsed());
    });
    if let Err(e) = work.await {
        tracing::error!("estimates: {e}");
    }
}

/// Runs the first half of a tick: estimates and advises the links, and completes phases. It may
/// take long, but never waits for a switch.
pub fn estimates(core: &Core) {
    let now = core.now();
    links(core);
    complete_phases(core, now);
    core.write(|s| s.forget_silent(now));
}

/// Number of links that are estimated before the first of them is advised: bounds the memory.
const TOGETHER: usize = 64;

/// Estimates and advises the links that are due and have news. Estimates are most of the work and
/// change no state, so that all cores take part in them.
pub fn links(core: &Core) {
    let now = core.now();
    let known = core.read(|s| {
        let mut known = s.known_links();
        known.retain(|&id| core.turns.is_due(id, s.links.get(&id)) && has_news(s, id));
        known
    });
    for ids in known.chunks(TOGETHER) {
        core.write(|s| {
            for &id in ids {
                s.link_mut(id);
            }
        });
        let windows = parallel::map(ids, |&id| core.read(|s| window(s, id)));
        for (&id, window) in ids.iter().zip(windows) {
            if let Some(window) = window {
                advise_link(core, id, window, now);
            }
        }
    }
}

/// Runs the second half of a tick: the control loops of the links, which may wait for switches.
pub async fn loops(core: &Core) {
    join_all(nodes(core).into_iter().map(|node| pass(core, node))).await;
    finish(core);
}

fn nodes(core: &Core) -> BTreeSet<u32> {
    core.read(|s| s.links.keys().map(|id| id.node_id).collect())
}

/// Runs the control loops of a node's links, one after another. Does nothing while those of an
/// earlier tick still wait for the switch.
async fn pass(core: &Core, node: u32) {
    let under_way = match core.switches.get(&node).map(|s| s.driven.try_lock()) {
        Some(Err(_)) => {
            tracing::debug!(node, "switch: its links still wait for an answer");
            return;
        }
        Some(Ok(under_way)) => Some(under_way),
        None => None,
    };
    let of_node = LinkId::new(node, 0, 0)..=LinkId::new(node, u32::MAX, u32::MAX);
    let links: Vec<LinkId> = core.read(|s| s.links.range(of_node).map(|(&id, _)| id).collect());
    for id in links {
        let now = core.now();
        let readings = core.read(|s| s.readings(id, now));
        core.drive(id, Input::Tick(readings), None).await;
    }
    drop(under_way);
}

fn finish(core: &Core) {
    core.save();
    let unix_ms = core.now().unix_ms;
    core.emit(Event::Estimated { unix_ms });
}

/// The estimate of a link, and the stationarity window on which it depends.
struct Window {
    since: StationarityWindow,
    estimate: WindowEstimate,
}

/// Period in which an idle link is estimated again, in seconds of its clock.
const IDLE_S: u64 = 10;

/// Whether the link needs a new estimate. The last one still holds if its window had no packet,
/// none arrived since, and control does not use the link; it is then renewed every [`IDLE_S`].
fn has_news(s: &State, id: LinkId) -> bool {
    let observed = s.links.get(&id).filter(|l| !l.is_in_use());
    let last = observed.and_then(LinkControl::estimate);
    let Some((last, feed)) = last.zip(s.feed_of(id)) else {
        return true;
    };
    let is_idle = last.arrivals == 0 && feed.estimator.is_quiet(id, last.from_ns);
    let second = feed.complete_ns(id) / 1_000_000_000;
    let turn = u64::from(id.port) + u64::from(id.queue);
    !is_idle || (second + turn).is_multiple_of(IDLE_S)
}

fn window(s: &State, id: LinkId) -> Option<Window> {
    let link = s.links.get(&id)?;
    Some(Window {
        since: link.stationarity(),
        estimate: link.window_estimate(&LinkTelemetry::new(s.feed_of(id)?, id))?,
    })
}

/// Whether the estimate still applies to the link and its records: since then no limit was set and
/// no clock restarted.
fn is_current(s: &State, id: LinkId, window: &Window) -> bool {
    let link = s.links.get(&id).map(LinkControl::stationarity);
    let complete_ns = s.feed_of(id).map_or(0, |feed| feed.complete_ns(id));
    link == Some(window.since) && complete_ns >= window.estimate.estimate.to_ns
}

/// Applies the estimate of a link and advises. The lock is not held while the advisor works.
fn advise_link(core: &Core, id: LinkId, estimated: Window, now: Timestamp) {
    let seen = core.write(|s| {
        let window = if is_current(s, id, &estimated) {
            estimated.estimate
        } else {
            window(s, id)?.estimate
        };
        if let Some(why) = &window.traffic_changed {
            tracing::info!(link = %id, "traffic changed: {why}; advice starts again");
        }
        let estimate = Arc::clone(&window.estimate);
        let options = s.advisor_options(id);
        let link = s.link_mut(id);
        let actions = link.on(Input::Estimate(window), now);
        let measured = link.pooled(estimate.measured());
        let targets = link.targets().clone();
        let tried = link.tried_limits().clone();
        let options = link.keeping(options);
        Some((estimate, measured, actions, targets, tried, options))
    });
    let Some((estimate, mut measured, actions, targets, tried, options)) = seen else {
        return;
    };
    core.record_all(actions);
    measured.tried = tried.of(&measured, now);
    let advice = Box::new(advise(&measured, &targets, &options));
    let measured = Box::new(measured);
    core.write(|s| {
        let link = s.link_mut(id);
        link.on(Input::Advice { advice, measured }, now);
        let advised_bytes = link.advice().and_then(|a| a.limit_bytes);
        let limit_bytes = s.limit_in_force(id).and_then(|l| l.bytes());
        let point = Point::of(&estimate, advised_bytes, limit_bytes);
        s.history.entry(id).or_default().push(point);
    });
}

fn complete_phases(core: &Core, now: Timestamp) {
    let closing = core.read(|s| s.phases.closing());
    for phase in closing {
        let Some(done) = core.read(|s| lifecycle::complete(s, phase, now)) else {
            continue;
        };
        core.emit(Event::Phase(Box::new(done.clone())));
        core.write(|s| s.phases.replace(done));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CollectorConfig, Config};
    use tidemark_proto::telemetry::{LinkInterval, Update, Watermark};

    const S: u64 = 1_000_000_000;
    const LINK: LinkId = LinkId {
        node_id: 10,
        port: 1,
        queue: 0,
    };

    /// Returns a hundred records that end at this second.
    fn records(second: u64) -> Update {
        let start_ns = |i: u64| second * S - (100 - i) * (S / 100);
        let interval = |i| LinkInterval {
            node_id: LINK.node_id,
            port: LINK.port,
            start_ns: start_ns(i),
            duration_ns: S / 100,
            first_start_ns: start_ns(0),
            packets: 1,
            arrivals: 1,
            ..LinkInterval::default()
        };
        Update {
            link_intervals: (0..100).map(interval).collect(),
            watermarks: vec![Watermark {
                node_id: LINK.node_id,
                time_ns: second * S,
            }],
            ..Update::default()
        }
    }

    fn core() -> Core {
        let config = Config {
            collectors: vec![CollectorConfig::new("x")],
            ..Config::default()
        };
        let clock = || Timestamp {
            monotonic_ns: 5 * S as i64,
            unix_ms: 1_800_000_000_000,
        };
        let core = Core::new(config, Default::default(), Arc::new(clock)).unwrap();
        for second in 1..=5 {
            core.take(0, &records(second));
        }
        core.write(|s| {
            s.link_mut(LINK);
        });
        core
    }

    #[test]
    fn an_idle_link_is_estimated_every_ten_seconds_and_one_with_a_packet_at_once() {
        let core = core();
        let estimated_at = |second: u64, update: &Update| {
            core.take(0, update);
            links(&core);
            let to_ns = core.read(|s| s.links[&LINK].estimate().map(|e| e.to_ns));
            assert!(to_ns <= Some(second * S));
            to_ns.map(|ns| ns / S)
        };
        let idle = |second| {
            let mut update = records(second);
            for r in &mut update.link_intervals {
                (r.packets, r.arrivals) = (0, 0);
            }
            update
        };
        for second in 6..=15 {
            assert_eq!(estimated_at(second, &idle(second)), Some(second));
        }
        let seen: BTreeSet<_> = (20..50).map(|s| estimated_at(s, &idle(s))).collect();
        assert_eq!(seen.len(), 4, "{seen:?}");
        assert_eq!(estimated_at(50, &records(50)), Some(50));
        assert_eq!(estimated_at(51, &idle(51)), Some(51));
    }

    /// The link may change between an estimate and its use: the estimate's basis must still exist
    /// then.
    #[test]
    fn an_estimate_of_a_link_that_changed_meanwhile_is_made_again() {
        let core = core();
        let now = core.now();
        let estimated = || core.read(|s| window(s, LINK)).unwrap();
        let counts = |w: &Window| core.read(|s| is_current(s, LINK, w));
        let before = estimated();
        assert!(counts(&before));
        core.take(0, &records(6));
        assert!(counts(&before), "more records change nothing");
        let changed = core.write(|s| {
            let mut other = window(s, LINK)?.estimate;
            other.stationarity.restart(5 * S);
            Some(s.link_mut(LINK).on(Input::Estimate(other), now))
        });
        assert!(changed.is_some() && !counts(&before));
        let after = estimated();
        assert!(counts(&after));
        advise_link(&core, LINK, before, now);
        let since = core.read(|s| s.links.get(&LINK).map(|l| l.stationarity().since_ns()));
        assert_eq!(since, Some(5 * S), "the change is not forgotten");
        core.write(|s| s.feeds.clear());
        assert!(!counts(&after), "its records are gone");
    }
}
