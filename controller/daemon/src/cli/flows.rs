// SPDX-License-Identifier: Apache-2.0
//! Formats the flows of a link as a table.

use super::table;
use tidemark_estimators::FlowEstimate;

/// Formats a table of at most `most` flows, and the number of further flows. Sorted by class, flows
/// bottlenecked here first, then by rate. Empty if there is no flow.
pub(super) fn listed(flows: &[FlowEstimate], most: usize) -> Vec<String> {
    let mut ordered: Vec<&FlowEstimate> = flows.iter().collect();
    ordered.sort_by(|a, b| {
        let by_class = a.class.place().cmp(&b.class.place());
        let by_rate = b.rate_bps.total_cmp(&a.rate_bps);
        by_class.then(by_rate).then(a.flow.cmp(&b.flow))
    });
    let shown = ordered.len().min(most);
    let mut lines = Vec::new();
    if shown > 0 {
        let heading = [
            "flow",
            "class",
            "confidence",
            "Mbit/s",
            "cwnd",
            "srtt ms",
            "why",
        ];
        let rows = ordered.iter().take(shown).map(|f| row(f));
        lines.push(table::table(heading, rows));
    }
    if ordered.len() > shown {
        let more = ordered.len() - shown;
        lines.push(format!("  and {more} more flows (--flows lists more)"));
    }
    lines
}

/// Returns the addresses and ports of a flow, if the collector described it.
pub(super) fn key(f: &FlowEstimate) -> Option<String> {
    let k = f.key.as_ref()?;
    Some(format!(
        "{}:{} > {}:{}",
        k.src, k.src_port, k.dst, k.dst_port
    ))
}

fn row(f: &FlowEstimate) -> [String; 7] {
    [
        key(f).unwrap_or_else(|| f.flow.to_string()),
        f.class.label().into(),
        table::number(f.confidence),
        table::number(f.rate_bps / 1e6),
        table::dash_or(f.cwnd, |c| c.to_string()),
        table::or_dash(f.srtt_ms),
        f.why.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_estimators::{CongestionControl, Evidence, FlowClass};

    fn flow(flow: u64, class: FlowClass, rate_bps: f64) -> FlowEstimate {
        FlowEstimate {
            flow,
            key: None,
            class,
            confidence: 1.0,
            p_lbp: 0.0,
            why: "seen".into(),
            evidence: Evidence::Passive,
            rate_bps,
            packets: 1,
            drops: Some(0),
            active_fraction: 1.0,
            cwnd: None,
            srtt_ms: None,
            base_rtt_ms: None,
            congestion_control: CongestionControl::Unknown,
            beta: None,
            reductions_local: 0,
            reductions_remote: 0,
        }
    }

    #[test]
    fn bottlenecked_flows_come_first_whatever_their_rate() {
        use FlowClass::{Lbp, Other, Rbp, Short, Wl};
        let flows = [
            flow(1, Short, 9e6),
            flow(2, Other, 8e6),
            flow(3, Wl, 7e6),
            flow(4, Rbp, 6e6),
            flow(5, Lbp, 1e6),
            flow(6, Lbp, 2e6),
            flow(7, Other, 9e6),
        ];
        let order = |lines: &[String]| -> Vec<String> {
            let rows = lines[0].lines().skip(1);
            rows.map(|l| l.split_whitespace().next().unwrap().into())
                .collect()
        };
        let all = listed(&flows, 40);
        assert_eq!(order(&all), ["6", "5", "4", "3", "1", "7", "2"]);
        assert_eq!(all.len(), 1);
        let three = listed(&flows, 3);
        assert_eq!(order(&three), ["6", "5", "4"]);
        assert_eq!(three[1], "  and 4 more flows (--flows lists more)");
        assert_eq!(listed(&flows, 0).len(), 1);
        assert!(listed(&[], 40).is_empty());
    }
}
