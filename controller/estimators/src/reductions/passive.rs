// SPDX-License-Identifier: Apache-2.0
//! Loss episodes seen from the switch alone.
//!
//! A flow that lost a packet retransmits it and reduces. A packet dropped here is reported; a
//! retransmission without a drop here indicates a loss elsewhere.

use super::attribution::{Attribution, Cause, Reduction, rtt_ns};
use crate::config::EstimatorConfig;
use crate::rtt::BaseRtt;
use crate::stats::quantile;
use crate::window::FlowWindow;

/// Returns every loss response of a flow over its history, ordered by time: the given responses to
/// losses `here`, and those to losses elsewhere. `typical_rtt_ns` is from [`typical_rtt_ns`].
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
    found
}

/// Returns the median RTT over the records, ns.
pub(crate) fn typical_rtt_ns(
    flow: &FlowWindow<'_>,
    base: Option<BaseRtt>,
    config: &EstimatorConfig,
) -> u64 {
    let mut rtts = Vec::with_capacity(flow.history.len());
    let with_packets = flow.history.iter().filter(|r| r.packets > 0);
    rtts.extend(with_packets.map(|r| rtt_ns(flow, base, r, config) as f64));
    quantile(&rtts, 0.5).unwrap_or(config.default_rtt_ms * 1e6) as u64
}

/// Returns the loss episodes here: drops or CE marks within one RTT count once.
pub(crate) fn episodes(signals_ns: &[u64], rtt_ns: u64) -> Vec<Reduction> {
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

/// Returns the retransmissions that no drop here explains. A CE mark explains none, because marked
/// packets arrive.
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
