// SPDX-License-Identifier: Apache-2.0
//! Converts phases.

use crate::core::phases::{Phase, PhaseLink, State};
use tidemark_api::{PhaseJoin, PhaseProbe, PhaseReports, PhaseResult, PhaseState};
use tidemark_estimators::LinkId;

/// Converts a phase, with its estimates if `with_results`.
pub fn phase(p: &Phase, with_results: bool) -> tidemark_api::Phase {
    let (candidates, matched) = (
        p.counted(|s| s.join_candidates),
        p.counted(|s| s.join_matched),
    );
    tidemark_api::Phase {
        name: p.name.clone(),
        state: match p.state {
            State::Running => PhaseState::Running,
            State::Closing => PhaseState::Closing,
            State::Complete => PhaseState::Complete,
        },
        started_unix_ms: p.started_unix_ms,
        ended_unix_ms: p.ended_unix_ms,
        reports: PhaseReports {
            received: p.counted(|s| s.reports_received),
            lost: p.counted(|s| s.reports_lost),
            late: p.counted(|s| s.reports_late),
            duplicate: p.counted(|s| s.reports_duplicate),
            malformed: p.counted_where_known(|s| s.datagrams_malformed),
            kernel_drops: p.counted_where_known(|s| s.kernel_drops),
        },
        probe: PhaseProbe {
            samples: p.counted(|s| s.probe_samples),
            lost: p.counted_where_known(|s| s.probe_lost),
        },
        join: PhaseJoin {
            candidates,
            matched,
            matched_fraction: (candidates > 0).then(|| matched as f64 / candidates as f64),
        },
        links: p
            .links
            .iter()
            .map(|(id, l)| link(*id, l, with_results))
            .collect(),
    }
}

fn link(id: LinkId, l: &PhaseLink, with_results: bool) -> tidemark_api::PhaseLink {
    let seconds = |ns: u64| ns.saturating_sub(l.first_ns) as f64 / 1e9;
    tidemark_api::PhaseLink {
        node: id.node_id,
        port: id.port,
        queue: id.queue,
        start_ns: l.start_ns,
        end_ns: l.end_ns,
        start_s: seconds(l.start_ns),
        end_s: l.end_ns.map(seconds),
        capture_start_ns: l.first_ns,
        intervals: l.counted.intervals,
        reports_lost: l.counted.reports_lost,
        joined: l.counted.joined,
        unjoined: l.counted.unjoined,
        incomplete: l.incomplete.clone(),
        result: with_results.then(|| PhaseResult {
            limit_bytes: l.estimate.as_ref().and_then(|e| e.limit_bytes),
            estimate: l.estimate.as_deref().cloned(),
            advice: l.advice.as_deref().cloned(),
            verdict: l.verdict.as_deref().cloned(),
        }),
    }
}
