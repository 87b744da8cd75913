// SPDX-License-Identifier: Apache-2.0
//! The checks' own record of the control loop, independent of the loop's state.

use crate::controller::targets;
use crate::fault::{Fault, Kind};
use crate::plan::{Bound, Plan};
use tidemark_control::Limit;
use tidemark_rules::Targets;

/// State of the checks of the control loop.
#[derive(Default)]
pub(super) struct ControlChecks {
    pub range: (u64, u64),
    pub targets: Targets,
    /// Trials under way, by the log.
    pub open_trials: usize,
    /// Limit that must be restored after a worse trial, until it is.
    pub owed: Option<Limit>,
    /// Time since when `owed` is set, ns.
    pub owed_since_ns: u64,
    /// Longest time that restoring it may take, ns.
    pub paid_within_ns: u64,
    /// Whether the limit on the switch is the one that the controller wrote last.
    pub ours: bool,
    /// Start of the current trial, ns.
    pub trial_since_ns: u64,
    /// Start and end of faults that disturb a trial's measurements.
    pub disturbed_ns: Vec<(u64, u64)>,
    /// Start and end of times without reports, if they are known.
    pub unheard_ns: Vec<(u64, u64)>,
    /// Limit that somebody else wrote, that is in force, and that is not in the log yet.
    pub untold: Option<Limit>,
    /// Time of the last write by somebody else, ns.
    pub others_ns: u64,
    /// Whether the switch lost our limit, and nothing has been written since.
    pub lost_ours: bool,
    /// Limit in force whose controller ended before it got the answer.
    pub cut: Option<Limit>,
    pub set_records: u64,
    pub initial_records: u64,
    pub failed_records: u64,
    /// Records of writes that were in progress when the previous controller ended.
    pub cut_short: u64,
    /// Whether the current controller's log has a limit that was set.
    pub has_set: bool,
}

/// Times when the link itself changes, or seems to: reports with changed bits report drops that did
/// not happen.
fn disturbed_ns(plan: &Plan) -> Vec<(u64, u64)> {
    let by_loss = matches!(plan.bound, Bound::LossRate(_));
    let disturbs = |k: &Kind| match k {
        Kind::SlowPort(_) | Kind::MoreFlows(_) => true,
        k => by_loss && k.is_forged(),
    };
    spans(plan, disturbs)
}

fn spans(plan: &Plan, of: impl Fn(&Kind) -> bool) -> Vec<(u64, u64)> {
    let faults = plan.faults.iter().filter(|f| of(&f.kind));
    let span = |f: &Fault| (f.at_ms * 1_000_000, (f.at_ms + f.for_ms) * 1_000_000);
    faults.map(span).collect()
}

/// Times when a running switch sent no reports, or a running collector got none; empty if either
/// restarts, because its missed reports are then unknown.
fn unheard_ns(plan: &Plan) -> Vec<(u64, u64)> {
    use Kind::{
        CollectorKill, CollectorStop, ControllerKill, KillWithinWrite, PowerCut, SwitchClockStep,
        SwitchRestart,
    };
    let ends = |k: &Kind| {
        matches!(
            k,
            CollectorKill
                | CollectorStop
                | ControllerKill
                | KillWithinWrite(_)
                | PowerCut
                | SwitchClockStep(_)
                | SwitchRestart
        )
    };
    if plan.has(ends) {
        return Vec::new();
    }
    spans(plan, |k| matches!(k, Kind::ReportPartition))
}

/// Longest time from a verdict until the previous limit is written again, or the failure is in the
/// log. Longer if messages are lost or late, since other calls wait first.
fn paid_within_ns(plan: &Plan) -> u64 {
    use Kind::{ControlLoss, ControlPartition, SwitchFails};
    let late = |k: &Kind| matches!(k, ControlLoss(_) | ControlPartition | SwitchFails(_));
    if plan.has(late) {
        10_000_000_000
    } else {
        4_000_000_000
    }
}

impl ControlChecks {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            range: (plan.min_limit_bytes, plan.max_limit_bytes),
            targets: targets(plan),
            paid_within_ns: paid_within_ns(plan),
            disturbed_ns: disturbed_ns(plan),
            unheard_ns: unheard_ns(plan),
            ..Self::default()
        }
    }
}
