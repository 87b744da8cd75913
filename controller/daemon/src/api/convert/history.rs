// SPDX-License-Identifier: Apache-2.0
//! Converts estimates and windows over time to the columns that charts use.

use crate::core::flow_windows::Answer;
use crate::core::history::{Point, Range};
use tidemark_api::{EstimateColumns, EstimateHistory, FlowWindows, Windows};
use tidemark_estimators::LinkId;

/// Converts estimates to columns.
pub fn estimates(id: LinkId, points: &[Point]) -> EstimateHistory {
    let columns = |pick: fn(&Point) -> Option<Range>| {
        let ranges = || points.iter().map(pick);
        EstimateColumns {
            value: ranges().map(|r| Some(r?.value)).collect(),
            low: ranges().map(|r| Some(r?.low)).collect(),
            high: ranges().map(|r| Some(r?.high)).collect(),
        }
    };
    EstimateHistory {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        time_ns: points.iter().map(|p| p.time_ns).collect(),
        n_b: columns(|p| p.n_b),
        alpha: columns(|p| p.alpha),
        delta: columns(|p| p.delta),
        t_e_ms: columns(|p| p.t_e_ms),
        c_e_share: columns(|p| p.c_e_share),
        advised_bytes: points.iter().map(|p| p.advised_bytes).collect(),
        limit_bytes: points.iter().map(|p| p.limit_bytes).collect(),
    }
}

/// Converts windows to columns. `drops_untold`: no report of the link can show a drop.
pub fn windows(id: LinkId, answer: Answer, drops_untold: bool) -> Windows {
    let drops = |d: u32| (d > 0 || !drops_untold).then_some(d);
    let steps = &answer.steps;
    Windows {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        step_ns: answer.step_ns,
        time_ns: steps.iter().map(|s| s.start_ns).collect(),
        cwnd_sum_pkts: steps.iter().map(|s| s.cwnd_sum_pkts).collect(),
        in_flight_sum_bytes: steps.iter().map(|s| s.in_flight_sum_bytes).collect(),
        probed_flows: steps.iter().map(|s| s.probed_flows).collect(),
        data_flows: steps.iter().map(|s| s.data_flows).collect(),
        flows: answer
            .flows
            .into_iter()
            .map(|f| FlowWindows {
                flow: f.flow,
                cwnd_pkts: f.cwnd_pkts,
                in_flight_bytes: f.in_flight_bytes,
                drops: f.drops.into_iter().map(drops).collect(),
                ce_marked: f.ce_marked,
            })
            .collect(),
    }
}
