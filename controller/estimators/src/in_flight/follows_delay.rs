// SPDX-License-Identifier: Apache-2.0
//! Whether the packets in flight follow the queueing delay.
//!
//! A window keeps their number, however long they wait here. A slower link keeps their
//! rate: the longer they wait here, the more of them are in flight.

use super::moments::Moment;
use super::shape::RECOVERY_RTTS;
use crate::regression::Slope;

/// Round trips needed to see which.
const LEAST_RTTS: f64 = 30.0;

/// Relative change of the packets in flight over that of the round trip (slope of the
/// regression): 0 for a window, 1 for a rate. Silences and recoveries are left out.
/// `None` where the delay changes too little to tell. `losses_ns` are the times,
/// ascending, of drops and retransmissions.
pub(crate) fn follows_delay(moments: &[Moment], losses_ns: &[u64]) -> Option<f64> {
    let mut losses = losses_ns.iter().copied().peekable();
    let mut recovered_ns = 0;
    let mut kept: Vec<&Moment> = Vec::with_capacity(moments.len());
    let (mut rtts, mut before) = (0.0, None::<u64>);
    for m in moments {
        while let Some(loss) = losses.next_if(|&loss| loss <= m.time_ns) {
            recovered_ns = loss.saturating_add((RECOVERY_RTTS * m.rtt_s * 1e9) as u64);
        }
        if let Some(before) = before.replace(m.time_ns)
            && m.packets > 0.5
            && m.time_ns >= recovered_ns
        {
            rtts += m.time_ns.saturating_sub(before) as f64 / 1e9 / m.rtt_s.max(1e-6);
            kept.push(m);
        }
    }
    if rtts < LEAST_RTTS {
        return None;
    }
    let n = kept.len() as f64;
    let mean = |of: fn(&Moment) -> f64| kept.iter().map(|m| of(m)).sum::<f64>() / n;
    let (packets, rtt_s) = (mean(|m| m.packets), mean(|m| m.rtt_s));
    let relative = kept
        .iter()
        .map(|m| (m.rtt_s / rtt_s - 1.0, m.packets / packets - 1.0));
    // Moments of one round trip share their packets.
    Slope::of(&relative.collect::<Vec<_>>(), rtts)?.between_0_and_1()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A base RTT of 40 ms and a queue of up to `swing_s`, eight moments per round trip.
    fn slope(packets: fn(f64) -> f64, swing_s: f64) -> Option<f64> {
        let moments: Vec<Moment> = (0..2000)
            .map(|i| {
                let rtt_s = 0.04 + swing_s * (0.5 + 0.5 * (0.013 * f64::from(i)).sin());
                // An acknowledgement for two moves a window by one.
                let blur = f64::from(i * 7 % 5 - 2) / 4.0;
                Moment {
                    time_ns: i as u64 * 6_000_000,
                    packets: packets(rtt_s) + blur,
                    rtt_s,
                }
            })
            .collect();
        follows_delay(&moments, &[])
    }

    #[test]
    fn a_window_keeps_their_number_a_slower_link_their_rate() {
        let window = slope(|_| 4.0, 0.03).unwrap();
        assert!(window.abs() < 0.1, "{window}");
        let link = slope(|rtt_s| 80.0 * rtt_s, 0.03).unwrap();
        assert!((link - 1.0).abs() < 0.1, "{link}");
        assert_eq!(slope(|_| 4.0, 0.002), None);
    }

    #[test]
    fn recoveries_say_nothing() {
        let moments: Vec<Moment> = (0..400)
            .map(|i| Moment {
                time_ns: i * 6_000_000,
                packets: 1.0,
                rtt_s: 0.05,
            })
            .collect();
        let losses: Vec<u64> = (0..40).map(|i| i * 60_000_000).collect();
        assert_eq!(follows_delay(&moments, &losses), None);
    }
}
