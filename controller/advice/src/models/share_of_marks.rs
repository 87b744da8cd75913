// SPDX-License-Identifier: Apache-2.0
//! Flows that all reduce by half the share of their marks (DCTCP, RFC 8257; L4S): their queue at a
//! marking threshold, and the capacity left unused below it.
//!
//! They swing far less than flows that halve: with large windows a threshold K of a seventh of C·T
//! keeps the link busy (Alizadeh et al. 2010, eq. 13). That is not enough with windows of a few
//! packets, which the paper's sawtooth does not cover: simulated runs left up to 6 % unused. So the
//! unused share follows those runs, between K of 0.05 and 1.4 C·T. The mean queue is a little below
//! K; its peak is above K by a segment or two of each flow and the growth of a flow in slow start.
//! Marked packets are admitted: the threshold does not change the loss.

use super::{Curves, Model};
use tidemark_rules::range::Range;
use tidemark_rules::traffic::Traffic;

/// Model in which the queue of DCTCP flows determines utilisation and delay.
pub static MODEL: Model = Model {
    id: "share_of_marks",
    name: "queue of flows that reduce by the share of their marks",
    source: "Alizadeh et al., DCTCP, SIGCOMM 2010, eq. 13; fitted to simulated runs",
    evidence: "ns-3 runs of 4 and 12 flows at other thresholds and paths than the 30 it follows: \
               utilisation, peak and mean inside in 24, 23 and 22 of 24",
    fit: |m| {
        if m.heeds_share_of_marks() != Some(true) {
            return None;
        }
        let loss = m.observed.map_or(0.0, |o| o.loss_rate);
        Some(Curves {
            utilisation: Some(Box::new(|bytes| Ok(used_at(m, bytes)))),
            loss_rate: Some(Box::new(move |_| Ok(Range::exact(loss)))),
            delay_ms: Some(Box::new(|bytes| Ok(peak_ms(m, bytes)))),
            delay_mean_ms: Some(Box::new(|bytes| Ok(mean_ms(m, bytes)))),
        })
    },
};

/// Share of the link left unused without a threshold: expected, and below, the maximum.
const UNUSED: f64 = 0.08;
const UNUSED_MOST: f64 = 0.2;
/// K over C·T within which the unused share falls by a factor e.
const FALLS_IN: f64 = 0.15;
/// Mean queue over K.
const MEAN_OF_K: f64 = 0.9;
/// Peak queue above K, in segments per flow: lowest, expected, highest.
const PEAK_SEGMENTS: Range = Range {
    value: 1.5,
    low: 1.0,
    high: 2.75,
};

fn used_at(m: &Traffic, bytes: f64) -> Range {
    let bdp_bytes = (m.drain_bytes_per_s() * m.t_e_s.value).max(1.0);
    let left = (-bytes / bdp_bytes / FALLS_IN).exp();
    Range::new(1.0 - UNUSED * left, 1.0 - UNUSED_MOST * left, 1.0)
}

/// Returns the largest queueing delay, ms.
fn peak_ms(m: &Traffic, bytes: f64) -> Range {
    let flows = m.n_b.value.max(1.0);
    let at = |segments: f64| ms(m, bytes + segments * flows * m.segment_bytes);
    let slow_start = (m.drain_bytes_per_s() * m.t_mean_s.value + bytes) / flows;
    Range::new(
        at(PEAK_SEGMENTS.value),
        at(PEAK_SEGMENTS.low),
        at(PEAK_SEGMENTS.high) + ms(m, slow_start),
    )
}

/// Returns the mean queueing delay, ms.
fn mean_ms(m: &Traffic, bytes: f64) -> Range {
    let low = (0.75 * bytes - 4.0 * m.segment_bytes).max(0.0);
    let high = bytes + 0.25 * m.n_b.value * m.segment_bytes;
    Range::new(
        ms(m, MEAN_OF_K * bytes).max(ms(m, low)),
        ms(m, low),
        ms(m, high),
    )
}

