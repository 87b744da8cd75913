// SPDX-License-Identifier: Apache-2.0
//! A switch that takes calls and never answers, next to one that does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::common;

use async_trait::async_trait;
use common::{FakeSwitch, NODE, PORT, Traffic, info};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tidemark_control::Mode;
use tidemark_controller::config::{Config, SwitchConfig};
use tidemark_controller::core::switch::Switch;
use tidemark_controller::core::{Core, switches, tick, time};
use tidemark_proto::telemetry::{CollectorInfo, Update};
use tidemark_southbound::{
    Description, Error, Health, Limit, MayWriteLimit, Provision, Provisioned, Southbound,
    SwitchReader,
};

/// Sorts before the other node.
const HUNG: u32 = NODE - 1;

#[derive(Default)]
struct HungSwitch {
    limits_asked: AtomicU64,
}

#[async_trait]
impl SwitchReader for HungSwitch {
    fn describe(&self) -> Description {
        Description {
            driver: "hung",
            address: "memory".into(),
            device_id: 1,
            limit_unit_bytes: 1,
        }
    }
    async fn read_limit(&self, _: u32) -> Result<Limit, Error> {
        self.limits_asked.fetch_add(1, Ordering::Relaxed);
        std::future::pending().await
    }
    async fn observe(&self) -> Health {
        std::future::pending().await
    }
}

#[async_trait]
impl Southbound for HungSwitch {
    async fn provision(&self, _: &Provision, _: MayWriteLimit<'_>) -> Result<Provisioned, Error> {
        std::future::pending().await
    }
    async fn set_limit(&self, _: u32, _: Limit) -> Result<Limit, Error> {
        std::future::pending().await
    }
    async fn report_port(&self, _: u32, _: bool) -> Result<(), Error> {
        std::future::pending().await
    }
    async fn health(&self) -> Health {
        std::future::pending().await
    }
}

fn both() -> CollectorInfo {
    let mut info = info("first");
    let mut hung = info.nodes[0].clone();
    hung.node_id = HUNG;
    info.nodes.push(hung);
    info
}

/// Sends the update's traffic through both switches.
fn doubled(mut update: Update) -> Update {
    let mut more = update.clone();
    more.link_intervals
        .iter_mut()
        .for_each(|i| i.node_id = HUNG);
    more.flow_intervals.iter_mut().for_each(|i| {
        i.node_id = HUNG;
        i.flow_id += 100;
    });
    more.flows.iter_mut().for_each(|f| f.flow_id += 100);
    more.drops.iter_mut().for_each(|d| {
        d.node_id = HUNG;
        d.flow_id += 100;
    });
    more.watermarks.iter_mut().for_each(|w| w.node_id = HUNG);
    update.link_intervals.append(&mut more.link_intervals);
    update.flow_intervals.append(&mut more.flow_intervals);
    update.flows.append(&mut more.flows);
    update.drops.append(&mut more.drops);
    update.watermarks.append(&mut more.watermarks);
    update
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_that_never_answers_delays_no_other() {
    let mut config = Config::default();
    config.control.mode = Mode::Auto;
    config.control.min_limit_bytes = 6000;
    config.targets.delay_ms = Some(30.0);
    config.check().unwrap();
    let (good, hung) = (
        Arc::new(FakeSwitch::default()),
        Arc::new(HungSwitch::default()),
    );
    let limit = Limit::DropTail {
        limit_bytes: 250_000,
    };
    good.limits.lock().unwrap().insert(PORT, limit);
    let switch = |node, driver: Arc<dyn Southbound>| {
        let mut described = SwitchConfig::new(node, "memory:1");
        described.provision = Some(Provision::default());
        (node, Switch::new(described, driver, false))
    };
    let switches = [switch(HUNG, hung.clone()), switch(NODE, good.clone())].into();
    let core = Arc::new(Core::new(config, switches, Arc::new(time::now)).unwrap());
    core.connected(0, both());
    let mut traffic = Traffic::new(250_000);
    for _ in 0..2000 {
        let update = doubled(traffic.next_update());
        core.take(0, &update);
    }
    let tasks = [
        tokio::spawn(tick::run(Arc::clone(&core))),
        tokio::spawn(switches::run(Arc::clone(&core), HUNG)),
        tokio::spawn(switches::run(Arc::clone(&core), NODE)),
    ];
    // The limit of the hung switch is never answered; that of the other one moves.
    let moved = async {
        let (begun, before_ns) = (Instant::now(), traffic.now_ns());
        let in_force = || good.limits.lock().unwrap()[&PORT];
        while in_force() == limit || hung.limits_asked.load(Ordering::Relaxed) == 0 {
            // A busy machine sleeps longer: the switches' clocks keep up all the same.
            while u128::from(traffic.now_ns() - before_ns) < begun.elapsed().as_nanos() {
                let update = doubled(traffic.next_update());
                core.take(0, &update);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), moved)
        .await
        .expect("the limit of the switch that answers is set");
    // Its links wait, and ticks do not pile up behind them.
    let asked = hung.limits_asked.load(Ordering::Relaxed);
    let mut events = core.events.subscribe();
    for _ in 0..3 {
        events.recv().await.unwrap();
    }
    assert_eq!(hung.limits_asked.load(Ordering::Relaxed), asked);
    for task in tasks {
        task.abort();
    }
}
