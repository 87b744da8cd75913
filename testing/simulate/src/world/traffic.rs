// SPDX-License-Identifier: Apache-2.0
//! Senders, receivers and the wires between them and the switch.

use super::state::{Event, START_NS, World};
use crate::frame;
use crate::parts::truth::{Fate, Packet};
use crate::tcp::{CongState, Segment, Sender};
use tcp_probe::{CongStateEvent, Event as ProbeEvent, RetransmitEvent, Sample};

fn sample(flow: usize, s: &Sender, time_ns: u64) -> ProbeEvent {
    let ssthresh = if s.ssthresh.is_finite() {
        s.ssthresh as u32
    } else {
        0x7fff_ffff
    };
    ProbeEvent::Probe(Sample {
        time_ns,
        flow: frame::flow_key(flow),
        data_len: 0,
        snd_nxt: frame::sequence(flow, s.next),
        snd_una: frame::sequence(flow, s.unacked),
        snd_cwnd: s.cwnd as u32,
        ssthresh,
        snd_wnd: 1 << 20,
        srtt_us: (s.srtt_ns / 1000) as u32,
        rcv_wnd: 1 << 16,
        sock_cookie: flow as u64 + 1,
    })
}

impl World {
    pub(super) fn flow_start(&mut self, flow: usize) {
        let now = self.now_ns;
        let f = self.traffic.flow(flow);
        f.running = true;
        let mut out = Vec::new();
        f.sender.send(now, &mut out);
        self.send(flow, &mut out);
    }

    pub(super) fn flow_stop(&mut self, flow: usize) {
        self.traffic.flow(flow).running = false;
    }

    fn send(&mut self, flow: usize, out: &mut Vec<Segment>) {
        let now = self.now_ns;
        let host_ns = START_NS + now;
        for segment in out.drain(..) {
            if segment.retransmitted {
                self.traffic.told(ProbeEvent::Retransmit(RetransmitEvent {
                    time_ns: host_ns,
                    flow: frame::flow_key(flow),
                }));
            }
            self.traffic.sent(flow, segment.number);
            let at = self.traffic.access_free_ns.max(now) + self.traffic.access_ns;
            self.traffic.access_free_ns = at;
            let f = frame::segment(flow, segment.number);
            self.schedule(at - now, Event::AtSwitch(f));
        }
        self.arm(flow);
    }

    fn arm(&mut self, flow: usize) {
        let now = self.now_ns;
        let f = self.traffic.flow(flow);
        if let Some(deadline) = f.sender.deadline_ns.filter(|_| !f.armed) {
            f.armed = true;
            self.schedule(deadline.saturating_sub(now), Event::Timeout(flow));
        }
    }

    pub(super) fn at_switch(&mut self, mut frame: Vec<u8>) {
        self.switch.run(self.now_ns);
        self.take_left();
        if let Some((flow, number)) = frame::read_segment(&frame)
            && self.switch.has_program()
        {
            let packet = Packet {
                flow,
                tcp_seq: frame::sequence(flow, number),
                occupancy_bytes: self.switch.queue_bytes(),
                limit_bytes: self.switch.limit().and_then(|l| l.bytes()).unwrap_or(0),
                cwnd: self.traffic.window(flow, number),
                fate: Fate::Waits,
            };
            let at_ns = self.switch.stamp_ns(self.now_ns);
            frame::mark_arrival(&mut frame, at_ns);
            self.truth.arrived(at_ns, packet);
        }
        self.switch.receive(&frame, self.now_ns);
        let waiting = self.switch.queue_bytes();
        self.traffic.queue_peak_bytes = self.traffic.queue_peak_bytes.max(waiting);
        self.take_left();
    }

    pub(super) fn at_receiver(&mut self, bytes: &[u8], at_ns: u64) {
        let Some((flow, number)) = frame::read_segment(bytes) else {
            return;
        };
        if let Some(came_ns) = frame::read_arrival(bytes) {
            self.truth.left(at_ns, came_ns);
        }
        let ack = self.traffic.flow(flow).receiver.take(number);
        let delay = self.traffic.ack_ns;
        self.schedule(delay, Event::Ack(flow, ack));
    }

    pub(super) fn ack(&mut self, flow: usize, ack: u64) {
        let now = self.now_ns;
        let mut out = std::mem::take(&mut self.traffic.out);
        let f = self.traffic.flow(flow);
        if !f.running {
            f.sender.deadline_ns = None;
            self.traffic.out = out;
            return;
        }
        // Like in the kernel, the sample is taken before the segment counts.
        let before = sample(flow, &f.sender, START_NS + now);
        let state = f.sender.acknowledged(ack, now, &mut out);
        self.traffic.told(before);
        if let Some(state) = state {
            self.congestion(flow, state);
        }
        self.send(flow, &mut out);
        self.traffic.out = out;
    }

    fn congestion(&mut self, flow: usize, state: CongState) {
        let time_ns = START_NS + self.now_ns;
        self.traffic.told(ProbeEvent::CongState(CongStateEvent {
            time_ns,
            flow: frame::flow_key(flow),
            state: state as u8,
        }));
    }

    pub(super) fn flow_timeout(&mut self, flow: usize) {
        let now = self.now_ns;
        let mut out = Vec::new();
        let f = self.traffic.flow(flow);
        f.armed = false;
        if !f.running {
            f.sender.deadline_ns = None;
            return;
        }
        let struck = f.sender.deadline_ns.is_some_and(|d| d <= now);
        if struck {
            f.sender.timed_out(now, &mut out);
            self.congestion(flow, CongState::Loss);
        }
        self.send(flow, &mut out);
    }
}
