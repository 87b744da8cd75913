// SPDX-License-Identifier: Apache-2.0
//! The controller's state and what happens to it, apart from HTTP.
//!
//! [`subscribe`] fills a [`feed::Feed`] per collector; once a second [`tick`]
//! estimates every link, advises, judges past changes and, in auto mode, makes
//! new ones through [`control`]; [`switches`] keeps the switches provisioned
//! and their limits known; [`phases`] marks spans of time for experiments.

pub mod audit;
pub mod clock;
pub mod conditions;
pub mod control;
pub mod feed;
pub mod guard;
pub mod link;
pub mod phases;
pub mod series;
pub mod state;
pub mod steady;
pub mod subscribe;
pub mod switches;
pub mod tick;
pub mod tried;
pub mod watching;

use crate::config::{Config, Mode};
use crate::metrics::Metrics;
use crate::store::Stats;
use audit::{Audit, Change, lock};
use feed::Feed;
use link::LinkState;
use phases::{Phase, Phases};
use state::StateFile;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;
use switches::Switch;
use tidemark_estimators::LinkId;
use tidemark_proto::telemetry::Update;
use tidemark_rules::Targets;
use tokio::sync::broadcast;

/// Something that happened. Listeners read what else they need from [`Core`].
#[derive(Clone, Debug)]
pub enum Event {
    /// Every link was estimated again.
    Estimated { unix_ms: u64 },
    /// A limit was set, refused, judged or rolled back.
    Changed(Box<Change>),
    /// A phase started, ended or completed.
    Phase(Box<Phase>),
    /// The connection to a collector came or went.
    Collector {
        address: String,
        connected: bool,
        problem: Option<String>,
    },
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
    /// What may be done with advice, as set since the start.
    pub mode: Mutex<Mode>,
    pub phases: Mutex<Phases>,
    pub state_file: Option<StateFile>,
    pub audit: Audit,
    /// What the audit log's store has done, where there is one.
    pub store: OnceLock<Arc<Stats>>,
    pub metrics: Metrics,
    pub events: broadcast::Sender<Event>,
    /// One limit change at a time.
    pub changing: tokio::sync::Mutex<()>,
}

impl Core {
    /// The state at start, with what a former run saved. `switches` come from
    /// [`switches::connect`].
    ///
    /// # Errors
    /// An audit log that cannot be opened, a state file that makes no sense.
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
        let state_file = config.state_file.as_deref().map(StateFile::new);
        let saved = state_file.as_ref().map(StateFile::load).transpose()?;
        let core = Self {
            feeds: feeds.collect(),
            switches,
            links: Mutex::default(),
            targets: Mutex::new((config.targets.clone(), of_links.collect())),
            phases: Mutex::default(),
            audit,
            store: OnceLock::new(),
            metrics: Metrics::default(),
            events: broadcast::channel(64).0,
            changing: tokio::sync::Mutex::default(),
            mode: Mutex::new(config.control.mode),
            state_file,
            started: Instant::now(),
            config,
        };
        if let Some(saved) = saved {
            state::restore(&core, &saved);
        }
        Ok(core)
    }

    /// What may be done with advice now.
    pub fn mode(&self) -> Mode {
        *lock(&self.mode)
    }

    /// Saves what a restart must not lose. A file that cannot be written is
    /// logged, not fatal.
    pub fn save(&self) {
        if let Some(file) = &self.state_file {
            if let Err(e) = file.store(&state::snapshot(self)) {
                tracing::error!("state_file: cannot be written: {e}");
            }
        }
    }

    /// Takes an update of the collector with this index.
    pub fn take(&self, index: usize, update: &Update) {
        let Some(feed) = self.feeds.get(index) else {
            return;
        };
        let restarted = lock(feed).push(update, Instant::now());
        for node in restarted {
            self.node_restarted(node);
        }
        lock(&self.phases).account(update);
    }

    /// The clock of a node started anew (the switch was restarted): nothing
    /// dated by the old one means anything now.
    fn node_restarted(&self, node: u32) {
        tracing::warn!(
            node,
            "switch: its clock started anew; series and estimates of the node start anew with it"
        );
        lock(&self.phases).node_restarted(node);
        let ids: Vec<LinkId> = lock(&self.links)
            .keys()
            .filter(|id| id.node_id == node)
            .copied()
            .collect();
        for id in ids {
            control::abandon(self, id, "the clock of the switch started anew");
            if let Some(state) = lock(&self.links).get_mut(&id) {
                state.estimate = None;
                state.advice = None;
                state.raw_bytes = None;
                state.conditions = conditions::Conditions::default();
                state.steady.restart();
            }
        }
    }

    /// Targets in force at a link.
    pub fn targets_of(&self, link: LinkId) -> Targets {
        let targets = lock(&self.targets);
        targets.1.get(&link).unwrap_or(&targets.0).clone()
    }

    /// Tells the listeners; nobody listening is fine.
    pub fn emit(&self, event: Event) {
        let _ = self.events.send(event);
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
