// SPDX-License-Identifier: Apache-2.0
//! How a packet met the sender's state.

/// How the sender's state of a packet was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Join {
    /// No data packet of a probed flow.
    #[default]
    None = 0,
    /// By sequence number.
    Sequence = 1,
    /// By time through the clock mapping (retransmissions, last segments).
    Time = 2,
    /// Data packet of a probed flow without a sample.
    Unmatched = 3,
}

impl Join {
    /// The value that is stored.
    #[inline]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// From the stored value; unknown values are [`Join::None`].
    #[inline]
    pub fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Sequence,
            2 => Self::Time,
            3 => Self::Unmatched,
            _ => Self::None,
        }
    }

    /// Whether the sender's state is known.
    #[inline]
    pub fn matched(self) -> bool {
        matches!(self, Self::Sequence | Self::Time)
    }
}
