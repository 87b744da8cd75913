// SPDX-License-Identifier: Apache-2.0
//! Facts from the history of a flow.

use super::facts::{Facts, from_history};
use crate::config::EstimatorConfig;
use crate::congestion_control::{Recognised, recognise};
use crate::echo::Echo;
use crate::reductions::{Reduction, episodes, passive, probed, typical_rtt_ns};
use crate::rtt::BaseRtt;
use crate::types::CongestionControl;
use crate::window::FlowWindow;
use tidemark_proto::telemetry::FlowInterval;

/// Facts from the history of a flow up to the end of the window, the same for every window
/// within it that ends there: most of the cost of a class.
#[derive(Debug)]
pub(crate) struct Past {
    /// Significant ones, in order.
    pub reductions: Vec<Reduction>,
    /// By its reductions alone.
    pub(super) recognised: Recognised,
    /// Loss events here.
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
        let is_probed = flow.probed();
        // Of a probed flow it is that of each record that counts.
        let rtt_ns = if is_probed && flow.signals_ns.is_empty() {
            0
        } else {
            typical_rtt_ns(flow, base, config)
        };
        let here = episodes(&flow.signals_ns, rtt_ns);
        let events = here.len();
        let (reductions, recognised) = if is_probed {
            let reductions = probed(flow, base, config);
            let recognised = recognise(&reductions, share_of_marks(flow));
            (reductions, recognised)
        } else {
            let unknown = Recognised {
                cc: CongestionControl::Unknown,
                beta: None,
            };
            (passive(flow, here, base, rtt_ns, config), unknown)
        };
        Self {
            facts: from_history(flow, echo, base, &reductions, config),
            reductions,
            recognised,
            events,
        }
    }
}

/// Share of its packets that were marked; `None` unless more were marked than dropped.
pub(super) fn share_of_marks(flow: &FlowWindow<'_>) -> Option<f64> {
    let sum = |of: fn(&FlowInterval) -> u32| flow.history.iter().map(|r| u64::from(of(r))).sum();
    let (marks, drops, packets): (u64, u64, u64) =
        (sum(|r| r.ce_marked), sum(|r| r.drops), sum(|r| r.packets));
    (marks > drops).then(|| marks as f64 / packets.max(1) as f64)
}
