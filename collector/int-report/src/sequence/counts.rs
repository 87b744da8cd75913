// SPDX-License-Identifier: Apache-2.0
//! Outcomes of datagrams, and the totals of a stream.

/// How a datagram relates to the datagrams before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// First of the stream.
    First,
    /// The next number.
    InOrder,
    /// `lost` numbers were skipped (some may still arrive late).
    Gap {
        /// How many numbers were skipped.
        lost: u32,
    },
    /// Arrived after a higher number; no longer counted as lost.
    Late,
    /// Seen before.
    Duplicate,
    /// Another datagram had the same number: the sender does not number its datagrams, and its
    /// losses are unknown.
    Unnumbered {
        /// Losses that were counted before or after the number while it was taken for one.
        not_lost: u32,
    },
    /// Too far behind to tell late from duplicate; loss is not corrected.
    Stale,
    /// The numbers contradict each other repeatedly: they are not from one sender, and the losses
    /// are unknown.
    Doubtful {
        /// Losses that were counted since the first contradiction.
        not_lost: u32,
    },
    /// The sender restarted its numbering.
    Restart,
    /// A jump that is not confirmed yet: the number is forged or damaged, or the next datagram
    /// continues from it.
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
    /// Datagrams that arrived after a higher number.
    pub late: u64,
    /// Datagrams that came again.
    pub duplicate: u64,
    /// Datagrams with the number of another datagram.
    pub unnumbered: u64,
    /// Datagrams too old to tell from repeated ones.
    pub stale: u64,
    /// Number of restarts of the numbering.
    pub restarts: u64,
    /// Part of `lost`: whole ranges of numbers that passed in outages, estimated from the rate
    /// before and the length of the outage.
    pub lost_estimated: u64,
    /// Numbers missing while the numbers contradict each other; not in `lost`.
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
