// SPDX-License-Identifier: Apache-2.0
//! Base RTTs of flows.

use crate::echo::Echo;
use crate::feedback::feedback;
use crate::stats::quantile;
use crate::types::Evidence;
use crate::window::FlowWindow;

/// A flow's base RTT with its relative error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BaseRtt {
    pub seconds: f64,
    /// Time from leaving the queue to the acknowledgement in excess of the base RTT: the
    /// transmission of a packet, s.
    pub transmission_s: f64,
    pub error: f64,
    pub evidence: Evidence,
}

/// Fraction of a flow's intervals whose base RTT may be too small. Each is a difference of two
/// smoothed values, so that the smallest of thousands is small because of its error; queues
/// elsewhere only ever add, so that the true value is low.
const BASE_RTT_QUANTILE: f64 = 0.1;

/// Relative errors of the base RTT from many samples, from one handshake, and from an echo.
const PROBED_ERROR: f64 = 0.01;
const HANDSHAKE_ERROR: f64 = 0.025;
const ECHO_ERROR: f64 = 0.03;
/// Least standard deviations of an echo to give the base RTT of a flow that is hardly clocked.
const FAINT_Z: f64 = 6.0;
const FAINT_ERROR: f64 = 0.15;
/// Wait on the way for a packet that is just being sent, in transmissions: on links as fast as this
/// link, half a transmission more or less. At 10 Mb/s that is 6 % of 10 ms.
const TRANSMISSIONS: f64 = 0.5;
/// Largest error, however little is known.
const MOST_ERROR: f64 = 0.5;

/// Returns the base RTT T_i: a low quantile of (srtt − queueing delay here) over the history, or
/// the handshake's RTT if smaller: a flow that keeps a queue elsewhere hides its base RTT later.
/// Without either: the echo of its departures, or how soon it responds to losses and marks here;
/// else the smallest srtt. Packets leave the queue when their transmission begins: every source but
/// the handshake, whose packets are small, includes `transmission_s` of a packet of the flow.
/// `None` if nothing is known.
pub(crate) fn base_rtt(
    flow: &FlowWindow<'_>,
    echo: Option<Echo>,
    transmission_s: f64,
) -> Option<BaseRtt> {
    // At most half, whatever capacity is configured.
    let propagation = |seconds: f64| seconds - transmission_s.min(seconds / 2.0);
    let history = flow.history.as_slice();
    let history = if flow.probed() { history } else { &[] };
    let probes = || history.iter().filter_map(|r| r.probe.as_ref());
    let mut differences = Vec::with_capacity(history.len());
    let known = probes().map(|p| p.base_rtt_min_us).filter(|&b| b > 0);
    differences.extend(known.map(f64::from));
    let handshake = flow
        .info
        .map(|i| i.handshake_rtt_ns)
        .filter(|&h| h > 0)
        .map(|ns| ns as f64 / 1e9);
    // With sampled packets the delay is known too roughly for a low quantile to be more than its
    // error.
    let (low, error) = if flow.sampling <= 1.0 {
        (BASE_RTT_QUANTILE, PROBED_ERROR)
    } else {
        (0.5, 0.3)
    };
    let with_waiting = |error: f64, seconds: f64| {
        (error + TRANSMISSIONS * transmission_s / seconds).min(MOST_ERROR)
    };
    let seen = |seconds: f64, error: f64, evidence: Evidence| BaseRtt {
        seconds,
        transmission_s,
        error,
        evidence,
    };
    let clocked = echo.filter(Echo::clocks);
    if let Some(us) = quantile(&differences, low)
        && (flow.sampling <= 1.0 || (clocked.is_none() && handshake.is_none()))
    {
        let seconds = propagation(us / 1e6);
        let seconds = handshake.map_or(seconds, |h| h.min(seconds));
        let error = with_waiting(error, seconds);
        return Some(seen(seconds, error, Evidence::Probed));
    }
    if let Some(seconds) = handshake {
        let error = with_waiting(HANDSHAKE_ERROR, seconds);
        return Some(seen(seconds, error, Evidence::Passive));
    }
    if let Some(echo) = clocked {
        let seconds = propagation(echo.lag_s);
        let error = with_waiting(ECHO_ERROR + echo.error(), seconds);
        return Some(seen(seconds, error, Evidence::Passive));
    }
    // Neither source works with sampled packets.
    if flow.sampling <= 1.0 {
        let faint = echo.filter(|e| e.z >= FAINT_Z);
        let faint = faint.map(|e| (e.lag_s, FAINT_ERROR));
        if let Some((seconds, error)) = feedback(flow).or(faint) {
            return Some(seen(propagation(seconds), error, Evidence::Passive));
        }
    }
    // Includes queueing: an upper bound.
    let srtt = probes().map(|p| p.srtt_min_us).filter(|&b| b > 0).min()?;
    let seconds = propagation(f64::from(srtt) / 1e6);
    Some(seen(seconds, MOST_ERROR, Evidence::Probed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::{FlowInfo, FlowInterval, ProbeInterval};

    /// Base RTT and error of a flow with this handshake (0: not seen) and these samples.
    fn told(handshake_us: u64, samples_us: &[u32], transmission_us: f64) -> Option<(f64, f64)> {
        let info = FlowInfo {
            handshake_rtt_ns: handshake_us * 1_000,
            ..FlowInfo::default()
        };
        let records: Vec<FlowInterval> = samples_us
            .iter()
            .map(|&us| FlowInterval {
                packets: 1,
                probe: Some(ProbeInterval {
                    base_rtt_min_us: us,
                    ..ProbeInterval::default()
                }),
                ..FlowInterval::default()
            })
            .collect();
        let flow = FlowWindow {
            info: Some(&info),
            ..FlowWindow::of_records(records.iter().collect())
        };
        base_rtt(&flow, None, transmission_us / 1e6).map(|b| (b.seconds, b.error))
    }

    fn near(told: Option<(f64, f64)>, (seconds, error): (f64, f64)) {
        let (s, e) = told.unwrap();
        assert!((s - seconds).abs() < 1e-9, "{s} s for {seconds}");
        assert!((e - error).abs() < 1e-9, "± {e} for {error}");
    }

    /// 1.2 ms at 10 Mb/s. The handshake's packets are small, data packets are not; either may wait
    /// for half a transmission.
    #[test]
    fn a_packet_may_wait_for_another_that_is_being_sent() {
        near(told(20_000, &[], 1_200.0), (0.020, HANDSHAKE_ERROR + 0.03));
        near(
            told(0, &[21_200; 30], 1_200.0),
            (0.020, PROBED_ERROR + 0.03),
        );
        near(told(0, &[20_000; 30], 0.0), (0.020, PROBED_ERROR));
    }

    #[test]
    fn the_smaller_of_handshake_and_samples() {
        near(
            told(18_000, &[21_000; 30], 1_000.0),
            (0.018, PROBED_ERROR + 0.5 / 18.0),
        );
        near(
            told(30_000, &[21_000; 30], 1_000.0),
            (0.020, PROBED_ERROR + 0.5 / 20.0),
        );
        assert_eq!(told(0, &[], 1_000.0), None);
    }

    /// The configured capacity is far too low.
    #[test]
    fn no_more_than_half_is_transmission() {
        near(told(0, &[2_000; 30], 12_000.0), (0.001, MOST_ERROR));
    }
}
