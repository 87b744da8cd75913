// SPDX-License-Identifier: Apache-2.0
//! Facts about a flow's limits, from its records.

use super::receiver_window::{ReceiverWindow, Watch};
use crate::config::EstimatorConfig;
use crate::echo::Echo;
use crate::in_flight::{Ceiling, Shape, ceiling, losses_ns, moments, shape};
use crate::reductions::{Reduction, SSTHRESH_UNSET, rtt_ns};
use crate::rtt::BaseRtt;
use crate::stats::quantile;
use crate::window::FlowWindow;

/// Round trips needed before a shape means anything.
const LEAST_RTTS: f64 = 8.0;

/// With fewer packets in flight srtt has the receiver's timer of delayed
/// acknowledgements (RFC 1122: up to 500 ms, Linux from 40 ms): no queue elsewhere.
const NO_TIMER_PKTS: f64 = 3.0;

/// Records whose median stands for all.
const LEAST_RECORDS: usize = 20;

/// Median waiting times of a flow's packets, by place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub base_s: f64,
    pub here_s: f64,
    pub elsewhere_s: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// How far the receiver's window limits it; all zero when not probed.
    pub receiver_window: ReceiverWindow,
    /// Share of samples with the bytes in flight well below both windows.
    pub held_back: f64,
    /// Its slow-start threshold was never set; `None` when not probed.
    pub initial_slow_start: Option<bool>,
    /// `None` when not probed.
    pub waiting: Option<Waiting>,
    /// Shape of its packets in flight as the switch sees them; `None` without a
    /// base RTT, with sampled packets, or when too short.
    pub shape: Option<Shape>,
    /// Most it had in flight; `None` as of the shape, where round trips are short, and when
    /// probed.
    pub ceiling: Option<Ceiling>,
    /// How its arrivals follow its departures.
    pub echo: Option<Echo>,
    /// Mean packets in flight in the window; of an unprobed flow without a known
    /// base RTT with the usual one.
    pub in_flight_pkts: Option<f64>,
    /// Mean round trip in the window, s; `None` without a base RTT.
    pub rtt_s: Option<f64>,
    /// Mean rate on the wire in the window.
    pub bytes_per_s: f64,
}

/// Facts from the history: the same for every window that ends with it and is no longer than
/// `memory_s`.
pub(super) fn from_history(
    flow: &FlowWindow<'_>,
    echo: Option<Echo>,
    base: Option<BaseRtt>,
    reductions: &[Reduction],
    config: &EstimatorConfig,
) -> Facts {
    let mut facts = if flow.probed() {
        from_probe(flow, echo, reductions)
    } else {
        Facts::default()
    };
    facts.echo = echo;
    // A count of a part of the packets varies more than any window.
    if let Some(base) = base.filter(|_| flow.sampling <= 1.0) {
        let memory_ns = (config.memory_s.max(0.0) * 1e9) as u64;
        let recent = flow.life.last_ns.saturating_sub(memory_ns);
        let first = flow.window().first();
        let since = first.map_or(recent, |r| r.start_ns.min(recent));
        let losses_ns = losses_ns(flow);
        let base_s = base.seconds + base.transmission_s;
        let moments = moments(flow, base_s, since, flow.life.last_ns);
        // Of a probed flow the window itself is seen, and what ends its growth.
        if !flow.probed() {
            facts.ceiling = ceiling(flow, base_s, &losses_ns, since);
        }
        facts.shape = shape(moments, &losses_ns).filter(|s| s.rtts >= LEAST_RTTS);
    }
    facts
}

