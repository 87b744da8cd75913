// SPDX-License-Identifier: Apache-2.0
//! A link with known traffic, a switch in memory, and requests to the API.
#![allow(dead_code)] // each test file uses its part

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use daemon_kit::doctor::Finding;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tidemark_controller::api::{self, Token};
use tidemark_controller::config::{Config, SwitchConfig};
use tidemark_controller::core::switch::Switch;
use tidemark_controller::core::{Core, time};
use tidemark_proto::histogram::Counts;
use tidemark_proto::telemetry::{
    CollectorInfo, CollectorStatus, Drop, FlowInfo, FlowInterval, FlowKey, LinkInterval, Node,
    Port, ProbeInterval, Update, Watermark,
};
use tidemark_southbound::{
    Description, Error, Expected, Health, Inspection, Limit, MayWriteLimit, Provision, Provisioned,
    Southbound, SwitchReader,
};
use tower::ServiceExt as _;

pub(crate) const TOKEN: &str = "a-token-for-tests";
pub(crate) const NODE: u32 = 10;
pub(crate) const PORT: u32 = 5;
pub(crate) const CAPACITY_BPS: u64 = 100_000_000;
const INTERVAL_NS: u64 = 10_000_000;
const FLOWS: u64 = 6;
const SWING: u64 = 300;

/// A switch in memory.
#[derive(Default)]
pub(crate) struct FakeSwitch {
    pub limits: Mutex<BTreeMap<u32, Limit>>,
    /// Whether it refuses to write.
    pub broken: AtomicBool,
    /// Whether it holds something else than was written.
    pub liar: AtomicBool,
    pub reports: Mutex<BTreeMap<u32, bool>>,
    /// Whether it has no program until it is provisioned.
    pub empty: AtomicBool,
    /// Whether it gives no answer when it is provisioned next.
    pub hushed: AtomicBool,
    /// Whether its program was pushed, but no answer has said so.
    pub push_untold: AtomicBool,
    /// Number of calls that change it.
    pub writes: AtomicU64,
}

#[async_trait]
impl SwitchReader for FakeSwitch {
    fn describe(&self) -> Description {
        Description {
            driver: "fake",
            address: "memory".into(),
            device_id: 1,
            limit_unit_bytes: 1,
        }
    }
    async fn read_limit(&self, port: u32) -> Result<Limit, Error> {
        let limits = self.limits.lock().unwrap();
        Ok(limits.get(&port).copied().unwrap_or(Limit::Unlimited))
    }
    async fn observe(&self) -> Health {
        Health {
            connected: true,
            program_loaded: !self.empty.load(Ordering::Relaxed),
            ..Health::default()
        }
    }
    /// Returns findings that name what it is checked against.
    async fn inspect(&self, expected: &Expected<'_>) -> Inspection {
        let capacities = format!("{:?}", expected.capacities_bps);
        Inspection {
            findings: vec![Finding::ok("capacities", capacities)],
            hardware_drops_pkts: [(5, 18)].into(),
        }
    }
}

#[async_trait]
impl Southbound for FakeSwitch {
    async fn provision(
        &self,
        plan: &Provision,
        may_write: MayWriteLimit<'_>,
    ) -> Result<Provisioned, Error> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        let pushed = self.empty.swap(false, Ordering::Relaxed);
        self.push_untold.fetch_or(pushed, Ordering::Relaxed);
        let mut done = Provisioned::default();
        for (port, wanted) in plan.limit_ports().unwrap() {
            let mut limits = self.limits.lock().unwrap();
            if !limits.contains_key(&port) && may_write(port, wanted) {
                limits.insert(port, wanted);
                done.written_ports.insert(port);
            }
            let held = limits.get(&port).copied();
            done.limits.insert(port, held.unwrap_or(Limit::Unlimited));
        }
        if self.hushed.swap(false, Ordering::Relaxed) {
            return Err(Error::Connect {
                address: "memory".into(),
                reason: "no answer in time".into(),
            });
        }
        done.pushed = self.push_untold.swap(false, Ordering::Relaxed);
        Ok(done)
    }
    async fn set_limit(&self, port: u32, limit: Limit) -> Result<Limit, Error> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        if self.broken.load(Ordering::Relaxed) {
            return Err(Error::Connect {
                address: "memory".into(),
                reason: "unplugged".into(),
            });
        }
        if self.liar.load(Ordering::Relaxed) {
            return Err(Error::ReadBack {
                address: "memory".into(),
                port,
                wanted: limit,
                found: Limit::Unlimited,
            });
        }
        self.limits.lock().unwrap().insert(port, limit);
        Ok(limit)
    }
    async fn report_port(&self, port: u32, on: bool) -> Result<(), Error> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.reports.lock().unwrap().insert(port, on);
        Ok(())
    }
    async fn health(&self) -> Health {
        Health {
            primary: true,
            ..self.observe().await
        }
    }
}

