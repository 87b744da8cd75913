// SPDX-License-Identifier: Apache-2.0
//! Attributes reductions to the drops and CE marks at this link that may have caused them.

use crate::config::EstimatorConfig;
use crate::rtt::BaseRtt;
use crate::types::Evidence;
use crate::window::FlowWindow;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reduction {
    /// Start of the interval in which the reduction was first seen.
    pub time_ns: u64,
    /// RTT at that time; 0 if not needed.
    pub rtt_ns: u64,
    /// Window (segments) or rate before and after.
    pub before: f64,
    pub after: f64,
    /// Slow-start threshold that it set, over the window before.
    pub threshold_ratio: Option<f64>,
    /// Whether the level before came back within a few RTTs.
    pub restored: bool,
    /// Whether a drop or CE mark of the flow at this link precedes it.
    pub local: bool,
    /// Whether it shows where the flow is bottlenecked. A dip of the window without a new
    /// slow-start threshold does not, nor does a second reduction by the same loss event.
    pub counts: bool,
}

/// Extra lookback for retransmission timeouts, which follow a drop after at least 200 ms (Linux)
/// or 1 s (RFC 6298).
const TIMEOUT_LOOKBACK_NS: u64 = 1_200_000_000;

/// Cause of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A drop or CE mark at this link that explains no earlier reduction.
    Signal,
    /// Only drops or CE marks that explain an earlier reduction: the same loss event goes on.
    SameEvent,
    /// No drop or CE mark at this link.
    Elsewhere,
}

/// Attributes reductions, in order of time, to the flow's drops and CE marks at the link.
pub(crate) struct Attribution<'a> {
    signals_ns: &'a [u64],
    /// Time of the newest signal that explained a reduction.
    explained_ns: u64,
}

impl<'a> Attribution<'a> {
    pub fn new(signals_ns: &'a [u64]) -> Self {
        Self {
            signals_ns,
            explained_ns: 0,
        }
    }

    /// Returns the cause of a reduction seen in the interval that starts at `time_ns`.
    pub fn cause(&mut self, time_ns: u64, interval_ns: u64, rtt_ns: u64, timeout: bool) -> Cause {
        let mut lookback = 2 * rtt_ns + 2 * interval_ns;
        if timeout {
            lookback += TIMEOUT_LOOKBACK_NS + rtt_ns;
        }
        let from = time_ns.saturating_sub(lookback);
        // The signal may be in the same interval as the reduction.
        let to = time_ns + interval_ns;
        let first = self.signals_ns.partition_point(|&d| d < from);
        let after = self.signals_ns.partition_point(|&d| d < to);
        let Some(&newest) = after
            .checked_sub(1)
            .filter(|&i| i >= first)
            .and_then(|i| self.signals_ns.get(i))
        else {
            return Cause::Elsewhere;
        };
        if newest > self.explained_ns {
            self.explained_ns = newest;
            Cause::Signal
        } else {
            Cause::SameEvent
        }
    }
}

/// Returns the RTT during the record from the best source known, ns. `base` is the flow's base RTT,
/// if it was determined; one from probe samples is ignored, since it may include waiting elsewhere.
pub(crate) fn rtt_ns(
    flow: &FlowWindow<'_>,
    base: Option<BaseRtt>,
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
    let handshake = flow.info.map(|i| i.handshake_rtt_ns).filter(|&r| r > 0);
    let told = || {
        base.filter(|b| b.evidence == Evidence::Passive)
            .map(|b| (b.seconds * 1e9) as u64)
    };
    let base_ns = handshake.or_else(told);
    base_ns.unwrap_or((config.default_rtt_ms * 1e6) as u64) + delay
}
