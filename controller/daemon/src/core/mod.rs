// SPDX-License-Identifier: Apache-2.0
//! The controller's state and what happens to it, apart from HTTP.
//!
//! [`subscribe`] fills a [`feed::Feed`] per collector; once a second [`tick`]
//! estimates every link, advises, judges past changes and, in auto mode, makes
//! new ones through [`control`]; [`switches`] keeps the switches provisioned
//! and their limits known; [`phases`] marks spans of time for experiments.

pub mod audit;
pub mod clock;
pub mod control;
pub mod feed;
pub mod guard;
pub mod link;
pub mod phases;
pub mod series;
pub mod subscribe;
pub mod switches;
pub mod tick;

use crate::config::Config;
use crate::metrics::Metrics;
use audit::{Audit, lock};
use feed::Feed;
use link::LinkState;
use phases::Phases;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;
use switches::Switch;
use tidemark_estimators::LinkId;
use tidemark_rules::Targets;
use tokio::sync::broadcast;

/// Something that listeners of `/api/v1/events` are told.
#[derive(Clone, Debug)]
pub struct Event {
    /// Name of the event.
    pub name: &'static str,
    pub data: Value,
}

/// Everything the controller knows. Locks are held briefly and one at a time,
/// except that a feed may be locked while a link is read.
pub struct Core {
    pub config: Config,
    pub started: Instant,
    pub feeds: Vec<Mutex<Feed>>,
    pub switches: BTreeMap<u32, Switch>,
    pub links: Mutex<BTreeMap<LinkId, LinkState>>,
    /// Default targets and those of links, as changed since the start.
    pub targets: Mutex<(Targets, BTreeMap<LinkId, Targets>)>,
    pub phases: Mutex<Phases>,
    pub audit: Audit,
    pub metrics: Metrics,
    pub events: broadcast::Sender<Event>,
    /// One limit change at a time.
    pub changing: tokio::sync::Mutex<()>,
}

impl Core {
    /// The state at start. `switches` come from [`switches::connect`].
    ///
    /// # Errors
    /// An audit log that cannot be opened.
    pub fn new(config: Config, switches: BTreeMap<u32, Switch>) -> anyhow::Result<Self> {
        use anyhow::Context as _;
        let log = config.control.audit_log.as_deref();
        let audit = Audit::open(log).with_context(|| match log {
            Some(p) => format!("control.audit_log: {}: cannot be opened", p.display()),
            None => "audit log".into(),
        })?;
        let feeds = config.collectors.iter();
        let feeds = feeds.map(|a| Mutex::new(Feed::new(a, config.retention_s)));
        let of_links = config.links.iter().filter_map(|l| {
            let id = LinkId {
                node_id: l.node,
                port: l.port,
            };
            Some((id, l.targets.clone()?))
        });
        Ok(Self {
            feeds: feeds.collect(),
            switches,
            links: Mutex::default(),
            targets: Mutex::new((config.targets.clone(), of_links.collect())),
            phases: Mutex::default(),
            audit,
            metrics: Metrics::default(),
            events: broadcast::channel(64).0,
            changing: tokio::sync::Mutex::default(),
            started: Instant::now(),
            config,
        })
    }

    /// Targets in force at a link.
    pub fn targets_of(&self, link: LinkId) -> Targets {
        let targets = lock(&self.targets);
        targets.1.get(&link).unwrap_or(&targets.0).clone()
    }

    /// Tells the listeners; nobody listening is fine.
    pub fn emit(&self, name: &'static str, data: Value) {
        let _ = self.events.send(Event { name, data });
    }

    /// Runs `f` on the feed that knows a link best: the one that heard of it
    /// last. `None` when none does.
    pub fn with_feed<T>(&self, link: LinkId, f: impl FnOnce(&Feed) -> T) -> Option<T> {
        let heard = |feed: &Feed| {
            let _ = feed.series.get(&link)?;
            feed.last_update
        };
        let best = self
            .feeds
            .iter()
            .filter_map(|m| Some((heard(&lock(m))?, m)))
            .max_by_key(|(at, _)| *at)?;
        Some(f(&lock(best.1)))
    }

    /// All links with data, in order.
    pub fn known_links(&self) -> Vec<LinkId> {
        let mut all: Vec<LinkId> = self
            .feeds
            .iter()
            .flat_map(|m| lock(m).series.keys().copied().collect::<Vec<_>>())
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