/// A collector's description of itself.
pub(crate) fn info(instance: &str) -> CollectorInfo {
    CollectorInfo {
        version: "test".into(),
        instance: instance.into(),
        interval_ms: 10,
        nodes: vec![Node {
            node_id: NODE,
            name: "s1".into(),
            ports: vec![Port {
                port: PORT,
                name: "bottleneck".into(),
                capacity_bps: CAPACITY_BPS,
                wire_overhead_bytes: 38,
                queue_overhead_bytes: 14,
            }],
            depth_unit_bytes: 1,
        }],
        capture_dir: String::new(),
    }
}

/// Six Reno flows with RTT 20 ms that share a link whose queue swings between
/// half full and full, all of them losing a packet at the top of every swing
/// of 3 s.
pub(crate) struct Traffic {
    pub limit_bytes: u64,
    /// Port that the reports name.
    pub port: u32,
    /// Whether all reports come as metadata in packets (INT-MD).
    pub of_hops: bool,
    pub two_clocks: bool,
    /// Share of the capacity that is used.
    pub load: f64,
    /// Number of drops of every flow at the top of a swing.
    pub drops_per_flow: u32,
    /// Number of flows.
    pub flows: u64,
    pub step: u64,
    received: u64,
}

impl Traffic {
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Self {
            limit_bytes,
            port: PORT,
            of_hops: false,
            two_clocks: false,
            load: 1.0,
            drops_per_flow: 1,
            flows: FLOWS,
            step: 0,
            received: 0,
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.step * INTERVAL_NS
    }

    /// Returns the update of the next interval.
    pub(crate) fn next_update(&mut self) -> Update {
        let start_ns = self.step * INTERVAL_NS;
        let phase = self.step % SWING;
        let lossy = phase == SWING - 1;
        let occupancy = self.limit_bytes / 2 + self.limit_bytes * phase / (2 * SWING);
        let occupancy = occupancy.saturating_sub(u64::from(!lossy) * 2000);
        // As many as the link carries in an interval.
        let all = (CAPACITY_BPS as f64 / 800.0 * self.load / 1538.0) as u32;
        let drops = if lossy { self.drops_per_flow } else { 0 };
        let all_drops = drops * self.flows as u32;
        let delay_ns = occupancy * 8 * 1_000_000_000 / CAPACITY_BPS;
        let histogram = |value: u64| {
            let mut c = Counts::new();
            (0..all).for_each(|_| c.record(value));
            Some(c.take())
        };
        let mut u = Update {
            sequence: self.step,
            ..Update::default()
        };
        if self.step == 0 {
            u.flows = (0..FLOWS).map(flow_info).collect();
        }
        u.link_intervals.push(LinkInterval {
            node_id: NODE,
            port: self.port,
            start_ns,
            duration_ns: INTERVAL_NS,
            packets: all,
            ip_bytes: u64::from(all) * 1500,
            // A link at load 1 is full: a part of a packet also left in the interval.
            wire_bytes: ((CAPACITY_BPS / 8 / 100) as f64 * self.load) as u64,
            arrivals: all + all_drops,
            arrival_ip_bytes: u64::from(all + all_drops) * 1500,
            drops: all_drops,
            drop_ip_bytes: u64::from(all_drops) * 1500,
            occupancy_bytes: histogram(occupancy),
            occupancy_max_bytes: occupancy,
            occupancy_sum_bytes: occupancy * u64::from(all),
            delay_ns: histogram(delay_ns),
            delay_max_ns: delay_ns,
            delay_sum_ns: delay_ns * u64::from(all),
            limit_bytes: self.limit_bytes,
            ..LinkInterval::default()
        });
        // Windows grow by one segment per RTT and are halved by the loss.
        let rtt_ns = 20_000_000 + delay_ns;
        let top = (CAPACITY_BPS / 8 * 20 / 1000 + self.limit_bytes) / 1500 / self.flows;
        let cwnd = (top / 2 + top / 2 * phase / SWING) as u32;
        let flows = self.flows as u32;
        for f in 0..self.flows {
            let packets = all / flows + u32::from((f as u32) < all % flows);
            u.flow_intervals.push(FlowInterval {
                flow_id: f + 1,
                node_id: NODE,
                port: self.port,
                start_ns,
                duration_ns: INTERVAL_NS,
                packets,
                ip_bytes: u64::from(packets) * 1500,
                wire_bytes: u64::from(packets) * 1538,
                payload_bytes: u64::from(packets) * 1448,
                drops,
                delay_sum_ns: delay_ns * u64::from(packets),
                joined: packets,
                probe: Some(ProbeInterval {
                    samples: packets / 2,
                    cwnd_first: cwnd,
                    cwnd_last: cwnd,
                    cwnd_min: cwnd,
                    cwnd_max: cwnd,
                    ssthresh_last: (top / 2) as u32,
                    snd_wnd_last_bytes: 4_000_000,
                    inflight_min_bytes: cwnd * 1448,
                    inflight_max_bytes: cwnd * 1448,
                    inflight_last_bytes: cwnd * 1448,
                    srtt_min_us: (rtt_ns / 1000) as u32,
                    srtt_last_us: (rtt_ns / 1000) as u32,
                    base_rtt_min_us: 20_000,
                    acked_bytes: u64::from(packets) * 1448,
                }),
                ..FlowInterval::default()
            });
            for _ in 0..drops {
                u.drops.push(Drop {
                    node_id: NODE,
                    port: self.port,
                    time_ns: start_ns + INTERVAL_NS - 1_000_000 + f * 1000,
                    flow_id: f + 1,
                    ip_bytes: 1500,
                    reason: 71,
                    occupancy_bytes: occupancy,
                    limit_bytes: self.limit_bytes,
                    cwnd,
                    ..Drop::default()
                });
            }
        }
        self.step += 1;
        self.received += u64::from(all + all_drops);
        u.watermarks.push(Watermark {
            node_id: NODE,
            time_ns: self.now_ns(),
        });
        u.status = Some(CollectorStatus {
            reports_received: self.received,
            nodes_of_hops_alone: if self.of_hops { vec![NODE] } else { Vec::new() },
            nodes_of_two_clocks: if self.two_clocks {
                vec![NODE]
            } else {
                Vec::new()
            },
            reports_of_hops: if self.of_hops { self.received } else { 0 },
            join_candidates: self.received,
            join_matched: self.received,
            ..CollectorStatus::default()
        });
        u
    }
}

