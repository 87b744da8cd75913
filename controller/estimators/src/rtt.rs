// SPDX-License-Identifier: Apache-2.0
//! Base RTTs of flows, Tₑ and T̄ (BSCL eq. 12).

use crate::repairs::repairs;
use crate::self_clock::self_clock;
use crate::stats::{Z90, quantile};
use crate::types::{Estimate, Evidence};
use crate::window::FlowWindow;
use tidemark_proto::telemetry::FlowInterval;

/// A flow's base RTT with its relative error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BaseRtt {
    pub seconds: f64,
    /// What a packet that has left the queue takes beyond it to be acknowledged: its
    /// transmission, s.
    pub transmission_s: f64,
    pub error: f64,
    pub evidence: Evidence,
    /// Nothing of it was seen: it is what the flow's rate needs for a window like
    /// that of the others.
    pub guessed: bool,
}

/// The part of a flow's intervals whose base RTT may be too small. Each is a
/// difference of two smoothed values, so that the least of thousands is least
/// by its error; queues elsewhere only ever add, so that the true one is low.
const BASE_RTT_QUANTILE: f64 = 0.1;

/// T_i: a low quantile of (srtt − queueing delay here) over the history, or the
/// handshake's where that is smaller: a flow that keeps a queue elsewhere hides
/// its base RTT later. Without either, the spacing of the first rounds of slow
/// start, srtt less the delay here of whole records, the clock of acknowledgements, or
/// the time from a drop to its retransmission; else the smallest srtt.
/// Packets leave the queue when their transmission begins: all but the handshake, whose
/// packets are small, have `transmission_s` of a packet of the flow in them.
/// `None` when nothing is known.
pub(crate) fn base_rtt(flow: &FlowWindow<'_>, transmission_s: f64) -> Option<BaseRtt> {
    // No more than half, whatever capacity is configured.
    let propagation = |seconds: f64| seconds - transmission_s.min(seconds / 2.0);
    let probes = || flow.history.iter().filter_map(|r| r.probe.as_ref());
    let mut differences = Vec::with_capacity(flow.history.len());
    let known = probes().map(|p| p.base_rtt_min_us).filter(|&b| b > 0);
    differences.extend(known.map(f64::from));
    let handshake = flow
        .info
        .map(|i| i.handshake_rtt_ns)
        .filter(|&h| h > 0)
        .map(|ns| ns as f64 / 1e9);
    // Of a part of the packets the delay is known too roughly for a low quantile
    // to be more than its error.
    let (low, error) = if flow.sampling <= 1.0 {
        (BASE_RTT_QUANTILE, 0.04)
    } else {
        (0.5, 0.3)
    };
    if let Some(us) = quantile(&differences, low) {
        let seconds = propagation(us / 1e6);
        return Some(BaseRtt {
            seconds: handshake.map_or(seconds, |h| h.min(seconds)),
            transmission_s,
            error,
            evidence: Evidence::Probed,
            guessed: false,
        });
    }
    if let Some(seconds) = handshake {
        return Some(BaseRtt {
            seconds,
            transmission_s,
            error: 0.06,
            evidence: Evidence::Passive,
            guessed: false,
        });
    }
    // Of a part of the packets neither can be told.
    if flow.sampling <= 1.0 {
        let passive = Evidence::Passive;
        let found = slow_start(flow)
            .map(|found| (found, passive))
            .or_else(|| under_losses(flow).map(|found| (found, Evidence::Probed)))
            .or_else(|| self_clock(flow).map(|found| (found, passive)))
            .or_else(|| repairs(flow).map(|found| (found, passive)));
        if let Some(((seconds, error), evidence)) = found {
            return Some(BaseRtt {
                seconds: propagation(seconds),
                transmission_s,
                error,
                evidence,
                guessed: false,
            });
        }
    }
    // Includes queueing: an upper bound.
    let srtt = probes().map(|p| p.srtt_min_us).filter(|&b| b > 0).min()?;
    Some(BaseRtt {
        seconds: propagation(f64::from(srtt) / 1e6),
        transmission_s,
        error: 0.5,
        evidence: Evidence::Probed,
        guessed: false,
    })
}

/// Round trips shorter than this many records cannot be told from their spacing.
const LEAST_RECORDS: f64 = 3.0;

/// Mean queueing delay of a record's packets, s.
fn delay_s(r: &FlowInterval) -> f64 {
    r.delay_sum_ns as f64 / f64::from(r.packets.max(1)) / 1e9
}

/// Records with a window that make the difference of srtt and delay known.
const LEAST_DIFFERENCES: usize = 20;

/// Of a flow that loses too often for its srtt and its delay here to agree sample by
/// sample: the difference of the two, record by record. In a queue that is always
/// full the delay hardly changes, so that its middle is right. Seconds and relative
/// error.
fn under_losses(flow: &FlowWindow<'_>) -> Option<(f64, f64)> {
    let differences: Vec<f64> = flow
        .history
        .iter()
        .filter(|r| r.packets > 0)
        .filter_map(|r| {
            let srtt_us = r.probe.as_ref()?.srtt_last_us;
            let seconds = f64::from(srtt_us) / 1e6 - delay_s(r);
            (srtt_us > 0 && seconds > 0.0).then_some(seconds)
        })
        .collect();
    (differences.len() >= LEAST_DIFFERENCES)
        .then(|| quantile(&differences, 0.5))
        .flatten()
        .map(|seconds| (seconds, 0.15))
}

