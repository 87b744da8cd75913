// SPDX-License-Identifier: Apache-2.0
//! Standing queue of BBR flows when no limit bounds it.

use tidemark_rules::range::Range;
use tidemark_rules::traffic::Traffic;

/// Peak of the standing queue of several flows over C·T of the longest base RTT, with its range.
/// Simulated peaks of 2 to 20 flows are at 1.2 to 2.0, that of four real flows at 1.6.
const SEVERAL: Range = Range {
    value: 1.5,
    low: 1.0,
    high: 2.1,
};
/// Likewise for a single flow, which queues only while it probes.
const SINGLE: Range = Range {
    value: 0.75,
    low: 0.25,
    high: 1.25,
};
/// N_b from which there are several flows.
const FROM: f64 = 1.5;
/// Segments in flight per flow beyond its model: kept while it probes for the base RTT, and rounded
/// up by segmentation.
const EXTRA_PKTS: f64 = 4.0;
/// Loss rate without a buffer, if nothing else is known.
pub(crate) const WITHOUT_BUFFER: f64 = 0.1;
/// Loss rate from which the limit is taken to be below the cap.
pub(crate) const BELOW_CAP: f64 = 0.001;
/// Ratio of the cap to a limit that still loses: lowest, most likely, highest.
pub(crate) const BEYOND: Range = Range {
    value: 1.25,
    low: 1.0,
    high: 2.0,
};
/// Returns the standing queue of BBR flows when no limit bounds it, bytes; `None` if no base RTT is
/// known.
pub(crate) fn standing_queue(m: &Traffic) -> Option<Range> {
    let longest = m.base_rtts_s.iter().copied().fold(0.0, f64::max);
    let longest_s = if longest > 0.0 {
        longest
    } else {
        m.t_mean_s.high
    };
    if !(longest_s > 0.0 && longest_s.is_finite()) {
        return None;
    }
    let bdp_bytes = m.drain_bytes_per_s() * longest_s;
    let extra = EXTRA_PKTS * m.n_b.value.max(1.0) * m.segment_bytes;
    let over = if m.n_b.value < FROM { SINGLE } else { SEVERAL };
    Some(Range::new(
        over.value * bdp_bytes + extra,
        over.low * bdp_bytes,
        over.high * bdp_bytes + extra,
    ))
}
