// SPDX-License-Identifier: Apache-2.0
//! What a flow's records say about its limits.

use crate::config::EstimatorConfig;
use crate::reductions::rtt_ns;
use crate::stats::quantile;
use crate::window::FlowWindow;

const SSTHRESH_UNSET: u32 = 0x7fff_ffff;

/// Where packets wait, medians.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub base_s: f64,
    pub here_s: f64,
    pub elsewhere_s: f64,
}

/// What the history of a flow says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// Share of samples with the bytes in flight at the receiver's window, and
    /// that the smaller of the two windows.
    pub at_receiver_window: f64,
    /// Share of samples with the bytes in flight well below both windows.
    pub held_back: f64,
    /// Its slow-start threshold was never set; `None` when not probed.
    pub initial_slow_start: Option<bool>,
    /// `None` when not probed.
    pub waiting: Option<Waiting>,
    /// Share of the time its packets in flight are near their largest; `None`
    /// when probed (its windows are known then) or too short.
    pub plateau: Option<f64>,
    /// Mean packets in flight in the window.
    pub in_flight_pkts: Option<f64>,
    /// Mean rate on the wire in the window.
    pub bytes_per_s: f64,
}

pub(super) fn facts(flow: &FlowWindow<'_>, config: &EstimatorConfig) -> Facts {
    let mut facts = if flow.probed() {
        from_probe(flow)
    } else {
        Facts {
            plateau: plateau(flow, config),
            ..Facts::default()
        }
    };
    let (mut packets, mut bytes, mut rtt_sum, mut records) = (0.0, 0.0, 0.0, 0.0);
    for r in flow.window().iter().filter(|r| r.packets > 0) {
        packets += f64::from(r.packets);
        bytes += r.wire_bytes as f64;
        rtt_sum += rtt_ns(flow, r, config) as f64 / 1e9;
        records += 1.0;
    }
    let seconds = match (flow.window().first(), flow.window().last()) {
        (Some(a), Some(b)) => (b.start_ns + b.duration_ns - a.start_ns) as f64 / 1e9,
        _ => 0.0,
    };
    if records > 0.0 && seconds > 0.0 {
        facts.bytes_per_s = bytes / seconds;
        facts.in_flight_pkts = Some(packets / seconds * (rtt_sum / records));
    }
    facts
}

fn from_probe(flow: &FlowWindow<'_>) -> Facts {
    let mss = f64::from(flow.mss_bytes());
    let (mut samples, mut limited, mut held) = (0.0, 0.0, 0.0);
    let mut slow_start = true;
    let (mut srtt_us, mut here_us) = (Vec::new(), Vec::new());
    let mut base_us = flow
        .info
        .map(|i| i.handshake_rtt_ns as f64 / 1e3)
        .filter(|&h| h > 0.0)
        .unwrap_or(f64::INFINITY);
    for record in &flow.history {
        if record.packets > 0 {
            here_us.push(record.delay_sum_ns as f64 / f64::from(record.packets) / 1e3);
        }
        let Some(p) = record.probe.as_ref().filter(|p| p.samples > 0) else {
            continue;
        };
        let weight = f64::from(p.samples);
        let in_flight = f64::from(p.inflight_max_bytes);
        let receiver = f64::from(p.snd_wnd_last_bytes);
        let congestion = f64::from(p.cwnd_max) * mss;
        samples += weight;
        // A window that is no multiple of the segment leaves a part unused.
        if receiver <= congestion && in_flight + mss > 0.9 * receiver {
            limited += weight;
        }
        if in_flight + mss < 0.75 * receiver.min(congestion) {
            held += weight;
        }
        slow_start &= p.ssthresh_last == SSTHRESH_UNSET;
        if p.srtt_last_us > 0 {
            srtt_us.push(f64::from(p.srtt_last_us));
        }
        if p.base_rtt_min_us > 0 {
            base_us = base_us.min(f64::from(p.base_rtt_min_us));
        }
    }
    let mut facts = Facts {
        initial_slow_start: Some(slow_start),
        ..Facts::default()
    };
    if samples > 0.0 {
        facts.at_receiver_window = limited / samples;
        facts.held_back = held / samples;
    }
    if let (Some(srtt), Some(here)) = (quantile(&srtt_us, 0.5), quantile(&here_us, 0.5))
        && base_us.is_finite()
    {
        facts.waiting = Some(Waiting {
            base_s: base_us / 1e6,
            here_s: here / 1e6,
            elsewhere_s: (srtt - here - base_us).max(0.0) / 1e6,
        });
    }
    facts
}

/// In flight above this part of its 90th percentile is at the plateau; a
/// sawtooth between W/2 and W is there a third of the time.
const PLATEAU: f64 = 0.82;
/// RTTs over which the packets in flight are averaged.
const RTTS_PER_BIN: f64 = 2.0;
/// Bins needed before a plateau means anything.
const MIN_BINS: usize = 10;

/// Share of the time at which a flow's packets in flight are near their 90th
/// percentile; `None` when too little was seen.
fn plateau(flow: &FlowWindow<'_>, config: &EstimatorConfig) -> Option<f64> {
    let mut in_flight = Vec::new();
    let (mut start, mut rtts) = (None::<u64>, 0.0);
    let mut packets = 0.0;
    for r in &flow.history {
        let rtt = rtt_ns(flow, r, config).max(1) as f64;
        let began = *start.get_or_insert(r.start_ns);
        let end = r.start_ns + r.duration_ns;
        packets += f64::from(r.packets);
        // Packets per RTT, whatever the RTT is at the time.
        rtts = f64::max(rtts, end.saturating_sub(began) as f64 / rtt);
        if rtts >= RTTS_PER_BIN {
            in_flight.push(packets / rtts);
            (start, rtts, packets) = (Some(end), 0.0, 0.0);
        }
    }
    let top = quantile(&in_flight, 0.9).filter(|&t| t >= 2.0)?;
    if in_flight.len() < MIN_BINS {
        return None;
    }
    let near = in_flight.iter().filter(|&&w| w >= PLATEAU * top).count();
    Some(near as f64 / in_flight.len() as f64)
}