fn ms(m: &Traffic, bytes: f64) -> f64 {
    bytes / m.drain_bytes_per_s() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::dctcp::threshold_bytes;
    use tidemark_rules::traffic::{CongestionControl, Observed};
    use tidemark_rules::{Options, Targets};

    const LIMIT_BYTES: f64 = 250_000.0;

    /// 100 Mb/s and 20 ms, with a threshold of one bandwidth-delay product in force.
    fn marked(flows: f64, cc: CongestionControl) -> Traffic {
        let mut m = Traffic::described(100e6, 0.02, flows, 1514.0);
        m.congestion_control = cc;
        m.loss_based_share = f64::from(u8::from(cc == CongestionControl::Reno));
        m.limit_bytes = Some(LIMIT_BYTES);
        m.observed = Some(Observed {
            utilisation: 1.0,
            loss_rate: 0.0,
            drops: 0,
            delay_mean_ms: 18.0,
            delay_p50_ms: 18.0,
            delay_p99_ms: 20.0,
            delay_max_ms: 21.0,
        });
        m
    }

    /// Utilisation, mean and largest queue (packets) of ns-3's DCTCP, by flows, Mb/s, T_e in ms, K.
    const SIMULATED: [([f64; 4], [f64; 3]); 9] = [
        ([2.0, 50.0, 20.0, 4.0], [0.9874, 1.8, 7.0]),
        ([2.0, 20.0, 28.57, 4.0], [0.8990, 1.6, 9.0]),
        ([8.0, 50.0, 20.0, 16.0], [0.9979, 11.8, 29.0]),
        ([20.0, 20.0, 28.57, 8.0], [0.9395, 8.8, 36.0]),
        ([20.0, 20.0, 28.57, 32.0], [1.0, 31.0, 62.0]),
        ([4.0, 100.0, 30.0, 5.0], [0.9822, 2.1, 11.0]),
        ([4.0, 10.0, 100.0, 14.0], [0.9964, 9.7, 20.0]),
        ([4.0, 30.0, 17.14, 5.0], [0.9549, 3.0, 15.0]),
        ([4.0, 30.0, 17.14, 50.0], [1.0, 45.9, 58.0]),
    ];

    #[test]
    fn simulated_queues_are_inside() {
        for ([flows, mbps, t_e_ms, k], [utilisation, mean, peak]) in SIMULATED {
            let mut m = Traffic::described(mbps * 1e6, t_e_ms / 1e3, flows, 1514.0);
            m.congestion_control = CongestionControl::Dctcp;
            let c = (MODEL.fit)(&m).unwrap();
            let ms = |packets: f64| packets * 1514.0 * 8.0 / mbps / 1e3;
            for (curve, truth) in [
                (c.utilisation, utilisation),
                (c.delay_mean_ms, ms(mean)),
                (c.delay_ms, ms(peak)),
            ] {
                let range = curve.unwrap()(k * 1514.0).unwrap();
                assert!(
                    range.low <= truth && truth <= range.high,
                    "{flows} flows, K {k}: {truth} {range:?}"
                );
            }
        }
    }

    /// A threshold of C·T is more than enough; eq. 13 is too small for small windows.
    #[test]
    fn the_advice_is_between_a_seventh_and_half_of_the_product() {
        let advised = |m: &Traffic| crate::advise(m, &Targets::default(), &Options::default());
        for flows in [2.0, 8.0, 20.0] {
            let advice = advised(&marked(flows, CongestionControl::Dctcp));
            let seventh = threshold_bytes(12.5e6, 0.02).unwrap();
            let limit = advice.limit_bytes.unwrap() as f64;
            assert_eq!(advice.rule.unwrap().as_str(), "share_of_marks");
            assert!(seventh < limit && limit < 3.5 * seventh, "{flows}: {limit}");
            assert!(advice.marking.is_some());
        }
        let halving = advised(&marked(8.0, CongestionControl::Reno));
        assert_ne!(halving.rule.unwrap().as_str(), "share_of_marks");
        assert!((MODEL.fit)(&marked(8.0, CongestionControl::Cubic)).is_none());
    }
}