/// Adds rates and round trips of the window to the facts from the history.
pub(super) fn with_window(
    mut facts: Facts,
    flow: &FlowWindow<'_>,
    base: Option<BaseRtt>,
    config: &EstimatorConfig,
) -> Facts {
    let (mut packets, mut bytes, mut rtt_sum, mut records) = (0.0, 0.0, 0.0, 0.0);
    for r in flow.window().iter().filter(|r| r.packets > 0) {
        packets += f64::from(r.packets);
        bytes += r.wire_bytes as f64;
        rtt_sum += rtt_ns(flow, base, r, config) as f64 / 1e9;
        records += 1.0;
    }
    let seconds = match (flow.window().first(), flow.window().last()) {
        (Some(a), Some(b)) => (b.start_ns + b.duration_ns - a.start_ns) as f64 / 1e9,
        _ => 0.0,
    };
    if records > 0.0 && seconds > 0.0 {
        facts.bytes_per_s = bytes * flow.sampling / seconds;
        let per_s = packets * flow.sampling / seconds;
        let known = base.is_some() || (flow.sampling <= 1.0 && !flow.probed());
        facts.in_flight_pkts = known.then(|| per_s * (rtt_sum / records));
        facts.rtt_s = base.map(|_| rtt_sum / records);
    }
    if !flow.probed()
        && let Some(s) = facts.shape
    {
        facts.in_flight_pkts = Some(s.mean);
    }
    facts
}

fn from_probe(flow: &FlowWindow<'_>, echo: Option<Echo>, reductions: &[Reduction]) -> Facts {
    let mss = f64::from(flow.mss_bytes());
    let sampled = flow.sampling > 1.0;
    let clocked = echo.filter(|e| sampled && e.clocks());
    let (mut samples, mut held) = (0.0, 0.0);
    let mut slow_start = true;
    let mut watch = Watch::default();
    let mut ends = reductions
        .iter()
        .filter(|r| r.counts)
        .map(|r| r.time_ns)
        .peekable();
    let [mut srtt_us, mut without_delay_us, mut here_us] =
        [(); 3].map(|()| Vec::with_capacity(flow.history.len()));
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
        while ends.next_if(|&end| end <= record.start_ns).is_some() {
            watch.reduced();
        }
        let weight = f64::from(p.samples);
        let in_flight = f64::from(p.inflight_max_bytes);
        let receiver = f64::from(p.snd_wnd_last_bytes);
        let congestion = f64::from(p.cwnd_max) * mss;
        samples += weight;
        // A window that is no multiple of the segment leaves a part unused.
        let limited = receiver <= congestion && in_flight + mss > 0.9 * receiver;
        watch.sample(record.start_ns, limited);
        if in_flight + mss < 0.75 * receiver.min(congestion) {
            held += weight;
        }
        slow_start &= p.ssthresh_last == SSTHRESH_UNSET;
        if in_flight >= NO_TIMER_PKTS * mss {
            if p.srtt_last_us > 0 {
                srtt_us.push(f64::from(p.srtt_last_us));
            }
            if p.base_rtt_min_us > 0 {
                without_delay_us.push(f64::from(p.base_rtt_min_us));
            }
        }
        if p.base_rtt_min_us > 0 && clocked.is_none() {
            base_us = base_us.min(f64::from(p.base_rtt_min_us));
        }
    }
    // Delays of a part of the packets do not agree with each smoothed round trip.
    if let Some(echo) = clocked {
        base_us = base_us.min(echo.lag_s * 1e6);
    }
    let mut facts = Facts {
        initial_slow_start: Some(slow_start),
        ..Facts::default()
    };
    if samples > 0.0 {
        facts.receiver_window = watch.result();
        facts.held_back = held / samples;
    }
    if base_us.is_finite()
        && srtt_us.len() >= LEAST_RECORDS
        && let Some(here) = quantile(&here_us, 0.5)
    {
        // If sample and delay agree, the wait for a second packet to acknowledge is taken
        // out too.
        let beyond = if clocked.is_none() && without_delay_us.len() >= LEAST_RECORDS {
            quantile(&without_delay_us, 0.5)
        } else {
            quantile(&srtt_us, 0.5).map(|srtt| srtt - here)
        };
        facts.waiting = beyond.map(|beyond| Waiting {
            base_s: base_us / 1e6,
            here_s: here / 1e6,
            elsewhere_s: (beyond - base_us).max(0.0) / 1e6,
        });
    }
    facts
}
