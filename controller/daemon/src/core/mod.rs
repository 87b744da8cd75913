// SPDX-License-Identifier: Apache-2.0
//! The controller's state and what happens to it, apart from HTTP.
//!
//! [`Core`] is shared by tasks and requests. It owns the [`State`] under one lock, for many readers
//! or one writer, which is never held across a call to a switch or a file. It carries out the
//! decisions of each link's closed loop ([`tidemark_control::LinkControl`]).
//!
//! * [`subscribe`] fills a [`feed::Feed`] per collector;
//! * [`tick`] estimates every link once a second, advises, and drives the loops;
//! * [`limits`] carries out their actions: reads, writes, records;
//! * [`switches`] keeps every [`switch`] provisioned and its limits known;
//! * [`phases`] marks spans of time for experiments;
//! * [`audit`] and [`state_file`] keep what must survive a restart;
//! * [`Recording`] is a finished run in place of collectors;
//! * [`time`] alone reads the clocks of the host.

pub mod audit;
mod event;
pub mod feed;
pub mod flow_windows;
pub mod history;
pub mod limits;
mod link_status;
mod link_telemetry;
mod parallel;
pub mod phases;
#[cfg(test)]
#[path = "power_cuts_tests.rs"]
mod power_cuts;
mod query;
mod recording;
pub mod series;
pub mod share;
pub mod state;
pub(crate) mod state_file;
pub mod subscribe;
pub mod switch;
pub mod switch_clock;
pub mod switches;
pub mod tick;
pub mod time;
pub mod turns;

pub use event::Event;
pub use link_status::LinkStatus;
pub use recording::{Concluded, Recording};
pub use state::State;

use crate::config::Config;
use crate::metrics::Metrics;
use crate::store::Stats;
use anyhow::Context as _;
use audit::Audit;
use durable_fs::SharedDisk;
use parking_lot::RwLock;
use state_file::StateFile;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use switch::Switch;
use tidemark_control::{Action, Input, Timestamp};
use tidemark_estimators::LinkId;
use tidemark_proto::telemetry::{CollectorInfo, Update};
use time::Clock;
use tokio::sync::broadcast;

/// State shared by tasks and requests.
pub struct Core {
    /// The configuration.
    pub config: Arc<Config>,
    /// Switches whose limits can be set, by node.
    pub switches: BTreeMap<u32, Switch>,
    /// Every limit change, wanted or made.
    pub audit: Audit,
    /// Metrics of `/metrics`.
    pub metrics: Metrics,
    /// Channel of events, for listeners to subscribe to.
    pub events: broadcast::Sender<Event>,
    /// Decides which links are estimated in a second.
    pub turns: turns::Turns,
    /// Counters of the audit log's store, if there is one.
    pub store: OnceLock<Arc<Stats>>,
    /// The finished run that is shown, if any; then nothing is written.
    recording: Option<Recording>,
    state: RwLock<State>,
    state_file: Option<StateFile>,
    clock: Clock,
    started: Timestamp,
}

impl Core {
    /// Creates the state, with what an earlier run saved. `switches` come from [`switch::connect`].
    pub fn new(
        config: Config,
        switches: BTreeMap<u32, Switch>,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        Self::on(durable_fs::real(), config, switches, clock)
    }

    /// Like [`Core::new`], with state file and log on a given disk.
    pub fn on(
        disk: SharedDisk,
        config: Config,
        switches: BTreeMap<u32, Switch>,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let log = config.control.audit_log.as_deref();
        let audit = Audit::open_on(&*disk, log).with_context(|| match log {
            Some(p) => format!("control.audit_log: {}: cannot be opened", p.display()),
            None => "audit log".into(),
        })?;
        let state_file = config.state_file.as_deref();
        let state_file = state_file.map(|path| StateFile::on(disk, path));
        let saved = state_file.as_ref().map(StateFile::load).transpose()?;
        let config = Arc::new(config);
        let started = clock();
        let mut state = State::new(&config);
        for &node in switches.keys() {
            state.switches.entry(node).or_default();
        }
        if let Some(saved) = saved {
            state_file::restore(&mut state, &config, &saved, started);
        }
        for (&id, logged) in audit.logged() {
            let mut logged = logged.clone();
            if config.state_file.is_none() {
                // Without a state file, nothing of an earlier run counts.
                logged.last_set = None;
            }
            state.link_mut(id).resume(logged, started);
        }
        Ok(Self {
            config,
            switches,
            audit,
            metrics: Metrics::default(),
            events: broadcast::channel(64).0,
            turns: turns::Turns::default(),
            store: OnceLock::new(),
            recording: None,
            state: RwLock::new(state),
            state_file,
            clock,
            started,
        })
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns the time since the start, s.
    pub fn uptime_s(&self) -> f64 {
        self.now().since_s(self.started)
    }

    /// Runs `f` on the state, which other readers may share. No writer can change it meanwhile, so
    /// `f` must be short.
    pub fn read<T>(&self, f: impl FnOnce(&State) -> T) -> T {
        f(&self.state.read())
    }

    /// Like [`read`](Self::read), with exclusive access, to change the state.
    fn write<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.write())
    }

    /// Saves what must survive a restart. If the file cannot be written, this is logged, not fatal.
    pub fn save(&self) {
        if let Some(file) = &self.state_file {
            let now = self.now();
            let saved = self.read(|s| state_file::snapshot(s, &self.config, now));
            if let Err(e) = file.store(&saved) {
                tracing::error!("state_file: cannot be written: {e}");
            }
        }
    }

    /// Returns why the last write of the state file failed; `None` if it did not.
    pub fn state_problem(&self) -> Option<String> {
        self.state_file.as_ref().and_then(StateFile::problem)
    }

    /// Sends an event to the listeners, if there are any.
    fn emit(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Notes that the collector with this index answered. Returns whether it has restarted since
    /// its last answer.
    pub fn connected(&self, index: usize, info: CollectorInfo) -> bool {
        self.write(|s| s.feeds.get_mut(index).is_some_and(|f| f.connected(info)))
    }

    /// Notes that the connection to the collector with this index ended. Returns whether this is
    /// news.
    pub fn disconnected(&self, index: usize, problem: String) -> bool {
        self.write(|s| {
            let Some(feed) = s.feeds.get_mut(index) else {
                return false;
            };
            let news = feed.connected || feed.problem.is_none();
            feed.disconnected(problem);
            news
        })
    }

    /// Takes an update of the collector with this index. Returns the nodes whose
    /// clocks restarted with it.
    pub fn take(&self, index: usize, update: &Update) -> Vec<u32> {
        let now = self.now();
        let (restarted, actions) = self.write(|s| {
            let Some(feed) = s.feeds.get_mut(index) else {
                return (Vec::new(), Vec::new());
            };
            let restarted = feed.push(update, now);
            let actions = restarted.iter().flat_map(|&n| clock_restarted(s, n, now));
            let actions = actions.collect();
            s.phases.account(update);
            (restarted, actions)
        });
        self.record_all(actions);
        restarted
    }
}

/// Handles the restart of a node's clock (with its switch): nothing dated by the old clock is valid
/// any more.
fn clock_restarted(state: &mut State, node: u32, now: Timestamp) -> Vec<Action> {
    tracing::warn!(
        node,
        "switch: its clock restarted; series and estimates of the node start again"
    );
    state.phases.node_restarted(node);
    state.history.retain(|id, _| id.node_id != node);
    let of_node = |(id, _): &(&LinkId, _)| id.node_id == node;
    let links = state.links.iter_mut().filter(of_node);
    links
        .flat_map(|(_, l)| l.on(Input::ClockRestarted, now))
        .collect()
}