fn flow_info(f: u64) -> FlowInfo {
    FlowInfo {
        flow_id: f + 1,
        key: Some(FlowKey {
            src: vec![10, 0, 1, f as u8 + 1],
            dst: vec![10, 0, 5, 1],
            src_port: 40_000 + f as u32,
            dst_port: 5001,
            protocol: 6,
        }),
        probed: true,
        mss_bytes: 1448,
        ..FlowInfo::default()
    }
}

/// A controller without network: state, API, traffic.
pub(crate) struct Lab {
    pub core: Arc<Core>,
    pub api: Router,
    pub switch: Arc<FakeSwitch>,
    pub traffic: Traffic,
    /// How far the controller's clock is ahead of the host's, s.
    ahead_s: Arc<AtomicU64>,
}

impl Lab {
    pub(crate) fn new(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_plan(Provision::default(), change)
    }

    /// Creates a lab whose switch is provisioned with `plan`.
    pub(crate) fn with_plan(plan: Provision, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        config.targets.delay_ms = Some(30.0);
        config.control.min_limit_bytes = 6000;
        config.control.settle_s = 0.5;
        config.control.observe_s = 3.0;
        change(&mut config);
        config.check().unwrap();
        let switch = Arc::new(FakeSwitch::default());
        let limit_bytes = 250_000;
        let limit = Limit::DropTail { limit_bytes };
        switch.limits.lock().unwrap().insert(PORT, limit);
        let mut described = SwitchConfig::new(NODE, "memory:1");
        described.provision = Some(plan);
        let driver: Arc<dyn Southbound> = switch.clone();
        let switches = [(NODE, Switch::new(described, driver, config.control.dry_run))].into();
        let ahead_s = Arc::new(AtomicU64::new(0));
        let ahead = Arc::clone(&ahead_s);
        let clock = Arc::new(move || time::now().plus_s(ahead.load(Ordering::Relaxed) as f64));
        let core = Arc::new(Core::new(config, switches, clock).unwrap());
        core.connected(0, info("first"));
        Self {
            api: api::router(Arc::clone(&core), Token::new(TOKEN)),
            core,
            switch,
            traffic: Traffic::new(limit_bytes),
            ahead_s,
        }
    }

    /// Advances the controller's clock at once.
    pub(crate) fn skip(&self, seconds: u64) {
        self.ahead_s.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Advances the switch's clock, with a tick after each second.
    pub(crate) async fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            for _ in 0..100 {
                let update = self.traffic.next_update();
                self.core.take(0, &update);
            }
            tidemark_controller::core::tick::once(&self.core).await;
        }
    }

    /// Makes the traffic follow the limit of the switch.
    pub(crate) fn obey(&mut self) {
        let limit = self.switch.limits.lock().unwrap()[&PORT];
        self.traffic.limit_bytes = limit.bytes().unwrap();
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        let request = Request::get(format!("/api/v1{path}"));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let request = Request::post(format!("/api/v1{path}"))
            .header("authorization", format!("Bearer {TOKEN}"));
        let body = Body::from(body.to_string());
        self.send(request.body(body).unwrap()).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> (u16, Value) {
        let answer = self.api.clone().oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        (
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }
}
