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
use tidemark_proto::telemetry::ProbeInterval;

/// Round trips needed before a shape means anything.
const LEAST_RTTS: f64 = 8.0;

/// Least packets in flight for srtt to show queueing: with fewer it includes the receiver's
/// delayed-ACK timer (RFC 1122: up to 500 ms, Linux from 40 ms).
const NO_TIMER_PKTS: f64 = 3.0;

/// Least number of records for a median.
const LEAST_RECORDS: usize = 20;

/// Base RTT of a flow, and the median times that its packets wait at this link and elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub base_s: f64,
    pub here_s: f64,
    pub elsewhere_s: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// How far the receiver's window limits the flow; all zero if not probed.
    pub receiver_window: ReceiverWindow,
    /// Share of samples whose bytes in flight are well below both windows.
    pub held_back: f64,
    /// Whether the slow-start threshold was never set; `None` if not probed.
    pub initial_slow_start: Option<bool>,
    /// `None` if not probed.
    pub waiting: Option<Waiting>,
    /// Shape of the packets in flight as the switch sees them; `None` without a base RTT, with
    /// sampled packets, or if the history is too short.
    pub shape: Option<Shape>,
    /// Most packets in flight; `None` without a base RTT, with sampled packets, if probed, or if
    /// round trips are shorter than a record.
    pub ceiling: Option<Ceiling>,
    /// How the flow's arrivals follow its departures.
    pub echo: Option<Echo>,
    /// Mean packets in flight in the window; the default RTT is used for an unprobed, unsampled
    /// flow without a base RTT.
    pub in_flight_pkts: Option<f64>,
    /// Mean round trip in the window, s; `None` without a base RTT.
    pub rtt_s: Option<f64>,
    /// Mean rate on the wire in the window, bytes/s.
    pub bytes_per_s: f64,
}

/// Computes the facts from the history, which are the same for every window that ends with it and
/// is no longer than `memory_s`.
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
    // Sampled counts vary more than a window does.
    if let Some(base) = base.filter(|_| flow.sampling <= 1.0) {
        let memory_ns = (config.memory_s.max(0.0) * 1e9) as u64;
        let recent = flow.life.last_ns.saturating_sub(memory_ns);
        let first = flow.window().first();
        let since = first.map_or(recent, |r| r.start_ns.min(recent));
        let losses_ns = losses_ns(flow);
        let base_s = base.seconds + base.transmission_s;
        let moments = moments(flow, base_s, since, flow.life.last_ns);
        // A probed flow shows its window, and why it stops growing, directly.
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
    let (mut samples, mut held) = (0u64, 0u64);
    let mut slow_start = true;
    let mut watch = Watch::default();
    let ends = reductions.iter().filter(|r| r.counts);
    let ends: Vec<u64> = ends.map(|r| r.time_ns).collect();
    let mut ended = 0;
    for (start_ns, p) in with_samples(flow) {
        while ends.get(ended).is_some_and(|&end| end <= start_ns) {
            watch.reduced();
            ended += 1;
        }
        let in_flight = f64::from(p.inflight_max_bytes);
        let receiver = f64::from(p.snd_wnd_last_bytes);
        let congestion = f64::from(p.cwnd_max) * mss;
        let receives_less = receiver <= congestion;
        // A part of a window that is not a multiple of the MSS stays unused.
        let limited = receives_less && in_flight + mss > 0.9 * receiver;
        watch.sample(start_ns, limited);
        let window = if receives_less { receiver } else { congestion };
        samples += u64::from(p.samples);
        if in_flight + mss < 0.75 * window {
            held += u64::from(p.samples);
        }
        slow_start &= p.ssthresh_last == SSTHRESH_UNSET;
    }
    let mut facts = Facts {
        initial_slow_start: Some(slow_start),
        waiting: waiting(flow, echo),
        ..Facts::default()
    };
    if samples > 0 {
        facts.receiver_window = watch.result();
        facts.held_back = held as f64 / samples as f64;
    }
    facts
}

/// Returns the records' sender samples, each with the start of its record, ns.
fn with_samples<'a>(flow: &FlowWindow<'a>) -> impl Iterator<Item = (u64, &'a ProbeInterval)> {
    let probes = flow
        .history
        .iter()
        .filter_map(|r| Some((r.start_ns, r.probe.as_ref()?)));
    probes.filter(|(_, p)| p.samples > 0)
}

/// Returns the waiting times of a probed flow's packets; `None` with too few samples.
fn waiting(flow: &FlowWindow<'_>, echo: Option<Echo>) -> Option<Waiting> {
    let clocked = echo.filter(|e| flow.sampling > 1.0 && e.clocks());
    let no_timer_bytes = NO_TIMER_PKTS * f64::from(flow.mss_bytes());
    let has_no_timer = |p: &ProbeInterval| f64::from(p.inflight_max_bytes) >= no_timer_bytes;
    let mut without_delay_us = Vec::with_capacity(flow.history.len());
    let (mut srtts, mut least_us) = (0, u64::MAX);
    for (_, p) in with_samples(flow) {
        let without_delay = p.base_rtt_min_us;
        if without_delay > 0 {
            least_us = least_us.min(u64::from(without_delay));
        }
        if has_no_timer(p) {
            srtts += usize::from(p.srtt_last_us > 0);
            if without_delay > 0 {
                without_delay_us.push(f64::from(without_delay));
            }
        }
    }
    let handshake_us = flow.info.map(|i| i.handshake_rtt_ns as f64 / 1e3);
    let handshake_us = handshake_us.filter(|&h| h > 0.0).unwrap_or(f64::INFINITY);
    let base_us = match clocked {
        // The delays of sampled packets do not match every smoothed round trip.
        Some(echo) => handshake_us.min(echo.lag_s * 1e6),
        None if least_us < u64::MAX => handshake_us.min(least_us as f64),
        None => handshake_us,
    };
    if !base_us.is_finite() || srtts < LEAST_RECORDS {
        return None;
    }
    let mut here_us = Vec::with_capacity(flow.history.len());
    let with_packets = flow.history.iter().filter(|r| r.packets > 0);
    here_us.extend(with_packets.map(|r| r.delay_sum_ns as f64 / f64::from(r.packets) / 1e3));
    let here = quantile(&here_us, 0.5)?;
    // If samples and delays match, the smallest difference of each record also excludes the
    // wait of delayed ACKs.
    let beyond = if clocked.is_none() && without_delay_us.len() >= LEAST_RECORDS {
        quantile(&without_delay_us, 0.5)?
    } else {
        let told = with_samples(flow).filter(|(_, p)| p.srtt_last_us > 0 && has_no_timer(p));
        let srtts_us: Vec<f64> = told.map(|(_, p)| f64::from(p.srtt_last_us)).collect();
        quantile(&srtts_us, 0.5)? - here
    };
    Some(Waiting {
        base_s: base_us / 1e6,
        here_s: here / 1e6,
        elsewhere_s: (beyond - base_us).max(0.0) / 1e6,
    })
}
