// SPDX-License-Identifier: Apache-2.0
//! Reports on their way through a faulty network into the collector.

use super::state::{COLLECTOR_TICK_NS, Event, MS, START_NS, World};
use crate::collector::{self, Collector};
use crate::fault::Kind;
use crate::frame::{self, EXPORTER};
use crate::parts::reports::{Datagram, Stamped};
use anyhow::Result;
use std::net::IpAddr;
use tidemark_collector::source::Batch;

/// Delay of the path, ns.
const DELAY_NS: u64 = 200_000;
/// Number of honest datagrams kept for replay by others.
const KEPT: usize = 256;
/// Delay from the first datagram until the collector reads its socket.
const BATCH_NS: u64 = MS;

impl World {
    pub(super) fn start_collector(&mut self) -> Result<()> {
        self.collector_starts += 1;
        let instance = self.collector_starts;
        let config = collector::config(self.plan.rate_bps)?;
        let Some(stores) = self.start_stores(instance, &config) else {
            // Its supervisor restarts it when the disk works.
            return Ok(());
        };
        let mut collector = Collector::start(instance, config, stores)?;
        collector.pipeline.set_unix_offset(self.unix_minus_rx_ns());
        self.collector = Some(collector);
        self.reports.numbers.clear();
        self.reports.given = 0;
        self.reports.forged = 0;
        self.reports.waiting.clear();
        self.reports.woken = false;
        // Events that the kernels report meanwhile are lost.
        self.traffic.events.clear();
        if instance > 1 {
            self.schedule(COLLECTOR_TICK_NS, Event::CollectorTick(instance));
        }
        Ok(())
    }

    /// Sends a report that left the switch.
    pub(super) fn report_left(&mut self, bytes: &[u8]) {
        let Some(mut payload) = frame::report(bytes).map(<[u8]>::to_vec) else {
            return;
        };
        frame::set_clock(&mut payload, self.switch.step_ns);
        if self.reports.kept.len() >= KEPT {
            self.reports.kept.pop_front();
        }
        self.reports.kept.push_back(payload.clone());
        let mut delays = vec![DELAY_NS + self.reports.rng.next_u64() % 20_000];
        let mut lost = false;
        for i in 0..self.active.len() {
            if !self.active[i] {
                continue;
            }
            let r = &mut self.fault_rngs[i];
            match self.plan.faults[i].kind {
                Kind::ReportLoss(p) => lost |= r.chance(p),
                Kind::ReportPartition => lost = true,
                Kind::ReportReorder(p, most_ns) if r.chance(p) => {
                    delays[0] += r.next_u64() % most_ns;
                }
                Kind::ReportDuplicate(p) if r.chance(p) => {
                    delays.push(DELAY_NS + r.next_u64() % (20 * MS));
                }
                _ => {}
            }
        }
        if lost {
            return;
        }
        for delay in delays {
            let datagram = Datagram {
                exporter: IpAddr::V4(EXPORTER),
                payload: payload.clone(),
                honest: Some(self.switch.epoch),
            };
            self.schedule(delay, Event::AtCollector(datagram));
        }
    }

    /// Puts a datagram into the collector's socket.
    pub(super) fn at_collector(&mut self, datagram: Datagram) {
        let Some(collector) = &self.collector else {
            return;
        };
        let instance = collector.instance;
        let rx_unix_ns = self.unix_ns();
        let stamped = Stamped {
            datagram,
            rx_unix_ns,
        };
        self.reports.waiting.push(stamped);
        if !self.reports.woken {
            self.reports.woken = true;
            let stalled = self.reports.stalled_until_ns.saturating_sub(self.now_ns);
            self.schedule(stalled.max(BATCH_NS), Event::Receive(instance));
        }
    }

    /// Lets the collector read its socket, as one batch.
    pub(super) fn receive(&mut self, start: u64) {
        let stalled = self.reports.stalled_until_ns.saturating_sub(self.now_ns);
        let offset = self.unix_minus_rx_ns().wrapping_neg();
        let now_ns = START_NS + self.now_ns;
        let Some(collector) = self.collector.as_mut().filter(|c| c.instance == start) else {
            return;
        };
        if stalled > 0 {
            self.schedule(stalled, Event::Receive(start));
            return;
        }
        self.reports.woken = false;
        let mut batch = Batch::default();
        for s in self.reports.waiting.drain(..) {
            let d = s.datagram;
            if let (Some(epoch), Some((hw, number))) = (d.honest, frame::report_number(&d.payload))
            {
                self.reports.heard.report(epoch, self.now_ns);
                let n = self.reports.numbers.entry((epoch, hw)).or_default();
                let first = *n.first.get_or_insert(number);
                if number >= first {
                    n.delivered.insert(number);
                }
                n.highest = n.highest.max(number);
            }
            self.reports.given += 1;
            self.reports.forged += u64::from(d.honest.is_none());
            batch.push(d.exporter, s.rx_unix_ns, &d.payload);
        }
        collector.receive(&batch, offset, now_ns);
    }

    /// Gives the collector the time, and the kernels' events.
    pub(super) fn collector_tick(&mut self, start: u64) {
        let Some(collector) = &mut self.collector else {
            return;
        };
        if collector.instance != start {
            return;
        }
        if self.now_ns >= self.reports.stalled_until_ns {
            let events = std::mem::take(&mut self.traffic.events);
            collector.pipeline.hand_over(START_NS + self.now_ns);
            collector.pipeline.push_events("sender", events);
            self.receive(start);
            let offset = self.unix_minus_rx_ns();
            if let Some(collector) = &mut self.collector {
                collector.pipeline.set_unix_offset(offset);
                collector.pipeline.advance(START_NS + self.now_ns);
            }
            self.check_rows();
            if let Some(c) = &mut self.collector
                && let Some(stores) = &mut c.pipeline.sink_mut().stores
            {
                stores.step(self.now_ns);
            }
            self.send_updates();
        }
        self.schedule(COLLECTOR_TICK_NS, Event::CollectorTick(start));
    }

    /// Checks the rows that the store would take now.
    fn check_rows(&mut self) {
        let Some(c) = &mut self.collector else { return };
        self.checks.now_ns = self.now_ns;
        for row in c.pipeline.sink_mut().seen.rows.drain(..) {
            self.checks.row(&row, &self.truth, &self.plan);
        }
    }

    /// Ends the collector; `properly` if it could finish.
    pub(crate) fn end_collector(&mut self, properly: bool) {
        if properly && let Some(start) = self.collector.as_ref().map(|c| c.instance) {
            self.reports.stalled_until_ns = 0;
            self.receive(start);
        }
        let Some(mut collector) = self.collector.take() else {
            return;
        };
        if properly {
            let events = std::mem::take(&mut self.traffic.events);
            collector.pipeline.hand_over(START_NS + self.now_ns);
            collector.pipeline.push_events("sender", events);
            collector.pipeline.finish();
        }
        collector.slow.catch_up();
        self.checks.subscriber(&mut collector.slow);
        self.end_stores(&mut collector, properly);
        self.checks
            .collector_ended(&collector, &self.reports, properly);
        self.digest.add(collector.pipeline.sink().digest.value());
        self.disconnect("the collector is gone");
    }
}
