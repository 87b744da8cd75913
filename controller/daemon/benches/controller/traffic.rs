// SPDX-License-Identifier: Apache-2.0
//! Records of a link over a swing of 3 s: the flows' windows grow until the queue is full and every
//! flow loses a packet, then halve.

use tidemark_proto::departures::{self, TENTHS};
use tidemark_proto::histogram::Counts;
use tidemark_proto::telemetry::{Drop, FlowInterval, LinkInterval, ProbeInterval};

pub(crate) const CAPACITY_BPS: u64 = 100_000_000;
const SWING_NS: u64 = 3_000_000_000;
const LIMIT_BYTES: u64 = 250_000;

/// The records of one interval; nodes, ports, flows and times are filled in later.
pub(crate) struct Part {
    pub link: LinkInterval,
    pub flows: Vec<FlowInterval>,
    pub drops: Vec<Drop>,
}

pub(crate) struct Swing {
    parts: Vec<Part>,
}

impl Swing {
    pub(crate) fn new(interval_ns: u64, flows: u64, base_rtt_ns: u64) -> Self {
        let steps = (SWING_NS / interval_ns).max(2);
        Self {
            parts: (0..steps)
                .map(|s| part(s, steps, interval_ns, flows, base_rtt_ns))
                .collect(),
        }
    }

    pub(crate) fn part(&self, step: u64) -> &Part {
        &self.parts[(step % self.parts.len() as u64) as usize]
    }
}

fn part(step: u64, steps: u64, interval_ns: u64, flows: u64, base_rtt_ns: u64) -> Part {
    let interval_bytes = CAPACITY_BPS / 8 * interval_ns / 1_000_000_000;
    let lossy = step == steps - 1;
    let packets = (interval_bytes / 1538 / flows.max(1)) as u32;
    let (all, all_drops) = (packets * flows as u32, u32::from(lossy) * flows as u32);
    // The queue also grows within an interval.
    let occupancy = |part: f64| {
        let grown = LIMIT_BYTES as f64 / 2.0 * (step as f64 + part) / steps as f64;
        LIMIT_BYTES / 2 + grown as u64
    };
    let delay_ns = |occupancy: u64| occupancy * 8 * 1_000_000_000 / CAPACITY_BPS;
    let (mut occupancies, mut delays) = (Counts::new(), Counts::new());
    let (mut occupancy_sum, mut delay_sum) = (0, 0);
    for p in 0..all {
        let met = occupancy(f64::from(p) / f64::from(all));
        occupancies.record(met);
        delays.record(delay_ns(met));
        occupancy_sum += met;
        delay_sum += delay_ns(met);
    }
    let most = if lossy { LIMIT_BYTES } else { occupancy(1.0) };
    let link = LinkInterval {
        duration_ns: interval_ns,
        packets: all,
        ip_bytes: u64::from(all) * 1500,
        wire_bytes: interval_bytes,
        arrivals: all + all_drops,
        arrival_ip_bytes: u64::from(all + all_drops) * 1500,
        drops: all_drops,
        drop_ip_bytes: u64::from(all_drops) * 1500,
        occupancy_bytes: Some(occupancies.take()),
        occupancy_max_bytes: most,
        occupancy_sum_bytes: occupancy_sum,
        delay_ns: Some(delays.take()),
        delay_max_ns: delay_ns(most),
        delay_sum_ns: delay_sum,
        limit_bytes: LIMIT_BYTES,
        ..LinkInterval::default()
    };
    let top = (CAPACITY_BPS / 8 * base_rtt_ns / 1_000_000_000 + LIMIT_BYTES) / 1500 / flows.max(1);
    let cwnd = |step: u64| (top / 2 + top / 2 * step / steps) as u32;
    let rtt_us = ((base_rtt_ns + delay_ns(occupancy(0.5))) / 1000) as u32;
    let flow = FlowInterval {
        duration_ns: interval_ns,
        packets,
        ip_bytes: u64::from(packets) * 1500,
        wire_bytes: u64::from(packets) * 1538,
        payload_bytes: u64::from(packets) * 1448,
        drops: u32::from(lossy),
        delay_sum_ns: delay_sum / flows.max(1),
        joined: packets,
        departures: departures::pack([(packets as usize / TENTHS) as u16; TENTHS]),
        probe: Some(ProbeInterval {
            samples: packets / 2,
            cwnd_first: cwnd(step),
            cwnd_last: cwnd(step + 1),
            cwnd_min: cwnd(step),
            cwnd_max: cwnd(step + 1),
            ssthresh_last: (top / 2) as u32,
            snd_wnd_last_bytes: 4_000_000,
            inflight_min_bytes: cwnd(step) * 1448,
            inflight_max_bytes: cwnd(step + 1) * 1448,
            inflight_last_bytes: cwnd(step + 1) * 1448,
            srtt_min_us: rtt_us,
            srtt_last_us: rtt_us,
            base_rtt_min_us: (base_rtt_ns / 1000) as u32,
            acked_bytes: u64::from(packets) * 1448,
        }),
        ..FlowInterval::default()
    };
    let drop = |f: u64| Drop {
        time_ns: interval_ns - 1_000_000 + f * 1000,
        ip_bytes: 1500,
        reason: 71,
        occupancy_bytes: LIMIT_BYTES,
        limit_bytes: LIMIT_BYTES,
        cwnd: cwnd(step),
        ..Drop::default()
    };
    Part {
        link,
        flows: vec![flow; flows as usize],
        drops: (0..u64::from(all_drops)).map(drop).collect(),
    }
}
