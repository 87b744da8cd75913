// SPDX-License-Identifier: Apache-2.0
//! What a flow's records say about its limits.

use crate::config::EstimatorConfig;
use crate::reductions::rtt_ns;
use crate::stats::{mean, quantile};
use crate::window::FlowWindow;

const SSTHRESH_UNSET: u32 = 0x7fff_ffff;

/// From the sender's state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeFacts {
    /// Share of samples with the bytes in flight at the receiver's window, and
    /// that the smaller of the two windows.
    pub at_receiver_window: f64,
    /// Share of samples with the bytes in flight well below both windows.
    pub held_back: f64,
    /// Its slow-start threshold was never set.
    pub initial_slow_start: bool,
    /// Its packets wait longer on the rest of the path than here.
    pub waits_elsewhere: bool,
}

pub(super) fn probe_facts(flow: &FlowWindow<'_>, _config: &EstimatorConfig) -> ProbeFacts {
    let mss = f64::from(flow.mss_bytes());
    let (mut samples, mut limited, mut held) = (0.0, 0.0, 0.0);
    let mut facts = ProbeFacts {
        initial_slow_start: true,
        ..ProbeFacts::default()
    };
    let (mut srtt_us, mut here_us) = (Vec::new(), Vec::new());
    let mut base_us = f64::INFINITY;
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
        facts.initial_slow_start &= p.ssthresh_last == SSTHRESH_UNSET;
        if p.srtt_last_us > 0 {
            srtt_us.push(f64::from(p.srtt_last_us));
        }
        if p.base_rtt_min_us > 0 {
            base_us = base_us.min(f64::from(p.base_rtt_min_us));
        }
    }
    if samples > 0.0 {
        facts.at_receiver_window = limited / samples;
        facts.held_back = held / samples;
    }
    if let (Some(srtt), Some(here)) = (quantile(&srtt_us, 0.5), quantile(&here_us, 0.5))
        && base_us.is_finite()
    {
        let elsewhere = srtt - here - base_us;
        facts.waits_elsewhere = elsewhere > here && elsewhere > 0.3 * base_us;
    }
    facts
}

/// From the reports alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PassiveFacts {
    /// Packets per RTT hardly vary.
    pub steady: bool,
}

/// Coefficient of variation of the packets per four RTTs below which a flow is
/// steady; a sawtooth between W/2 and W has 0.19.
const STEADY_VARIATION: f64 = 0.12;

pub(super) fn passive_facts(flow: &FlowWindow<'_>, config: &EstimatorConfig) -> PassiveFacts {
    let rtts: Vec<f64> = flow
        .history
        .iter()
        .filter(|r| r.packets > 0)
        .map(|r| rtt_ns(flow, r, config) as f64)
        .collect();
    let Some(rtt) = quantile(&rtts, 0.5) else {
        return PassiveFacts::default();
    };
    let bin_ns = (4.0 * rtt) as u64;
    let Some(first) = flow.history.first().map(|r| r.start_ns) else {
        return PassiveFacts::default();
    };
    let bins = (flow.life.last_ns.saturating_sub(first) / bin_ns.max(1)) as usize;
    if !(8..1_000_000).contains(&bins) {
        return PassiveFacts::default();
    }
    let mut packets = vec![0.0; bins];
    for r in &flow.history {
        let at = (r.start_ns.saturating_sub(first) / bin_ns) as usize;
        if let Some(p) = packets.get_mut(at) {
            *p += f64::from(r.packets);
        }
    }
    let Some(m) = mean(&packets).filter(|&m| m >= 4.0) else {
        return PassiveFacts::default();
    };
    let variance = packets.iter().map(|p| (p - m).powi(2)).sum::<f64>() / packets.len() as f64;
    PassiveFacts {
        steady: variance.sqrt() / m < STEADY_VARIATION,
    }
}
