// SPDX-License-Identifier: Apache-2.0
//! Loss episodes seen from the switch alone.
//!
//! A flow that lost a packet retransmits it and reduces. A packet dropped here
//! is reported as such; a retransmission without a drop here stands for a loss
//! elsewhere. Where neither is seen, a fall of the rate per RTT counts.

use super::attribution::{Attribution, Cause, Reduction, TIMEOUT_LOOKBACK_NS, rtt_ns};
use crate::config::EstimatorConfig;
use crate::rtt::BaseRtt;
use crate::stats::quantile;
use crate::window::FlowWindow;

/// Packets per RTT needed before a falling rate means anything.
const MIN_PACKETS_PER_RTT: f64 = 8.0;
/// A rate that falls to this part within a round, and stays there, counts.
const RATE_RATIO: f64 = 0.65;

/// Every loss response of a flow over its history, in order: those to what was lost `here`,
/// and the others. `typical_rtt_ns` is [`typical_rtt_ns`] of the flow.
pub(crate) fn passive(
    flow: &FlowWindow<'_>,
    here: Vec<Reduction>,
    base: Option<BaseRtt>,
    typical_rtt_ns: u64,
    config: &EstimatorConfig,
) -> Vec<Reduction> {
    let mut found = here;
    found.extend(retransmissions(flow, base, typical_rtt_ns, config));
    found.sort_unstable_by_key(|r| r.time_ns);
    // Counts of a part of the packets fall and rise by chance.
    let falls = if flow.sampling <= 1.0 {
        rate_falls(flow, typical_rtt_ns)
    } else {
        Vec::new()
    };
    for fall in falls {
        let near = |r: &Reduction| r.time_ns.abs_diff(fall.time_ns) < TIMEOUT_LOOKBACK_NS;
        if !found.iter().any(near) {
            found.push(fall);
        }
    }
    found.sort_unstable_by_key(|r| r.time_ns);
    found
}

/// Median round trip of the records, ns.
pub(crate) fn typical_rtt_ns(
    flow: &FlowWindow<'_>,
    base: Option<BaseRtt>,
    config: &EstimatorConfig,
) -> u64 {
    let rtts: Vec<f64> = flow
        .history
        .iter()
        .filter(|r| r.packets > 0)
        .map(|r| rtt_ns(flow, base, r, config) as f64)
        .collect();
    quantile(&rtts, 0.5).unwrap_or(config.default_rtt_ms * 1e6) as u64
}

/// Drops and CE marks here, those within one RTT counted once.
pub(crate) fn local_episodes(flow: &FlowWindow<'_>, rtt_ns: u64) -> Vec<Reduction> {
    episodes(&flow.signals_ns, rtt_ns)
}

/// Those within one RTT counted once.
fn episodes(signals_ns: &[u64], rtt_ns: u64) -> Vec<Reduction> {
    let rtt = rtt_ns.max(1);
    let mut found: Vec<Reduction> = Vec::new();
    let mut until = 0;
    for &signal in signals_ns {
        if signal >= until {
            found.push(episode(signal, true));
            until = signal + rtt;
        }
    }
    found
}

/// Retransmissions that no drop here explains. A mark explains none: what is marked
/// arrives.
fn retransmissions(
    flow: &FlowWindow<'_>,
    base: Option<BaseRtt>,
    typical_rtt_ns: u64,
    config: &EstimatorConfig,
) -> Vec<Reduction> {
    let local = episodes(&flow.drops_ns, typical_rtt_ns);
    let mut found = Vec::new();
    let mut until = 0;
    for record in flow.history.iter().filter(|r| r.retransmitted_packets > 0) {
        let rtt = rtt_ns(flow, base, record, config);
        let cause =
            Attribution::new(&flow.drops_ns).cause(record.start_ns, record.duration_ns, rtt, true);
        let explained = cause == Cause::Signal
            || local
                .iter()
                .any(|l| record.start_ns.abs_diff(l.time_ns) < 2 * rtt);
        if !explained && record.start_ns >= until {
            found.push(episode(record.start_ns, false));
            until = record.start_ns + rtt.max(1);
        }
    }
    found
}

fn episode(time_ns: u64, local: bool) -> Reduction {
    Reduction {
        time_ns,
        rtt_ns: 0,
        before: f64::NAN,
        after: f64::NAN,
        threshold_ratio: None,
        restored: false,
        local,
        counts: true,
    }
}

/// Falls of the packets per RTT.
fn rate_falls(flow: &FlowWindow<'_>, typical_rtt_ns: u64) -> Vec<Reduction> {
    let rtt = typical_rtt_ns.max(1);
    let Some(first) = flow.history.first() else {
        return Vec::new();
    };
    let rounds = (flow.life.last_ns.saturating_sub(first.start_ns) / rtt) as usize + 1;
    if rounds > 1_000_000 {
        return Vec::new();
    }
    let mut packets = vec![0.0; rounds];
    for r in &flow.history {
        let at = (r.start_ns.saturating_sub(first.start_ns) / rtt) as usize;
        if let Some(p) = packets.get_mut(at) {
            *p += f64::from(r.packets);
        }
    }
    let mut found = Vec::new();
    let mut skip = 0;
    for (i, w) in packets.windows(6).enumerate() {
        let [a, b, c, d, e, f] = w else { continue };
        if i < skip {
            continue;
        }
        let before = (a + b + c) / 3.0;
        let after = (d + e + f) / 3.0;
        if before >= MIN_PACKETS_PER_RTT && after <= RATE_RATIO * before && *f <= 0.8 * before {
            let time_ns = first.start_ns + (i as u64 + 3) * rtt;
            let cause = Attribution::new(&flow.signals_ns).cause(time_ns, rtt, rtt, false);
            found.push(Reduction {
                time_ns,
                rtt_ns: rtt,
                before,
                after,
                threshold_ratio: None,
                restored: false,
                local: cause == Cause::Signal,
                counts: true,
            });
            skip = i + 6;
        }
    }
    found
}
