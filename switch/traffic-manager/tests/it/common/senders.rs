// SPDX-License-Identifier: Apache-2.0
//! Senders that react like TCP Reno, through a switch whose port 1 is the bottleneck: one
//! more packet per round trip, and half as many after a loss.
#![allow(dead_code)]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Out, echo};
use traffic_manager::{AqmConfig, PortConfig, Switch};

pub(crate) const RATE_BPS: u64 = 10_000_000;
pub(crate) const FRAME: usize = 1226;
/// Time that a frame and 24 bytes of overhead take.
pub(crate) const SERVICE_NS: u64 = 1_000_000;
/// Round-trip time without queueing.
pub(crate) const RTT_NS: u64 = 40_000_000;

const TIMEOUT_NS: u64 = 1_000_000_000;

struct Flow {
    window: f64,
    slow_start: bool,
    /// Numbers and send times of unacknowledged packets.
    outstanding: VecDeque<(u32, u64)>,
    next: u32,
    /// Packets below this number whose loss has been reacted to.
    recovered: u32,
}

/// Waiting times in the second half of a run, and packet counts of the whole run.
#[derive(Default)]
pub(crate) struct Seen {
    pub waits_ns: Vec<u64>,
    pub utilisation: f64,
    pub sent: u64,
    pub received: u64,
}

impl Seen {
    pub(crate) fn mean_ms(&self) -> f64 {
        let sum: u64 = self.waits_ns.iter().sum();
        sum as f64 / self.waits_ns.len() as f64 / 1e6
    }

    pub(crate) fn quantile_ms(&self, q: f64) -> f64 {
        let mut sorted = self.waits_ns.clone();
        sorted.sort_unstable();
        sorted[((sorted.len() - 1) as f64 * q) as usize] as f64 / 1e6
    }
}

/// A switch with a FIFO of `depth` packets, managed or not.
pub(crate) fn bottleneck(depth: u32, aqm: Option<AqmConfig>) -> Switch {
    let mut s = echo();
    let config = PortConfig {
        rate_bps: RATE_BPS,
        depth_packets: depth,
        ..PortConfig::default()
    };
    s.configure(1, config);
    if let Some(aqm) = aqm {
        s.set_aqm(1, 0, aqm).unwrap();
    }
    s
}

/// Runs `flows` senders for `duration_ns`; waiting times are recorded from the middle on.
pub(crate) fn run(s: &mut Switch, flows: u8, duration_ns: u64) -> Seen {
    let mut all: Vec<Flow> = (0..flows)
        .map(|_| Flow {
            window: 2.0,
            slow_start: true,
            outstanding: VecDeque::new(),
            next: 0,
            recovered: 0,
        })
        .collect();
    let mut answers = BinaryHeap::new();
    let mut seen = Seen::default();
    for flow in 0..flows {
        answers.push(Reverse((u64::from(flow) * 3_000_000, flow, None::<u32>)));
    }
    while let Some(Reverse((at, ..))) = answers.peek() {
        let at = *at;
        let event = s.next_event_ns().filter(|t| *t <= at);
        if event.unwrap_or(at) > duration_ns {
            break;
        }
        let mut out = Out::default();
        s.run_until(event.unwrap_or(at), &mut out);
        for (_, f, t) in out.0 {
            let number = u32::from_be_bytes([f[3], f[4], f[5], f[6]]);
            answers.push(Reverse((t + RTT_NS, f[0], Some(number))));
            seen.received += 1;
            let flow = &all[usize::from(f[0])];
            let sent = flow.outstanding.iter().find(|(n, _)| *n == number);
            if t > duration_ns / 2 {
                let wait = t - SERVICE_NS - sent.unwrap().1;
                seen.waits_ns.push(wait);
            }
        }
        if event.is_some() {
            continue;
        }
        let Some(Reverse((_, flow, answer))) = answers.pop() else {
            break;
        };
        let f = &mut all[usize::from(flow)];
        match answer {
            Some(number) => f.answered(number),
            None => {
                // Once a second: packets unacknowledged for that long are lost.
                let is_old = |(_, sent): &(u32, u64)| at - sent > TIMEOUT_NS;
                if f.outstanding.front().is_some_and(is_old) {
                    f.answered(f.next);
                }
                answers.push(Reverse((at + TIMEOUT_NS, flow, None)));
            }
        }
        while (f.outstanding.len() as f64) < f.window.floor() {
            let mut frame = vec![0; FRAME];
            frame[0] = flow;
            frame[3..7].copy_from_slice(&f.next.to_be_bytes());
            f.outstanding.push_back((f.next, at));
            f.next += 1;
            seen.sent += 1;
            s.receive(0, &frame, at);
        }
    }
    let busy = seen.waits_ns.len() as u64 * SERVICE_NS;
    seen.utilisation = busy as f64 / (duration_ns / 2) as f64;
    seen
}

impl Flow {
    /// Handles an acknowledgement; packets leave in order, so earlier ones are lost.
    fn answered(&mut self, number: u32) {
        let mut lost = false;
        while let Some((first, _)) = self.outstanding.front().filter(|(n, _)| *n <= number) {
            lost |= *first < number && *first >= self.recovered;
            self.outstanding.pop_front();
        }
        if lost {
            self.recovered = self.next;
            self.slow_start = false;
            self.window = (self.window / 2.0).max(1.0);
        } else if self.slow_start {
            self.window += 1.0;
        } else {
            self.window += 1.0 / self.window;
        }
    }
}
