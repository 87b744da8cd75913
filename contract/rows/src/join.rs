// SPDX-License-Identifier: Apache-2.0
//! How packets are joined with the sender's state.

/// How a packet was joined with the sender's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Join {
    /// Not a data packet of a probed flow.
    #[default]
    None = 0,
    /// Joined by sequence number.
    Sequence = 1,
    /// Joined by time, using the clock mapping (retransmissions, last segments).
    Time = 2,
    /// A data packet of a probed flow for which no sample was found.
    Unmatched = 3,
}

impl Join {
    /// Returns the stored value.
    #[inline]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Converts from the stored value; unknown values become [`Join::None`].
    #[inline]
    pub fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Sequence,
            2 => Self::Time,
            3 => Self::Unmatched,
            _ => Self::None,
        }
    }

    /// Returns whether the sender's state is known.
    #[inline]
    pub fn matched(self) -> bool {
        matches!(self, Self::Sequence | Self::Time)
    }
}
