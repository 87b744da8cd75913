// SPDX-License-Identifier: Apache-2.0
//! Books of the log, kept apart from the loop's own state.

use crate::controller::targets;
use crate::fault::{Fault, Kind};
use crate::plan::{Bound, Plan};
use tidemark_control::Limit;
use tidemark_rules::Targets;

/// The books.
#[derive(Default)]
pub(super) struct ControlChecks {
    pub range: (u64, u64),
    pub targets: Targets,
    /// Trials under way, by the log.
    pub open_trials: usize,
    /// Limit that a worse trial has to restore, until it has.
    pub owed: Option<Limit>,
    /// Since when, ns.
    pub owed_since_ns: u64,
    /// And how long that may take, ns.
    pub paid_within_ns: u64,
    /// The limit on the switch is the one that the controller wrote last.
    pub ours: bool,
    /// When the trial under way began.
    pub trial_since_ns: u64,
    /// When faults disturb what a trial measures, from and to.
    pub disturbed_ns: Vec<(u64, u64)>,
    /// When no report came, where that can be known.
    pub unheard_ns: Vec<(u64, u64)>,
    /// A limit of somebody else that stands, and is not told yet.
    pub untold: Option<Limit>,
    /// When somebody else wrote last, ns.
    pub others_ns: u64,
    /// The switch has lost a limit of ours, and nothing has been written since.
    pub lost_ours: bool,
    /// A limit that is in force though the controller that wrote it has ended unheard.
    pub cut: Option<Limit>,
    pub set_records: u64,
    pub initial_records: u64,
    pub failed_records: u64,
    /// Records of a write that was under way when the controller before ended.
    pub cut_short: u64,
    /// The log of the present controller tells of a limit that was set.
    pub has_set: bool,
}

/// When the link itself is another one than before, or seems to be: reports with
/// changed bits tell of drops that were none.
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

/// When no report came from a switch, nor to a collector, that was there throughout:
/// of what one missed that began again nobody knows.
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

/// After a verdict the limit before is written again within so long, or that failed
/// and is in the log. Where messages are lost or late, others wait for their answers
/// before it.
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
