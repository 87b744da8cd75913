// SPDX-License-Identifier: Apache-2.0
//! One start of the controller: the real core with its own clock. Its tasks are futures that the
//! simulation polls.

use crate::control_link::{Driver, Shared};
use crate::frame::{BOTTLENECK, NODE};
use crate::plan::{Bound, Plan};
use anyhow::Result;
use durable_fs::SharedDisk;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use tidemark_control::{Limit, Mode, Origin, Settings, Timestamp};
use tidemark_controller::config::{CollectorConfig, Config, SwitchConfig};
use tidemark_controller::core::switch::Switch;
use tidemark_controller::core::{Core, Event, switches, tick};
use tidemark_estimators::LinkId;
use tidemark_rules::{Goal, Targets};

/// Directory of the controller's state and log.
pub(crate) const DIR: &str = "/controller";
pub(crate) const LINK: LinkId = LinkId {
    node_id: NODE,
    port: BOTTLENECK,
    queue: 0,
};

/// The clocks of the controller's host.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostClock(Arc<(AtomicI64, AtomicU64)>);

impl HostClock {
    pub(crate) fn set(&self, monotonic_ns: u64, unix_ms: u64) {
        self.0.0.store(monotonic_ns as i64, Ordering::Relaxed);
        self.0.1.store(unix_ms, Ordering::Relaxed);
    }

    fn now(&self) -> Timestamp {
        Timestamp {
            monotonic_ns: self.0.0.load(Ordering::Relaxed),
            unix_ms: self.0.1.load(Ordering::Relaxed),
        }
    }
}

/// File of the audit log.
pub(crate) const AUDIT_LOG: &str = "audit.jsonl";

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A start of the controller.
pub(crate) struct Controller {
    pub(crate) core: Arc<Core>,
    pub(crate) channel: Shared,
    pub(crate) events: tokio::sync::broadcast::Receiver<Event>,
    tick: Option<Task>,
    poll: Option<Task>,
    operator: Option<Task>,
}

/// Returns the guard rails of all runs: the defaults with shorter times.
pub(crate) fn settings(plan: &Plan) -> Settings {
    Settings {
        mode: Mode::Auto,
        audit_log: Some(Path::new(DIR).join(AUDIT_LOG)),
        min_limit_bytes: plan.min_limit_bytes,
        max_limit_bytes: plan.max_limit_bytes,
        min_change_interval_s: 2.0,
        settle_s: 1.0,
        observe_s: 3.0,
        short_window_s: 2.0,
        stable_s: 2,
        rollback_hold_s: 6.0,
        ..Settings::default()
    }
}

/// Returns the targets of auto mode.
pub(crate) fn targets(plan: &Plan) -> Targets {
    let (loss_rate, delay_ms, first) = match plan.bound {
        Bound::DelayMs(ms) => (None, Some(ms), Goal::Delay),
        Bound::LossRate(p) => (Some(p), None, Goal::Loss),
    };
    Targets {
        utilisation: 0.5,
        loss_rate,
        delay_ms,
        priority: vec![first, Goal::Utilisation],
        ..Targets::default()
    }
}

impl Controller {
    /// # Errors
    /// A former start's state or log cannot be read.
    pub(crate) fn start(plan: &Plan, disk: SharedDisk, clock: &HostClock) -> Result<Self> {
        let config = Config {
            collectors: vec![CollectorConfig::new("simulated:1")],
            window_s: 4.0,
            retention_s: 30.0,
            state_file: Some(Path::new(DIR).join("state.json")),
            targets: targets(plan),
            control: settings(plan),
            switches: vec![Self::switch()],
            ..Config::default()
        };
        let channel = Shared::default();
        let driver = Driver {
            channel: channel.clone(),
            start_limit: Limit::DropTail {
                limit_bytes: plan.start_limit_bytes,
            },
        };
        let switch = Switch::new(Self::switch(), Arc::new(driver), false);
        let clock = clock.clone();
        let core = Core::on(
            disk,
            config,
            [(NODE, switch)].into(),
            Arc::new(move || clock.now()),
        )?;
        Ok(Self {
            events: core.events.subscribe(),
            core: Arc::new(core),
            channel,
            tick: None,
            poll: None,
            operator: None,
        })
    }

    fn switch() -> SwitchConfig {
        let mut switch = SwitchConfig::new(NODE, "simulated:1");
        switch.provision = Some(tidemark_southbound::Provision::default());
        switch
    }

    /// Runs the tick of every second, unless the previous one still waits for the switch.
    pub(crate) fn tick(&mut self) {
        if self.tick.is_none() {
            tick::estimates(&self.core);
            let core = Arc::clone(&self.core);
            self.tick = Some(Box::pin(async move { tick::loops(&core).await }));
        }
        self.work();
    }

    /// Returns the limit being written, and its origin.
    pub(crate) fn wants(&self) -> Option<(Origin, Limit)> {
        self.core.read(|s| {
            let write = s.links.get(&LINK)?.state().write()?;
            Some((write.origin(), write.limit()))
        })
    }

    /// Starts polling the switch.
    pub(crate) fn poll_switch(&mut self) {
        if self.poll.is_none() {
            let core = Arc::clone(&self.core);
            self.poll = Some(Box::pin(async move {
                if let Some(switch) = core.switches.get(&NODE) {
                    switches::poll(&core, switch).await;
                }
            }));
        }
        self.work();
    }

    /// Lets an operator request a limit, unless an earlier request still waits.
    pub(crate) fn operator(&mut self, limit: Limit) {
        if self.operator.is_none() {
            let core = Arc::clone(&self.core);
            self.operator = Some(Box::pin(async move {
                // A refusal writes nothing; the checks see that.
                let _ = core.set_limit(LINK, limit, "by hand".into()).await;
            }));
        }
        self.work();
    }

    /// Polls the tasks until all of them wait.
    pub(crate) fn work(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        // A task that ends may unblock another: the lock of a switch has two users.
        for _ in 0..3 {
            for task in [&mut self.tick, &mut self.poll, &mut self.operator] {
                if let Some(t) = task
                    && t.as_mut().poll(&mut context) == Poll::Ready(())
                {
                    *task = None;
                }
            }
        }
    }
}
