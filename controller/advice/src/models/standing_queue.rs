// SPDX-License-Identifier: Apache-2.0
//! The queue that flows of BBR leave where nothing bounds it.

use tidemark_rules::range::Range;
use tidemark_rules::traffic::Traffic;

/// Standing queue of several flows over C·T of the longest base RTT: the most likely
/// peak, and its range. Simulated peaks of 2 to 20 flows are 1.2 to 2.0 of it, those of
/// four real flows 1.6.
const SEVERAL: Range = Range {
    value: 1.5,
    low: 1.0,
    high: 2.1,
};
/// This queue of a single flow, which leaves a queue only where it probes.
const SINGLE: Range = Range {
    value: 0.75,
    low: 0.25,
    high: 1.25,
};
/// N_b from which flows are several.
const FROM: f64 = 1.5;
/// Segments in flight of each flow beyond its model: what it keeps while it probes for
/// the base RTT, and what segmentation rounds up.
const EXTRA_PKTS: f64 = 4.0;
/// Loss rate without a buffer where nothing says more.
pub(crate) const WITHOUT_BUFFER: f64 = 0.1;
/// Loss rates from here on say that the limit is below the cap.
pub(crate) const BELOW_CAP: f64 = 0.001;
/// How far the cap is beyond a limit that still loses: at least, most likely, at most.
pub(crate) const BEYOND: Range = Range {
    value: 1.25,
    low: 1.0,
    high: 2.0,
};
/// The queue that flows of BBR leave where nothing bounds it, bytes; `None` where no base
/// RTT is known.
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
