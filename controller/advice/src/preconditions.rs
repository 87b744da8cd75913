// SPDX-License-Identifier: Apache-2.0
//! Preconditions for advice: known quantities and valid targets.

use tidemark_rules::targets::Targets;
use tidemark_rules::traffic::{Regime, Traffic};

/// Returns everything that prevents an advice, in sentences; empty if nothing does.
pub(crate) fn refusals(m: &Traffic, targets: &Targets) -> Vec<String> {
    let positive = |v: f64| v.is_finite() && v > 0.0;
    let mut all = Vec::new();
    let mut unless = |holds: bool, why: &str| {
        if !holds {
            all.push(format!("no advice: {why}"));
        }
    };
    unless(
        !m.two_clocks,
        "two clocks report as this node, and one may be a recording (give the node a key)",
    );
    unless(
        positive(m.queue_drain_bps),
        "the capacity of the link is not known (set capacity_bps of the port)",
    );
    unless(
        positive(m.segment_bytes),
        "the segment size is not known: no data packet was seen",
    );
    unless(
        m.regime != Regime::Unknown,
        "the regime is not known yet: a longer window is needed",
    );
    let rtt_known = positive(m.t_e_s.value) && positive(m.t_mean_s.value);
    let rtt_needed = m.n_b.value >= 1.0;
    unless(
        rtt_known || !rtt_needed,
        "no base RTT of a bottlenecked flow is known (probe the senders, or let both directions cross the switch)",
    );
    let u = targets.utilisation;
    unless(
        (0.0..=1.0).contains(&u),
        &format!("target utilisation {u} is not between 0 and 1"),
    );
    if let Some(p) = targets.loss_rate {
        unless(
            p > 0.0 && p < 1.0,
            &format!("target loss_rate {p} is not between 0 and 1"),
        );
    }
    if let Some(d) = targets.delay_ms {
        unless(positive(d), &format!("target delay_ms {d} is not above 0"));
    }
    all
}
