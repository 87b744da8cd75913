// SPDX-License-Identifier: Apache-2.0
//! Significant rate reductions of a flow and where they come from (BSCL §VI).

mod passive;
mod probed;

use crate::config::EstimatorConfig;
use crate::window::FlowWindow;
pub(crate) use passive::passive;
pub(crate) use probed::probed;

/// One significant reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reduction {
    /// Start of the interval in which it was first seen.
    pub time_ns: u64,
    /// Window (segments) or rate before and after.
    pub before: f64,
    pub after: f64,
    /// Slow-start threshold set by it over the window before.
    pub threshold_ratio: Option<f64>,
    /// The level before came back within a few RTTs.
    pub restored: bool,
    /// A drop of the flow at this link precedes it.
    pub local: bool,
}

/// Retransmission timeouts take at least this long to show a drop (Linux 200 ms,
/// RFC 6298 1 s).
pub(crate) const TIMEOUT_LOOKBACK_NS: u64 = 1_200_000_000;

/// Whether a drop at the link explains a reduction at `time_ns`.
pub(crate) fn is_local(
    drops_ns: &[u64],
    time_ns: u64,
    interval_ns: u64,
    rtt_ns: u64,
    timeout: bool,
) -> bool {
    let mut lookback = 2 * rtt_ns + 2 * interval_ns;
    if timeout {
        lookback += TIMEOUT_LOOKBACK_NS + rtt_ns;
    }
    let from = time_ns.saturating_sub(lookback);
    // The interval in which the reduction shows may hold the drop too.
    let to = time_ns + interval_ns;
    let first = drops_ns.partition_point(|&d| d < from);
    drops_ns.get(first).is_some_and(|&d| d < to)
}

/// Time a round trip took in the record, from the best that is known, ns.
pub(crate) fn rtt_ns(
    flow: &FlowWindow<'_>,
    record: &tidemark_proto::telemetry::FlowInterval,
    config: &EstimatorConfig,
) -> u64 {
    if let Some(p) = &record.probe
        && p.srtt_last_us > 0
    {
        return u64::from(p.srtt_last_us) * 1000;
    }
    let delay = if record.packets > 0 {
        record.delay_sum_ns / u64::from(record.packets)
    } else {
        0
    };
    match flow.info.map(|i| i.handshake_rtt_ns).filter(|&r| r > 0) {
        Some(base) => base + delay,
        None => (config.default_rtt_ms * 1e6) as u64 + delay,
    }
}
