// SPDX-License-Identifier: Apache-2.0
//! The core's interface to requests: queries answered from snapshots, and commands.

use super::feed::Feed;
use super::limits::Done;
use super::phases::{Phase, PhaseError, lifecycle};
use super::switch::SwitchState;
use super::{Core, Event, LinkStatus, State, tick};
use crate::config::Mode;
use crate::metrics::{AuditSample, CollectorSample, LinkSample, Snapshot};
use crate::store::Stats;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tidemark_control::{ControlError, Input, Limit, LinkControl};
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::Targets;
use tidemark_southbound::Error;

/// How long a request waits for the tick that it needs.
const TICK_WITHIN: Duration = Duration::from_secs(2);

impl Core {
    /// Runs `f` on the feed that heard of a link last. `None` if there is none.
    pub fn with_feed<T>(&self, link: LinkId, f: impl FnOnce(&Feed) -> T) -> Option<T> {
        self.read(|s| s.feed_of(link).map(f))
    }

    /// Returns all links with data, in order.
    pub fn known_links(&self) -> Vec<LinkId> {
        self.read(|s| s.known_links())
    }

    /// Returns the closed loop of a link; `None` before its first estimate.
    pub fn link(&self, link: LinkId) -> Option<LinkStatus> {
        self.read(|s| s.link_status(link))
    }

    /// Returns the last estimate of every link that has one.
    pub fn estimates(&self) -> Vec<(LinkId, Arc<LinkEstimate>)> {
        let of = |(&id, l): (&LinkId, &LinkControl)| Some((id, Arc::clone(l.estimate()?)));
        self.read(|s| s.links.iter().filter_map(of).collect())
    }

    /// Returns the state of the switch of a node; `None` if none is configured.
    pub fn switch_state(&self, node: u32) -> Option<SwitchState> {
        self.read(|s| s.switches.get(&node).cloned())
    }

    /// Checks whether the advice of a link could be applied now.
    pub fn may_apply(&self, link: LinkId) -> Result<(), ControlError> {
        let now = self.now();
        let found = self.read(|s| {
            let readings = s.readings(link, now);
            s.links.get(&link).map(|l| l.may_apply(&readings, now))
        });
        match found {
            Some(may) => may.map(drop),
            None => self.write(|s| {
                let readings = s.readings(link, now);
                s.link_mut(link).may_apply(&readings, now).map(drop)
            }),
        }
    }

    /// Sets the limit that an operator asks for.
    pub async fn set_limit(
        &self,
        link: LinkId,
        limit: Limit,
        reason: String,
    ) -> Result<Done, ControlError> {
        let input = |readings| Input::Set {
            limit,
            reason,
            readings,
        };
        self.command(link, input).await
    }

    /// Applies the current advice. `seen_bytes`: the advice that the operator saw; the request is
    /// refused if the advice has moved by more than 5 % since.
    pub async fn confirm_advice(
        &self,
        link: LinkId,
        seen_bytes: Option<u64>,
    ) -> Result<Done, ControlError> {
        let input = |readings| Input::Confirm {
            seen_bytes,
            readings,
        };
        self.command(link, input).await
    }

    /// Turns the reports of packets that leave through a port on or off. Returns whether the switch
    /// was written, which it is not in a dry run.
    pub async fn report_port(&self, node: u32, port: u32, on: bool) -> Result<bool, ControlError> {
        let Some(switch) = self.switches.get(&node) else {
            return Err(ControlError::NoSwitch(node));
        };
        match switch.driver.report_port(port, on).await {
            Ok(()) => Ok(true),
            Err(e @ Error::DryRun { .. }) => {
                tracing::info!(node, port, "{e}");
                Ok(false)
            }
            Err(e) => Err(ControlError::Switch(e.to_string())),
        }
    }

