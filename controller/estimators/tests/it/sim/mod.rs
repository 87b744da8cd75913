// SPDX-License-Identifier: Apache-2.0
//! A small model of TCP flows through one queue that produces telemetry: windows, a fluid queue,
//! drops in proportion to arrivals, reductions one RTT later.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

use tidemark_proto::histogram::Counts;
use tidemark_proto::telemetry::{
    CongestionState, Drop, FlowEvent, FlowInfo, FlowInterval, FlowKey, LinkInterval, Node, Port,
    ProbeInterval, Update, flow_event,
};

pub(crate) const NODE: u32 = 10;
pub(crate) const PORT: u32 = 1;
pub(crate) const MSS: u32 = 1448;
pub(crate) const STEP_NS: u64 = 10_000_000;
const IP: f64 = 1500.0;
const WIRE: f64 = 1538.0;
const FRAME: f64 = 1514.0;
const UNSET: u32 = 0x7fff_ffff;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Additive increase, multiplicative decrease on drops here.
    Lbp { beta: f64, increase: f64 },
    /// Reduces at its own bottleneck at intervals, never here.
    Rbp { max_window: f64 },
    /// Held at this many segments by its receiver.
    Wl { segments: f64 },
    /// Packets in flight stay at this number, below the window: held back by its own host.
    HeldBack { segments: f64, window: u32 },
    /// Sends this many packets, then closes.
    Short { packets: u32, at_s: f64 },
    /// Constant rate, not TCP.
    Udp { pkts_per_s: f64 },
}

#[derive(Clone, Copy)]
pub(crate) struct Spec {
    pub kind: Kind,
    pub rtt_s: f64,
    pub start_window: f64,
}

pub(crate) struct Scenario {
    pub capacity_bps: f64,
    pub limit_pkts: f64,
    pub seconds: f64,
    pub probed: bool,
    pub flows: Vec<Spec>,
}

struct State {
    window: f64,
    ssthresh: u32,
    reduce_at: Option<u64>,
    quiet_until: u64,
    sent: f64,
    credit: f64,
    drop_credit: f64,
    done: bool,
    retransmits: u32,
}

