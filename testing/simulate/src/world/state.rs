// SPDX-License-Identifier: Apache-2.0
//! All parts, their events, and the time.

use crate::checks::Checks;
use crate::collector::Collector;
use crate::control_link::{Answer, Request};
use crate::controller::{Controller, HostClock};
use crate::digest::Digest;
use crate::parts::reports::{Datagram, Reports};
use crate::parts::storage::Storage;
use crate::parts::telemetry::Telemetry;
use crate::parts::traffic::Traffic;
use crate::parts::truth::Truth;
use crate::plan::Plan;
use crate::switch::SimSwitch;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use test_support::rng::Rng;
use tidemark_proto::telemetry::Update;

/// Unix time at the start, ms.
pub(super) const START_UNIX_MS: u64 = 1_800_000_000_000;
/// The monotonic clocks of the hosts at the start, ns.
pub(super) const START_NS: u64 = 1_000_000_000_000;
pub(super) const MS: u64 = 1_000_000;
pub(super) const COLLECTOR_TICK_NS: u64 = 20 * MS;
pub(super) const CHECK_NS: u64 = 250 * MS;

/// An event of the simulation.
pub(crate) enum Event {
    FlowStart(usize),
    AtSwitch(Vec<u8>),
    Ack(usize, u64),
    Timeout(usize),
    AtCollector(Datagram),
    Receive(u64),
    CollectorTick(u64),
    Connect,
    AtController(u64, Box<Update>),
    Tick,
    PollSwitch,
    Request(u64, u64, Request),
    Answer(u64, u64, Answer),
    FaultBegins(usize),
    FaultEnds(usize),
    Hostile(usize),
    /// Somebody else writes a limit, as a fraction of our largest one.
    OthersWrite(f64),
    Check,
}

/// The simulation of one run.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) now_ns: u64,
    /// Ordered by time, then by scheduling order.
    queue: BTreeMap<(u64, u64), Event>,
    scheduled: u64,
    pub(crate) active: Vec<bool>,
    pub(super) fault_rngs: Vec<Rng>,
    pub(crate) switch: SimSwitch,
    pub(crate) traffic: Traffic,
    pub(crate) truth: Truth,
    pub(crate) reports: Reports,
    pub(crate) collector: Option<Collector>,
    pub(crate) collector_starts: u64,
    pub(crate) telemetry: Telemetry,
    pub(crate) controller: Option<Controller>,
    pub(crate) controller_starts: u64,
    pub(super) clock: HostClock,
    /// Offset of the collector's and controller's hosts.
    pub(super) unix_offset_ms: i64,
    pub(crate) digest: Digest,
    pub(crate) checks: Checks,
    pub(crate) storage: Storage,
    pub(super) dir: PathBuf,
}

impl World {
    /// Makes a run that has not begun. `dir` must be empty and exclusive.
    ///
    /// # Errors
    /// Parts cannot start.
    pub(crate) fn new(plan: Plan, dir: PathBuf) -> Result<Self> {
        let fault_rngs = (0..plan.faults.len())
            .map(|i| Rng::of_part(plan.seed, 1_000 + i as u64))
            .collect();
        let mut world = Self {
            now_ns: 0,
            queue: BTreeMap::new(),
            scheduled: 0,
            active: vec![false; plan.faults.len()],
            fault_rngs,
            switch: SimSwitch::start(0, plan.rate_bps, plan.shifts),
            traffic: Traffic::new(&plan),
            truth: Truth::default(),
            reports: Reports::new(plan.seed),
            collector: None,
            collector_starts: 0,
            telemetry: Telemetry::default(),
            controller: None,
            controller_starts: 0,
            clock: HostClock::default(),
            unix_offset_ms: 0,
            digest: Digest::default(),
            checks: Checks::new(&plan),
            storage: Storage::new(plan.seed)?,
            dir,
            plan,
        };
        world.set_clock();
        world.start_collector()?;
        world.start_controller()?;
        for flow in 0..world.plan.flows {
            world.schedule(200 * MS + flow as u64 * 37 * MS, Event::FlowStart(flow));
        }
        for (i, f) in world.plan.faults.clone().iter().enumerate() {
            world.schedule(f.at_ms * MS, Event::FaultBegins(i));
            world.schedule((f.at_ms + f.for_ms) * MS, Event::FaultEnds(i));
        }
        for (delay, event) in [
            (COLLECTOR_TICK_NS, Event::CollectorTick(1)),
            (50 * MS, Event::Connect),
            (300 * MS, Event::Tick),
            (0, Event::PollSwitch),
            (CHECK_NS, Event::Check),
        ] {
            world.schedule(delay, event);
        }
        Ok(world)
    }

