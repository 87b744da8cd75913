// SPDX-License-Identifier: Apache-2.0
//! Outcomes of datagrams, and the totals of a stream.

/// How a datagram stood to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// First of the stream.
    First,
    /// The next number.
    InOrder,
    /// `lost` numbers were skipped (some may still arrive late).
    Gap {
        /// How many.
        lost: u32,
    },
    /// Arrived after a higher number; no longer counted as lost.
    Late,
    /// Seen before.
    Duplicate,
    /// The number of an earlier one, on another datagram: the sender does not number, and
    /// nobody can tell what of it is lost.
    Unnumbered {
        /// So many before or behind it were counted as lost as long as it was taken for one.
        not_lost: u32,
    },
    /// Too far behind to tell late from duplicate; loss is not corrected.
    Stale,
    /// The numbers contradict each other again and again: they are not of one sender, and nobody
    /// can tell what is missing.
    Doubtful {
        /// So many were counted as lost since the first contradiction.
        not_lost: u32,
    },
    /// The sender began again.
    Restart,
    /// A jump that nothing confirms yet: the number is forged or damaged, or the
    /// next datagram goes on from it.
    Implausible,
}

/// Totals of a stream. `received` counts every datagram, so that
/// `received = distinct + duplicates` with `stale` ones among the distinct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams received.
    pub received: u64,
    /// Numbers skipped and not arrived since.
    pub lost: u64,
    /// Arrived after a higher number.
    pub late: u64,
    /// Datagrams that came again.
    pub duplicate: u64,
    /// Datagrams with the number of another one.
    pub unnumbered: u64,
    /// Datagrams too old to be told from repeated ones.
    pub stale: u64,
    /// Times that the numbers began again.
    pub restarts: u64,
    /// Of `lost`, whole ranges of numbers that passed in outages: by the rate before and
    /// the time without, not by numbers.
    pub lost_estimated: u64,
    /// Numbers missing while they contradict each other; not in `lost`.
    pub lost_in_doubt: u64,
    /// Jumps not confirmed by the datagram after them: no evidence of loss.
    pub implausible: u64,
}

impl Counts {
    /// Adds the totals of another stream.
    pub fn add(&mut self, other: &Counts) {
        self.received += other.received;
        self.lost += other.lost;
        self.late += other.late;
        self.duplicate += other.duplicate;
        self.unnumbered += other.unnumbered;
        self.stale += other.stale;
        self.restarts += other.restarts;
        self.lost_estimated += other.lost_estimated;
        self.lost_in_doubt += other.lost_in_doubt;
        self.implausible += other.implausible;
    }
}