/// Deterministic dither, so that test runs never differ.
struct Lcg(u64);
impl Lcg {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

pub(crate) struct Run {
    pub nodes: Vec<Node>,
    pub updates: Vec<Update>,
    pub arrivals: u64,
    pub drops: u64,
    pub wire_bytes: u64,
}

pub(crate) fn run(s: &Scenario) -> Run {
    let mut rng = Lcg(42);
    let mut state: Vec<State> = s
        .flows
        .iter()
        .map(|f| State {
            window: f.start_window,
            ssthresh: match f.kind {
                Kind::Lbp { .. } | Kind::Rbp { .. } => f.start_window as u32,
                _ => UNSET,
            },
            reduce_at: None,
            quiet_until: 0,
            sent: 0.0,
            credit: 0.0,
            drop_credit: 0.0,
            done: false,
            retransmits: 0,
        })
        .collect();
    let start = 1_000_000_000_000u64;
    let dt = STEP_NS as f64 / 1e9;
    let service = s.capacity_bps / 8.0 / WIRE * dt;
    let mut run = Run {
        nodes: vec![Node {
            node_id: NODE,
            name: "s1".into(),
            ports: vec![Port {
                port: PORT,
                name: "bottleneck".into(),
                capacity_bps: s.capacity_bps as u64,
                wire_overhead_bytes: 38,
                queue_overhead_bytes: 14,
            }],
            depth_unit_bytes: 1,
        }],
        updates: Vec::new(),
        arrivals: 0,
        drops: 0,
        wire_bytes: 0,
    };
    let infos = s
        .flows
        .iter()
        .enumerate()
        .map(|(i, f)| info(i, f, s.probed, start))
        .collect();
    run.updates.push(Update {
        flows: infos,
        ..Update::default()
    });
    let (mut queue, mut served_credit) = (0.0f64, 0.0f64);
    let steps = (s.seconds / dt) as u64;
    for k in 0..steps {
        let at = start + k * STEP_NS;
        let now_s = k as f64 * dt;
        let delay_s = queue / (service / dt);
        // Packets that each flow offers in this step, and its window.
        let mut offered = vec![0u32; s.flows.len()];
        let mut first_window = vec![0u32; s.flows.len()];
        for (i, f) in s.flows.iter().enumerate() {
            let st = &mut state[i];
            let rtt = f.rtt_s + delay_s;
            first_window[i] = st.window.max(1.0) as u32;
            let in_flight = match f.kind {
                Kind::Lbp { increase, .. } => {
                    st.window += increase * dt / rtt;
                    st.window
                }
                Kind::Rbp { max_window } => {
                    st.window += dt / rtt;
                    if st.window > max_window {
                        st.window = max_window / 2.0;
                        st.ssthresh = st.window as u32;
                        st.retransmits += 1;
                    }
                    st.window
                }
                Kind::Wl { segments } => segments,
                Kind::HeldBack { segments, .. } => segments,
                Kind::Short { packets, at_s } => {
                    if now_s < at_s || st.sent >= f64::from(packets) {
                        0.0
                    } else {
                        st.window = (st.window * 2f64.powf(dt / rtt)).min(64.0);
                        st.window
                    }
                }
                Kind::Udp { .. } => 0.0,
            };
            if let Some(when) = st.reduce_at
                && at >= when
                && let Kind::Lbp { beta, .. } = f.kind
            {
                st.window = (st.window * beta).max(1.0);
                st.ssthresh = st.window as u32;
                st.reduce_at = None;
                st.quiet_until = at + (rtt * 1e9) as u64;
            }
            let rate = match f.kind {
                Kind::Udp { pkts_per_s } => pkts_per_s * dt * (0.5 + rng.next()),
                _ => in_flight / rtt * dt,
            };
            st.credit += rate;
            offered[i] = st.credit.floor().max(0.0) as u32;
            if let Kind::Short { packets, .. } = f.kind {
                offered[i] = offered[i].min(packets - st.sent as u32);
            }
            st.credit -= f64::from(offered[i]);
            st.sent += f64::from(offered[i]);
        }
        let total: u32 = offered.iter().sum();
        // The queue accepts what fits.
        let room = (s.limit_pkts - queue + service).max(0.0).floor() as u32;
        let excess = total.saturating_sub(room);
        let mut dropped = vec![0u32; s.flows.len()];
        let mut left_to_drop = excess;
        while left_to_drop > 0 {
            let mut pick = rng.next() * f64::from(total - (excess - left_to_drop));
            let mut chosen = None;
            for (i, &o) in offered.iter().enumerate() {
                let free = f64::from(o - dropped[i]);
                if pick < free {
                    chosen = Some(i);
                    break;
                }
                pick -= free;
            }
            let Some(i) = chosen.or_else(|| (0..offered.len()).find(|&i| offered[i] > dropped[i]))
            else {
                break;
            };
            dropped[i] += 1;
            left_to_drop -= 1;
        }
        let admitted = total - excess.min(total);
        let before = queue;
        served_credit += service;
        let available = queue + f64::from(admitted);
        let served = available.min(served_credit).floor();
        queue = available - served;
        served_credit = if queue > 0.0 {
            served_credit - served
        } else {
            0.0
        };
        record(
            s,
            &mut run,
            &mut state,
            Step {
                at,
                before,
                queue,
                served: served as u32,
                offered,
                dropped,
                first_window,
            },
        );
    }
    run
}

struct Step {
    at: u64,
    before: f64,
    queue: f64,
    served: u32,
    offered: Vec<u32>,
    dropped: Vec<u32>,
    first_window: Vec<u32>,
}

fn record(s: &Scenario, run: &mut Run, state: &mut [State], step: Step) {
    let drops: u32 = step.dropped.iter().sum();
    let arrivals: u32 = step.offered.iter().sum();
    run.arrivals += u64::from(arrivals);
    run.drops += u64::from(drops);
    run.wire_bytes += (f64::from(step.served) * WIRE) as u64;
    let service_ns = WIRE * 8.0 / s.capacity_bps * 1e9;
    let delay_ns = (step.queue * service_ns) as u64;
    let mut update = Update::default();
    let mut occupancy = Counts::new();
    let mut delay = Counts::new();
    for _ in 0..arrivals {
        occupancy.record((step.before * FRAME) as u64);
    }
    for _ in 0..step.served {
        delay.record(delay_ns);
    }
    update.link_intervals.push(LinkInterval {
        node_id: NODE,
        port: PORT,
        queue: 0,
        start_ns: step.at,
        duration_ns: STEP_NS,
        packets: step.served,
        ip_bytes: u64::from(step.served) * IP as u64,
        wire_bytes: u64::from(step.served) * WIRE as u64,
        arrivals,
        arrival_ip_bytes: u64::from(arrivals) * IP as u64,
        drops,
        drop_ip_bytes: u64::from(drops) * IP as u64,
        met_empty: if step.before < 0.5 { arrivals } else { 0 },
        occupancy_bytes: Some(occupancy.take()),
        occupancy_max_bytes: (step.before * FRAME) as u64,
        occupancy_sum_bytes: (step.before * FRAME) as u64 * u64::from(arrivals),
        delay_ns: Some(delay.take()),
        delay_max_ns: delay_ns,
        delay_sum_ns: delay_ns * u64::from(step.served),
        limit_bytes: (s.limit_pkts * FRAME) as u64,
        ..LinkInterval::default()
    });
    for (i, f) in s.flows.iter().enumerate() {
        let st = &mut state[i];
        let flow_id = i as u64 + 1;
        // A packet leaves the queue when its transmission begins.
        let rtt_s = f.rtt_s + (delay_ns as f64 + service_ns) / 1e9;
        for d in 0..step.dropped[i] {
            update.drops.push(Drop {
                node_id: NODE,
                port: PORT,
                time_ns: step.at + u64::from(d) * 1000,
                flow_id,
                ip_bytes: IP as u32,
                reason: 71,
                occupancy_bytes: (s.limit_pkts * FRAME) as u64,
                limit_bytes: (s.limit_pkts * FRAME) as u64,
                ..Drop::default()
            });
        }
        if step.dropped[i] > 0
            && matches!(f.kind, Kind::Lbp { .. })
            && st.reduce_at.is_none()
            && step.at >= st.quiet_until
        {
            st.reduce_at = Some(step.at + (rtt_s * 1e9) as u64);
        }
        let ended = matches!(f.kind, Kind::Short { packets, .. } if st.sent >= f64::from(packets));
        if step.offered[i] == 0 {
            continue;
        }
        let fin = ended && !st.done;
        st.done |= ended;
        let packets = step.offered[i] - step.dropped[i];
        let window = st.window.max(1.0) as u32;
        let (in_flight, cwnd, snd_wnd) = match f.kind {
            Kind::Wl { segments } => (segments, segments as u32 * 2, segments as u32 * MSS + 500),
            Kind::HeldBack { segments, window } => (segments, window, 4_000_000),
            _ => (f64::from(window), window, 4_000_000),
        };
        let probe = (s.probed && !matches!(f.kind, Kind::Udp { .. })).then(|| {
            let first = match f.kind {
                Kind::Wl { .. } | Kind::HeldBack { .. } => cwnd,
                _ => step.first_window[i],
            };
            ProbeInterval {
                samples: packets.max(1),
                cwnd_first: first,
                cwnd_last: cwnd,
                cwnd_min: cwnd.min(first),
                cwnd_max: cwnd.max(first),
                ssthresh_last: st.ssthresh,
                snd_wnd_last_bytes: snd_wnd,
                inflight_min_bytes: (in_flight * 0.9) as u32 * MSS,
                inflight_max_bytes: in_flight as u32 * MSS,
                inflight_last_bytes: in_flight as u32 * MSS,
                srtt_min_us: (rtt_s * 1e6) as u32,
                srtt_last_us: (rtt_s * 1e6) as u32,
                base_rtt_min_us: ((f.rtt_s + service_ns / 1e9) * 1e6) as u32,
                acked_bytes: u64::from(packets * MSS),
            }
        });
        update.flow_intervals.push(FlowInterval {
            flow_id,
            node_id: NODE,
            port: PORT,
            start_ns: step.at,
            duration_ns: STEP_NS,
            packets,
            ip_bytes: u64::from(packets) * IP as u64,
            wire_bytes: u64::from(packets) * WIRE as u64,
            payload_bytes: u64::from(packets * MSS),
            drops: step.dropped[i],
            retransmitted_packets: std::mem::take(&mut st.retransmits),
            delay_sum_ns: delay_ns * u64::from(packets),
            joined: packets,
            probe,
            fin_or_rst: fin,
            ..FlowInterval::default()
        });
    }
    run.updates.push(update);
}

fn info(i: usize, f: &Spec, probed: bool, start: u64) -> FlowInfo {
    let udp = matches!(f.kind, Kind::Udp { .. });
    FlowInfo {
        flow_id: i as u64 + 1,
        key: Some(FlowKey {
            src: vec![10, 1, 0, i as u8],
            dst: vec![10, 0, 0, 2],
            src_port: 40_000 + i as u32,
            dst_port: 5001,
            protocol: if udp { 17 } else { 6 },
        }),
        first_seen_ns: start,
        probed: probed && !udp,
        handshake_rtt_ns: if udp { 0 } else { (f.rtt_s * 1e9) as u64 },
        mss_bytes: MSS,
    }
}

/// A congestion state change, for tests of events.
pub(crate) fn state_event(flow_id: u64, time_ns: u64, state: u32) -> FlowEvent {
    FlowEvent {
        flow_id,
        time_ns,
        event: Some(flow_event::Event::CongestionState(CongestionState {
            state,
        })),
    }
}