    pub(crate) fn schedule(&mut self, delay_ns: u64, event: Event) {
        self.scheduled += 1;
        let at = self.now_ns + delay_ns;
        self.queue.insert((at, self.scheduled), event);
    }

    pub(super) fn set_clock(&self) {
        let unix_ms = (START_UNIX_MS + self.now_ns / MS).saturating_add_signed(self.unix_offset_ms);
        self.clock.set(START_NS + self.now_ns, unix_ms);
    }

    /// Returns the time of day of the hosts.
    pub(super) fn unix_ns(&self) -> u64 {
        (START_UNIX_MS * MS + self.now_ns).saturating_add_signed(self.unix_offset_ms * MS as i64)
    }

    /// Returns the Unix time minus the monotonic clock, ns.
    pub(super) fn unix_minus_rx_ns(&self) -> i64 {
        (START_UNIX_MS as i64 + self.unix_offset_ms) * MS as i64 - START_NS as i64
    }

    /// Runs to the end, or to the first violation.
    ///
    /// # Errors
    /// Parts cannot restart.
    pub(crate) fn run(&mut self) -> Result<()> {
        let end_ns = self.plan.end_ms * MS;
        while self.checks.violation.is_none() {
            let next_event = self.queue.first_key_value();
            let next_event = next_event.map_or(u64::MAX, |((at, _), _)| *at);
            let next_switch = self.switch.next_ns().unwrap_or(u64::MAX);
            let next = next_event.min(next_switch);
            if next > end_ns {
                break;
            }
            self.now_ns = self.now_ns.max(next);
            if next_switch <= next_event {
                self.switch.run(self.now_ns);
                self.take_left();
                continue;
            }
            if let Some((_, event)) = self.queue.pop_first() {
                self.handle(event)?;
            }
        }
        if self.checks.violation.is_none() {
            self.finish();
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            Event::FlowStart(flow) => self.flow_start(flow),
            Event::AtSwitch(frame) => self.at_switch(frame),
            Event::Ack(flow, ack) => self.ack(flow, ack),
            Event::Timeout(flow) => self.flow_timeout(flow),
            Event::AtCollector(datagram) => self.at_collector(datagram),
            Event::Receive(start) => self.receive(start),
            Event::CollectorTick(start) => self.collector_tick(start),
            Event::Connect => self.connect(),
            Event::AtController(session, update) => self.at_controller(session, &update),
            Event::Tick => self.tick(),
            Event::PollSwitch => self.poll_switch(),
            Event::Request(start, id, request) => self.request(start, id, request),
            Event::Answer(start, id, answer) => self.answer(start, id, answer),
            Event::FaultBegins(i) => self.fault_begins(i)?,
            Event::FaultEnds(i) => self.fault_ends(i)?,
            Event::Hostile(i) => self.hostile(i),
            Event::OthersWrite(part) => self.others_write(part),
            Event::Check => self.check(),
        }
        Ok(())
    }

    /// Handles frames that left the switch.
    pub(super) fn take_left(&mut self) {
        let mut left = std::mem::take(&mut self.switch.left.0);
        for (port, at_ns, frame) in left.drain(..) {
            match port {
                crate::frame::BOTTLENECK => self.at_receiver(&frame, at_ns),
                crate::frame::REPORTS => self.report_left(&frame),
                _ => {}
            }
            self.switch.reuse(frame);
        }
        self.switch.left.0 = left;
    }
}
