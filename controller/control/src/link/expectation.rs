// SPDX-License-Identifier: Apache-2.0
//! Purpose of the next look at the switch: the second region of the state.

use crate::record::Change;
use crate::time::Timestamp;

/// How far what the switch holds is known, whatever [`State`](super::State) the loop
/// is in. `LinkControl::on_found` has the transitions that a look makes.
#[derive(Clone, Debug, Default)]
pub(super) enum Expectation {
    /// It holds the limit that we set; where we set none, the one found last.
    #[default]
    AsSet,
    /// It lost our limit, and nothing says yet that it has it again.
    Lost(LostLimit),
    /// A write of a former run has no outcome yet: the next look tells it.
    CutShort {
        /// Record of the write.
        intent: Box<Change>,
        /// The loss that comes up after it.
        lost: Option<LostLimit>,
    },
}

/// A limit of ours that the switch lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LostLimit {
    /// All of its state is lost; else only limits of which nothing is left.
    pub(super) everything: bool,
    /// A write was under way when that was told. Whether the switch got it before or
    /// after, the next look tells, not its outcome.
    pub(super) during_write: bool,
    /// When our limit was written again last.
    pub(super) tried: Option<Timestamp>,
}

impl Expectation {
    /// The loss that nothing has made good yet.
    pub(super) fn lost(&self) -> Option<LostLimit> {
        match self {
            Expectation::AsSet => None,
            Expectation::Lost(lost) => Some(*lost),
            Expectation::CutShort { lost, .. } => *lost,
        }
    }

    /// Tells of a loss, or (with `None`) ends it; a write that was cut short stays so.
    pub(super) fn set_lost(&mut self, loss: Option<LostLimit>) {
        match self {
            Expectation::CutShort { lost, .. } => *lost = loss,
            other => *other = loss.map_or(Expectation::AsSet, Expectation::Lost),
        }
    }
}