/// Spacing of the first two rounds of slow start (Jiang, Dovrolis): the second
/// begins when the first packet of the first is acknowledged, so it leaves here
/// one base RTT and its own queueing delay later. Seconds and relative error.
fn slow_start(flow: &FlowWindow<'_>) -> Option<(f64, f64)> {
    let syn = flow.history.iter().position(|r| r.syn)?;
    let mut rounds = flow
        .history
        .get(syn..)?
        .iter()
        .filter(|r| r.payload_bytes > 0);
    let first = rounds.next()?;
    let length = first.duration_ns.max(1);
    let mut last = first.start_ns;
    // The first round ends with the first silence.
    let second = rounds.find(|r| {
        let silence = r.start_ns.saturating_sub(last) > 2 * length;
        last = r.start_ns;
        silence
    })?;
    let spacing_s = second.start_ns.saturating_sub(first.start_ns) as f64 / 1e9;
    let seconds = spacing_s - delay_s(second);
    let length_s = length as f64 / 1e9;
    let lossless = flow.drops_ns.iter().all(|&d| d > second.start_ns)
        && first.retransmitted_packets + second.retransmitted_packets == 0;
    // Delayed acknowledgements may add their timer only to a round of one.
    (lossless && first.packets > 1 && seconds >= LEAST_RECORDS * length_s)
        .then_some((seconds, f64::max(0.15, length_s / seconds)))
}

/// Fewer base RTTs than this, of less than half of the flows, are too few to
/// stand for all: Tₑ is ruled by the shortest.
const LEAST_BASE_RTTS: usize = 5;
/// Whether base RTTs of `known` flows, which make up `weight` of `all`, say enough
/// of all.
fn enough(known: usize, weight: f64, all: f64) -> bool {
    known > 0 && (known >= LEAST_BASE_RTTS || 2.0 * weight >= all)
}

/// Relative error of the mean of 1/T over flows of weight `all` when it is that of
/// a part of them.
fn error_of_a_part(rtts: &[(BaseRtt, f64)], weight: f64, mean_rate: f64, all: f64) -> f64 {
    let known = rtts.len() as f64;
    let part = (1.0 - weight / all).max(0.0);
    let square = rtts
        .iter()
        .map(|(r, w)| w * (1.0 / r.seconds - mean_rate).powi(2))
        .sum::<f64>()
        / weight;
    let variance = square * known / (known - 1.0).max(1.0);
    Z90 * variance.sqrt() / mean_rate * (part / known).sqrt()
}

/// Tₑ and T̄ in ms over the flows of which a base RTT is known, each by its weight:
/// the part of the window in which it was active, as N_b counts it. `all` is the
/// weight of the flows that count. `None` when those known say too little of the
/// others.
pub(crate) fn t_e_and_mean_ms(rtts: &[(BaseRtt, f64)], all: f64) -> Option<(Estimate, Estimate)> {
    let known = rtts.iter().filter(|(r, _)| r.seconds > 0.0);
    let (mut weight, mut rate, mut length, mut error) = (0.0, 0.0, 0.0, 0.0);
    for (r, w) in known {
        weight += w;
        rate += w / r.seconds;
        length += w * r.seconds;
        error += w * r.error;
    }
    if weight <= 0.0 || !enough(rtts.len(), weight, all) {
        return None;
    }
    let (rate, t_mean, error) = (rate / weight, length / weight, error / weight);
    let t_e = 1.0 / rate;
    let part = error_of_a_part(rtts, weight, rate, all.max(weight));
    let evidence = match (
        rtts.iter().any(|r| r.0.evidence == Evidence::Probed),
        rtts.iter().any(|r| r.0.evidence == Evidence::Passive),
    ) {
        (true, true) => Evidence::Mixed,
        (true, false) => Evidence::Probed,
        _ => Evidence::Passive,
    };
    let around = |s: f64| {
        Estimate::new(
            s * 1e3,
            s * 1e3 * (1.0 - error) / (1.0 + part),
            s * 1e3 * (1.0 + error) * (1.0 + part),
            evidence,
            rtts.len() as u64,
        )
    };
    Some((around(t_e), around(t_mean)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonic_and_arithmetic() {
        let rtts = [0.01, 0.02, 0.03, 0.04].map(|seconds| {
            let rtt = BaseRtt {
                seconds,
                transmission_s: 0.0,
                error: 0.05,
                evidence: Evidence::Probed,
                guessed: false,
            };
            (rtt, 1.0)
        });
        let (t_e, t_mean) = t_e_and_mean_ms(&rtts, 4.0).unwrap();
        assert!((t_e.value - 19.2).abs() < 1e-9);
        assert!((t_mean.value - 25.0).abs() < 1e-9);
        assert!((t_e.low - 18.24).abs() < 1e-9 && (t_e.high - 20.16).abs() < 1e-9);
        assert!(t_e_and_mean_ms(&[], 0.0).is_none());
        // Of half of the flows: as good a value, a wider range. Of a few of many: none.
        let (of_part, _) = t_e_and_mean_ms(&rtts, 8.0).unwrap();
        assert_eq!(of_part.value, t_e.value);
        assert!(of_part.low < 0.8 * t_e.low && of_part.high > 1.2 * t_e.high);
        assert!(t_e_and_mean_ms(&rtts, 9.0).is_none());
        // One that was there for a tenth of the time counts a tenth.
        let seldom = [(rtts[0].0, 0.1), (rtts[3].0, 0.9)];
        let (t_e, t_mean) = t_e_and_mean_ms(&seldom, 1.0).unwrap();
        assert!((t_e.value - 1e3 / (0.1 / 0.01 + 0.9 / 0.04)).abs() < 1e-9);
        assert!((t_mean.value - 37.0).abs() < 1e-9);
    }
}
