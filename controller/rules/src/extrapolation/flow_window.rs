// SPDX-License-Identifier: Apache-2.0
//! The window of an LBP flow at a limit.

use super::law::FlowWindow;
use super::window_peak::Peak;
use crate::traffic::Traffic;

/// Window of each LBP flow while the queue is full. Their rates, w/(Tᵢ + B/C), add
/// up to Cₑ (BSCL eq. 8, 9); base RTTs are taken `stretch` times as long.
pub(super) fn flow_window(m: &Traffic, peak: Peak, stretch: f64, buffer_bytes: f64) -> FlowWindow {
    let drain = m.drain_bytes_per_s();
    let known = m.base_rtts_s.iter().filter(|&&t| t > 0.0);
    let inverses = known.map(|t| 1.0 / (t * stretch + buffer_bytes / drain));
    let (sum, count) = inverses.fold((0.0, 0.0), |(s, n), i| (s + i, n + 1.0));
    let rtt_s = if sum > 0.0 && f64::is_finite(sum) {
        count / sum
    } else {
        (peak.bdp_bytes + buffer_bytes) / drain
    };
    let flow_bytes_per_s = drain * m.c_e_share.value.clamp(0.0, 1.0) / m.n_b.value.max(1.0);
    FlowWindow {
        segments: flow_bytes_per_s * rtt_s * peak.short_of(buffer_bytes) / m.segment_bytes,
        rtt_s,
    }
}
