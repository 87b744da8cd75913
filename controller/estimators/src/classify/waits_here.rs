// SPDX-License-Identifier: Apache-2.0
//! Finds flows that may react to the delay of this queue, by where their packets wait and how many
//! are in flight. Vegas, LEDBAT, and BBR with a deep buffer reduce without losses, so that losses
//! do not show where they are limited.

use super::facts::Facts;
use crate::window::FlowWindow;

/// Packets of a probed flow wait elsewhere for less than this part of their wait here; if reports
/// are sampled, and delays agree with no smoothed RTT, for less than all of it.
const ELSEWHERE: f64 = 0.5;
const ELSEWHERE_SAMPLED: f64 = 1.0;
/// They wait here for more than this part of the base RTT.
const HERE_OF_BASE: f64 = 0.005;
/// A window limit elsewhere keeps the packets in flight at their top for this share of the time.
const CONSTANT: f64 = 0.93;
/// Share of the samples with little in flight that shows that the sender limits itself.
const HELD_BACK: f64 = 0.5;
/// Probability that a flow of this kind is limited here if flows of this kind hold the queue, by
/// how it was seen.
const P_PROBED: f64 = 0.9;
const P_SAMPLED: f64 = 0.8;
const P_PASSIVE: f64 = 0.75;

/// Probability that the flow is bottlenecked here, given that flows that react to delay hold the
/// queue. `None` if another limit is seen, or too little to tell.
pub(super) fn p_by_delay(flow: &FlowWindow<'_>, facts: &Facts) -> Option<f64> {
    let sampled = flow.sampling > 1.0;
    if flow.probed() {
        let waiting = facts.waiting?;
        let elsewhere = if sampled {
            ELSEWHERE_SAMPLED
        } else {
            ELSEWHERE
        };
        let here = waiting.here_s > HERE_OF_BASE * waiting.base_s
            && waiting.elsewhere_s < elsewhere * waiting.here_s;
        let p = if sampled { P_SAMPLED } else { P_PROBED };
        return (here && facts.held_back < HELD_BACK).then_some(p);
    }
    // ACK clocking shows that the flow has a window; a varying size shows that nothing limits the
    // window.
    let shape = facts.shape?;
    (shape.at_top < CONSTANT).then_some(P_PASSIVE)
}

#[cfg(test)]
mod tests {
    use super::super::facts::Waiting;
    use super::*;
    use crate::in_flight::Shape;
    use tidemark_proto::telemetry::{FlowInterval, ProbeInterval};

    const BASE_S: f64 = 0.02;

    fn facts(elsewhere_s: f64, at_top: f64) -> Facts {
        Facts {
            waiting: Some(Waiting {
                base_s: BASE_S,
                here_s: 0.023,
                elsewhere_s,
            }),
            shape: Some(Shape {
                mean: 8.0,
                top: 9.0,
                at_top,
                rtts: 100.0,
                growth: None,
                growth_rtts: 0.0,
            }),
            ..Facts::default()
        }
    }

    fn told(probed: bool, sampling: f64, facts: &Facts) -> Option<f64> {
        let record = FlowInterval {
            probe: probed.then(ProbeInterval::default),
            ..FlowInterval::default()
        };
        let flow = FlowWindow {
            sampling,
            ..FlowWindow::of_records(vec![&record])
        };
        p_by_delay(&flow, facts)
    }

    #[test]
    fn the_packets_of_a_probed_flow_wait_here_alone() {
        let probed = |elsewhere_s, sampling| told(true, sampling, &facts(elsewhere_s, 0.5));
        assert_eq!(probed(0.002, 1.0), Some(P_PROBED));
        assert_eq!(probed(0.017, 1.0), None);
        assert_eq!(probed(0.017, 8.0), Some(P_SAMPLED));
        assert_eq!(probed(0.2, 8.0), None);
    }

    #[test]
    fn the_window_of_an_unprobed_flow_moves() {
        let passive = |at_top| told(false, 1.0, &facts(0.0, at_top));
        assert_eq!(passive(0.5), Some(P_PASSIVE));
        assert_eq!(passive(0.97), None);
    }
}
