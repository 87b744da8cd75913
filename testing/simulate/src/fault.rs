// SPDX-License-Identifier: Apache-2.0
//! Faults that a run injects.

use std::fmt;
use test_support::rng::Rng;

/// A fault that lasts for a while or happens at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Start time, ms of the run.
    pub at_ms: u64,
    /// Duration, ms.
    pub for_ms: u64,
    /// Its kind.
    pub kind: Kind,
}

/// Datagrams that no honest sender sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostile {
    /// From nodes that the configuration does not name.
    UnknownNode,
    /// From the configured node, but another address.
    WrongExporter,
    /// Earlier datagrams again, from the right address.
    Replay,
    /// With changed bits, from the right address.
    Mutated,
    /// With a time in the future, from the right address.
    Future,
    /// With a sequence number far ahead, from the right address.
    Ahead,
}

/// How a write of a limit fails at the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// The switch answers with an error and does nothing.
    Refuses,
    /// The switch writes the limit, but answers with an error.
    WritesAndFails,
    /// The switch writes the limit, but does not answer.
    WritesSilently,
    /// The switch answers with success, but does nothing.
    Ignores,
}

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Reports are lost with this probability.
    ReportLoss(f64),
    /// Reports are delayed with this probability, by up to this time, ns.
    ReportReorder(f64, u64),
    /// Reports are duplicated with this probability.
    ReportDuplicate(f64),
    /// No reports arrive.
    ReportPartition,
    /// Nothing passes between collector and controller.
    TelemetryPartition,
    /// Nothing passes between controller and switch.
    ControlPartition,
    /// Requests and answers are lost with this probability, or take long.
    ControlLoss(f64),
    /// The collector is killed, and restarts when the fault ends.
    CollectorKill,
    /// The collector is stopped properly, and restarts when the fault ends.
    CollectorStop,
    /// The controller is killed, and restarts when the fault ends.
    ControllerKill,
    /// The switch loses its power for a moment.
    SwitchRestart,
    /// The Unix time of collector and controller is set, by ms.
    UnixStep(i64),
    /// The collector's clock stands still, then jumps.
    CollectorStall,
    /// Somebody sends this many datagrams per second.
    Hostile(Hostile, u32),
    /// Somebody else writes a limit, as a fraction of our largest one.
    SecondWriter(f64),
    /// The port is slower by this factor.
    SlowPort(f64),
    /// This many additional flows, until the fault ends.
    MoreFlows(usize),
    /// The store's disk is full.
    DiskFull,
    /// The collector's machine loses its power, and with it all data not synced.
    PowerCut,
    /// The database does not answer, or only loses its answers.
    DatabaseDown(bool),
    /// The switch's clock is set by this, ms.
    SwitchClockStep(i64),
    /// An operator requests a limit, as a fraction of our largest one.
    Operator(f64),
    /// The controller is killed after the switch did its write and before the answer, and restarts
    /// when the fault ends; at once, an operator may request another limit.
    KillWithinWrite(Option<f64>),
    /// Most writes of limits fail at the switch.
    SwitchFails(Failing),
    /// Somebody else writes a limit during a trial.
    MeetsTrial {
        /// The limit, as a fraction of our largest one.
        part: f64,
        /// Time since the trial began, ms.
        after_ms: u64,
    },
}

impl Kind {
    /// Returns whether the fault sends datagrams from the switch's own address that the switch did
    /// not send, or not in this form. Without authentication no collector can tell.
    pub(crate) fn is_forged(&self) -> bool {
        use Hostile::{Ahead, Future, Mutated};
        matches!(self, Self::Hostile(Mutated | Future | Ahead, _))
    }

    /// Draws a fault.
    pub(crate) fn draw(r: &mut Rng) -> Self {
        match r.index(20) {
            0 => Self::ReportLoss(0.3 * r.fraction() * r.fraction() + 0.001),
            1 => Self::ReportReorder(r.fraction() * 0.3, r.between(1, 30) * 1_000_000),
            2 => Self::ReportDuplicate(r.fraction() * 0.5),
            3 => Self::ReportPartition,
            4 => Self::TelemetryPartition,
            5 => Self::ControlPartition,
            6 => Self::ControlLoss(r.fraction() * 0.7),
            7 => Self::CollectorKill,
            8 => Self::CollectorStop,
            9 => Self::ControllerKill,
            10 => Self::SwitchRestart,
            11 => Self::UnixStep(r.between(0, 7_200_000) as i64 - 3_600_000),
            12 => Self::CollectorStall,
            13 => {
                let all = [
                    Hostile::UnknownNode,
                    Hostile::WrongExporter,
                    Hostile::Replay,
                    Hostile::Mutated,
                    Hostile::Future,
                    Hostile::Ahead,
                ];
                Self::Hostile(all[r.index(all.len())], r.between(1, 400) as u32)
            }
            14 => Self::SecondWriter(0.05 + 1.5 * r.fraction()),
            15 => Self::SlowPort(0.4 + 0.5 * r.fraction()),
            16 => Self::MoreFlows(r.between(2, 20) as usize),
            17 => Self::DiskFull,
            18 => Self::PowerCut,
            _ => Self::DatabaseDown(r.chance(0.5)),
        }
    }

    /// Draws a fault that only seeds from [`crate::plan::TRUST_FROM`] on have.
    pub(crate) fn draw_of_trust(r: &mut Rng) -> Self {
        match r.index(4) {
            0 => Self::SwitchClockStep(-(r.between(250, 1_950) as i64)),
            1 => Self::SwitchClockStep(r.between(0, 4_000) as i64 - 190),
            2 => Self::Operator(0.02 + 1.2 * r.fraction()),
            _ => Self::KillWithinWrite(r.chance(0.7).then(|| 0.1 + 0.8 * r.fraction())),
        }
    }

    /// Draws a fault that waits for a write: first limits are written before other faults begin.
    pub(crate) fn draw_of_writes(r: &mut Rng) -> Option<Self> {
        use Failing::{Ignores, Refuses, WritesAndFails, WritesSilently};
        let all = [Refuses, WritesAndFails, WritesSilently, Ignores];
        match r.index(6) {
            0 => Some(Self::SwitchFails(all[r.index(all.len())])),
            1 => Some(Self::MeetsTrial {
                part: 0.05 + 0.95 * r.fraction(),
                after_ms: r.between(200, 4_000),
            }),
            _ => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} s to {:.1} s: {:?}",
            self.at_ms as f64 / 1e3,
            (self.at_ms + self.for_ms) as f64 / 1e3,
            self.kind
        )
    }
}
