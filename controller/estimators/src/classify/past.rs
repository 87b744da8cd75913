// SPDX-License-Identifier: Apache-2.0
//! Facts from the history of a flow.

use super::facts::{Facts, from_history};
use super::heeds_loss::defies_loss;
use crate::config::EstimatorConfig;
use crate::congestion_control::{Recognised, recognise};
use crate::echo::Echo;
use crate::reductions::{Reduction, episodes, passive, probed, typical_rtt_ns};
use crate::rtt::BaseRtt;
use crate::types::CongestionControl;
use crate::window::FlowWindow;

/// Facts from a flow's history up to the end of the window, shared by all shorter windows that end
/// there: most of the cost of classifying a flow.
#[derive(Debug)]
pub(crate) struct Past {
    /// Significant reductions, ordered by time.
    pub reductions: Vec<Reduction>,
    /// Congestion control, recognised by reductions and marks alone.
    pub(super) recognised: Recognised,
    /// Number of loss events here; an upper bound for a probed flow that reduces on loss.
    pub(super) events: usize,
    pub(super) facts: Facts,
}

impl Past {
    pub(super) fn of(
        flow: &FlowWindow<'_>,
        echo: Option<Echo>,
        base: Option<BaseRtt>,
        config: &EstimatorConfig,
    ) -> Self {
        let here = || {
            let rtt_ns = typical_rtt_ns(flow, base, config);
            (rtt_ns, episodes(&flow.signals_ns, rtt_ns))
        };
        if !flow.probed() {
            let (rtt_ns, here) = here();
            let events = here.len();
            let reductions = passive(flow, here, base, rtt_ns, config);
            return Self {
                facts: from_history(flow, echo, base, &reductions, config),
                reductions,
                recognised: Recognised {
                    cc: CongestionControl::Unknown,
                    beta: None,
                },
                events,
            };
        }
        let reductions = probed(flow, base, config);
        let facts = from_history(flow, echo, base, &reductions, config);
        // Counting loss events needs the median RTT of all records. It is skipped if the flow would
        // not defy loss even if each drop or mark were an event.
        let most = flow.signals_ns.len();
        let events = if defies_loss(flow, &facts, most) {
            here().1.len()
        } else {
            most
        };
        Self {
            recognised: recognise(&reductions, flow.life.share_of_marks()),
            facts,
            reductions,
            events,
        }
    }
}