    /// Sets the targets of a link, or the default ones if it is `None`. The next answer's advice
    /// follows them, unless a switch takes long to answer.
    pub async fn set_targets(self: &Arc<Self>, link: Option<LinkId>, targets: Targets) {
        let now = self.now();
        self.write(|s| {
            match link {
                Some(id) => {
                    s.link_targets.insert(id, targets);
                }
                None => s.default_targets = targets,
            }
            let ids = s.links.keys().copied().collect::<Vec<_>>();
            for id in ids {
                if link.is_none_or(|l| l == id) {
                    let targets = s.targets_of(id);
                    s.link_mut(id).on(Input::Targets(targets), now);
                }
            }
        });
        self.save();
        let core = Arc::clone(self);
        // In its own task, so that no write is aborted half-way when nobody waits any more.
        let ticked = tokio::spawn(async move { tick::once(&core).await });
        let _ = tokio::time::timeout(TICK_WITHIN, ticked).await;
    }

    /// Sets how far the controller may go in applying advice.
    pub fn set_mode(&self, mode: Mode) {
        let now = self.now();
        self.write(|s| {
            s.mode = mode;
            for link in s.links.values_mut() {
                link.on(Input::Mode(mode), now);
            }
        });
        tracing::info!(?mode, "mode set by an operator");
        self.save();
    }

    /// Returns the current values of the metrics.
    pub fn metrics_snapshot(&self) -> Snapshot {
        let now = self.now();
        let links = |s: &State| {
            let link = |link: LinkId| {
                let feed = s.feed_of(link);
                let port = feed.and_then(|f| f.port(link));
                let control = s.links.get(&link);
                LinkSample {
                    link,
                    node_name: feed.map_or("", |f| f.node_name(link.node_id)).to_owned(),
                    port_name: port.map_or("", |p| p.name.as_str()).to_owned(),
                    capacity_bps: Some(s.capacity_bps(link)).filter(|&bps| bps > 0),
                    limit_bytes: s.limit_in_force(link).and_then(|l| l.bytes()),
                    verdict: control.and_then(|l| l.verdict().cloned()),
                    estimate: control.and_then(|l| l.estimate().cloned()),
                    targets: s.targets_of(link),
                    report_age_s: feed.and_then(|f| f.report_age_s(link, now)),
                }
            };
            s.known_links().into_iter().map(link).collect()
        };
        let collector = |f: &Feed| CollectorSample {
            address: f.address.clone(),
            connected: f.connected,
            age_s: f.age_s(now),
            updates: f.updates,
            updates_lost: f.updates_lost,
        };
        let stored = |f: fn(&Stats) -> &AtomicU64| {
            let stats = self.store.get();
            stats.map_or(0, |s| f(s).load(Ordering::Relaxed))
        };
        let audit = AuditSample {
            not_written: self.audit.health().not_written,
            stored: stored(|s| &s.stored),
            rejected: stored(|s| &s.rejected),
            retries: stored(|s| &s.retries),
            waiting_bytes: stored(|s| &s.waiting_bytes),
        };
        self.read(|s| Snapshot {
            links: links(s),
            collectors: s.feeds.iter().map(collector).collect(),
            switches: s.switches.iter().map(|(&n, s)| (n, s.is_ready())).collect(),
            auto: s.mode == Mode::Auto,
            audit,
        })
    }

    /// Starts a phase at every known link.
    pub fn start_phase(&self, name: &str) -> Result<Phase, PhaseError> {
        let now = self.now();
        let phase = self.write(|s| lifecycle::start(s, name, now))?;
        self.emit(Event::Phase(Box::new(phase.clone())));
        Ok(phase)
    }

    /// Ends a running phase; it completes once its telemetry has arrived.
    pub fn end_phase(&self, name: &str) -> Result<Phase, PhaseError> {
        let now = self.now();
        let phase = self.write(|s| lifecycle::end(s, name, now))?;
        self.emit(Event::Phase(Box::new(phase.clone())));
        Ok(phase)
    }
}
