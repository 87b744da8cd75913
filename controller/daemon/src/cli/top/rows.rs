// SPDX-License-Identifier: Apache-2.0
//! Formats links and flows as rows of text.

use super::super::table::{self, dash_or};
use super::super::{flows, remote};
use serde_json::json;
use tidemark_api::{Link, LinkFlow};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Condition {
    /// The telemetry is too old.
    Stale,
    /// Targets that the link missed in the last second.
    Misses(Vec<&'static str>),
    /// A change of the limit is being measured.
    Measuring,
    Well,
}

impl Condition {
    pub(super) fn of(l: &Link) -> Self {
        if l.stale {
            return Self::Stale;
        }
        let mut missed = Vec::new();
        if let Some(r) = &l.recent {
            if r.utilisation.is_some_and(|u| u < l.targets.utilisation) {
                missed.push("utilisation");
            }
            let above = |most| r.loss_rate.is_some_and(|p| p > most);
            if l.targets.loss_rate.is_some_and(above) {
                missed.push("loss");
            }
            if l.targets.delay_ms.is_some_and(|most| r.delay_ms.max > most) {
                missed.push("delay");
            }
        }
        match (missed.is_empty(), &l.trial) {
            (false, _) => Self::Misses(missed),
            (true, Some(_)) => Self::Measuring,
            (true, None) => Self::Well,
        }
    }

    /// Sort key: stale links first, then those that miss most targets.
    pub(super) fn rank(&self) -> usize {
        match self {
            Self::Stale => 0,
            Self::Misses(m) => 4 - m.len().min(3),
            Self::Measuring | Self::Well => 4,
        }
    }

    pub(super) fn text(&self, l: &Link) -> String {
        match self {
            Self::Stale => l.age_s.map_or_else(
                || "no report".into(),
                |s| format!("silent {} s", table::number(s)),
            ),
            Self::Misses(m) => format!("misses {}", m.join(", ")),
            Self::Measuring => "measuring".into(),
            Self::Well => "ok".into(),
        }
    }
}

pub(super) const LINK_HEADING: [&str; 12] = [
    "link",
    "limit",
    "buffer",
    "occup. p99",
    "util.",
    "loss",
    "delay max",
    "N_b",
    "alpha",
    "Delta",
    "age",
    "state",
];

/// Column of the newest report's age.
pub(super) const AGE: usize = 10;

/// Formats an age in few characters.
fn age(s: f64) -> String {
    if s < 100.0 {
        format!("{s:.1} s")
    } else {
        format!("{s:.0} s")
    }
}

/// Formats a link, without its condition.
pub(super) fn link(l: &Link) -> [String; 11] {
    let recent = l.recent.as_ref();
    let e = l.estimate.as_ref().filter(|e| table::tells_of_flows(e));
    let e = e.map(|e| &e.estimates);
    let name = match l.name.as_str() {
        "" => remote::link_id(l).to_string(),
        name => format!("{} {name}", remote::link_id(l)),
    };
    let percent = |v: Option<f64>| dash_or(v, table::percent);
    [
        name,
        remote::limit(l),
        dash_or(l.verdict.as_ref(), table::answer),
        dash_or(recent, |r| format!("{:.0} B", r.occupancy_bytes.p99)),
        percent(recent.and_then(|r| r.utilisation)),
        percent(recent.and_then(|r| r.loss_rate)),
        dash_or(recent, |r| format!("{} ms", table::number(r.delay_ms.max))),
        dash_or(e, |e| table::range(e.n_b.value, e.n_b.low, e.n_b.high)),
        table::or_dash(e.map(|e| e.alpha.value)),
        table::or_dash(e.and_then(|e| Some(e.delta?.value))),
        dash_or(l.age_s, age),
    ]
}

pub(super) const FLOW_HEADING: [&str; 10] = [
    "class",
    "sure",
    "flow",
    "control",
    "rate Mb/s",
    "share",
    "cwnd pkts",
    "srtt ms",
    "base RTT ms",
    "drops",
];

/// Formats a flow; `capacity_bps` is that of its link, 0 if unknown.
pub(super) fn flow(f: &LinkFlow, capacity_bps: u64) -> [String; 10] {
    let f = &f.flow;
    let word = |v: serde_json::Value| v.as_str().unwrap_or_default().to_owned();
    let key = flows::key(f).unwrap_or_else(|| format!("flow {}", f.flow));
    let share = (capacity_bps > 0).then(|| f.rate_bps / capacity_bps as f64);
    [
        word(json!(f.class)).to_uppercase(),
        format!("{:.0} %", f.confidence * 100.0),
        key,
        word(json!(f.congestion_control)),
        table::number(f.rate_bps / 1e6),
        dash_or(share, table::percent),
        dash_or(f.cwnd, |w| w.to_string()),
        table::or_dash(f.srtt_ms),
        table::or_dash(f.base_rtt_ms),
        dash_or(f.drops, |d| d.to_string()),
    ]
}
