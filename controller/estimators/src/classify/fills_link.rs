// SPDX-License-Identifier: Apache-2.0
//! Whether a flow fills the link by itself.
//!
//! A flow that takes nearly all of the link and whose packets wait here has no slower link before
//! this one: its window does not respond to another bottleneck. If that window is reduced again and
//! again without a loss, it follows a model of the path, as that of a single BBR flow does
//! (Cardwell et al., ACM Queue 2016).

use super::context::LinkContext;
use super::facts::Facts;
use crate::reductions::Reduction;
use crate::rtt::BaseRtt;
use crate::stats::quantile;
use crate::window::FlowWindow;

/// Least part of the capacity with which the flow can be the only large one.
const NEARLY_ALL: f64 = 0.9;
/// Its packets wait here for more than this part of the base RTT,
const WAITS: f64 = 0.05;
/// and wait elsewhere for less than this multiple of their wait here.
const ELSEWHERE: f64 = 1.0;
/// Fewest reductions that show whether they follow losses.
const LEAST_REDUCTIONS: usize = 4;

pub(super) fn fills_link(
    flow: &FlowWindow<'_>,
    base: Option<BaseRtt>,
    link: &LinkContext,
    facts: &Facts,
) -> bool {
    let share = link
        .capacity_bytes_per_s
        .map_or(0.0, |c| facts.bytes_per_s / c);
    let Some(base) = base.filter(|_| share >= NEARLY_ALL) else {
        return false;
    };
    let delays: Vec<f64> = flow
        .window()
        .iter()
        .filter(|r| r.packets > 0)
        .map(|r| r.delay_sum_ns as f64 / f64::from(r.packets) / 1e9)
        .collect();
    let waits_here_s = quantile(&delays, 0.5).unwrap_or(0.0);
    waits_here_s > WAITS * base.seconds
        && facts
            .waiting
            .is_none_or(|w| w.elsewhere_s < ELSEWHERE * w.here_s)
}

/// Whether most reductions follow no loss here.
pub(super) fn reduces_without_loss(reductions: &[Reduction]) -> bool {
    let counted = reductions.iter().filter(|r| r.counts);
    let (local, all) = counted.fold((0, 0), |(l, n), r| (l + usize::from(r.local), n + 1));
    all >= LEAST_REDUCTIONS && 2 * local < all
}

#[cfg(test)]
mod tests {
    use super::super::facts::Waiting;
    use super::*;
    use crate::types::Evidence;
    use tidemark_proto::telemetry::FlowInterval;

    const BASE_S: f64 = 0.01;
    const CAPACITY: f64 = 1e6;

    fn fills(share: f64, waits_here_s: f64, elsewhere_s: Option<f64>) -> bool {
        let records: Vec<FlowInterval> = (0..100)
            .map(|i| FlowInterval {
                start_ns: i * 10_000_000,
                duration_ns: 10_000_000,
                packets: 10,
                delay_sum_ns: (10.0 * waits_here_s * 1e9) as u64,
                ..FlowInterval::default()
            })
            .collect();
        let flow = FlowWindow::of_records(records.iter().collect());
        let base = BaseRtt {
            seconds: BASE_S,
            transmission_s: 0.0,
            error: 0.01,
            evidence: Evidence::Passive,
        };
        let link = LinkContext {
            non_empty: 1.0,
            utilisation: Some(1.0),
            capacity_bytes_per_s: Some(CAPACITY),
            drop_rate: 0.0,
            signals: 0,
            signal_rate: 0.0,
            to_ns: 1_000_000_000,
            unreported: 0.0,
            missing: Vec::new(),
        };
        let facts = Facts {
            bytes_per_s: share * CAPACITY,
            waiting: elsewhere_s.map(|elsewhere_s| Waiting {
                base_s: BASE_S,
                here_s: waits_here_s,
                elsewhere_s,
            }),
            ..Facts::default()
        };
        fills_link(&flow, Some(base), &link, &facts)
    }

    #[test]
    fn nearly_all_of_the_link_and_a_queue_here() {
        assert!(fills(0.99, 0.0025, Some(0.0001)));
        assert!(fills(0.99, 0.0025, None));
        assert!(!fills(0.8, 0.0025, None));
        // Behind a link that is hardly slower, the queue is there and not here.
        assert!(!fills(0.99, 0.0001, None));
        assert!(!fills(0.99, 0.0025, Some(0.009)));
    }

    #[test]
    fn reductions_that_mostly_follow_no_loss_here() {
        let reductions = |local: usize, all: usize| -> Vec<Reduction> {
            (0..all)
                .map(|i| Reduction {
                    time_ns: 0,
                    rtt_ns: 0,
                    before: 100.0,
                    after: 87.0,
                    threshold_ratio: None,
                    restored: false,
                    local: i < local,
                    counts: true,
                })
                .collect()
        };
        assert!(reduces_without_loss(&reductions(2, 159)));
        assert!(reduces_without_loss(&reductions(66, 191)));
        assert!(!reduces_without_loss(&reductions(5, 9)));
        assert!(!reduces_without_loss(&reductions(0, 3)));
    }
}
