// SPDX-License-Identifier: Apache-2.0
//! Expectation for the next read of the switch: the second region of the state.

use crate::record::Change;
use crate::time::Timestamp;

/// Knowledge about the limit on the switch, independent of the [`State`](super::State) of the loop.
/// `LinkControl::on_found` has the transitions caused by a read.
#[derive(Clone, Debug, Default)]
pub(super) enum Expectation {
    /// The switch holds the limit that we set, or if we set none, the one found last.
    #[default]
    AsSet,
    /// The switch lost our limit and is not known to have it again.
    Lost(LostLimit),
    /// A write of an earlier run has no outcome yet; the next read determines it.
    CutShort {
        /// Record of the write.
        intent: Box<Change>,
        /// A loss of the limit, handled after this.
        lost: Option<LostLimit>,
    },
}

/// A limit of ours that the switch lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LostLimit {
    /// Whether all state of the switch is lost; if not, only limits of ports that have none left.
    pub(super) everything: bool,
    /// Whether a write was under way when the loss was reported. The next read then shows whether
    /// the switch got it before or after; its outcome does not.
    pub(super) during_write: bool,
    /// When our limit was last written again.
    pub(super) tried: Option<Timestamp>,
}

impl Expectation {
    /// Returns the loss that has not been repaired yet.
    pub(super) fn lost(&self) -> Option<LostLimit> {
        match self {
            Expectation::AsSet => None,
            Expectation::Lost(lost) => Some(*lost),
            Expectation::CutShort { lost, .. } => *lost,
        }
    }

    /// Sets a loss, or ends it with `None`; an interrupted write stays pending.
    pub(super) fn set_lost(&mut self, loss: Option<LostLimit>) {
        match self {
            Expectation::CutShort { lost, .. } => *lost = loss,
            other => *other = loss.map_or(Expectation::AsSet, Expectation::Lost),
        }
    }
}
