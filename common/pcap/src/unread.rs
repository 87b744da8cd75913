// SPDX-License-Identifier: Apache-2.0
//! Counts frames that gave no datagram, by reason, so that frames and datagrams add up.

/// Reason why a frame gives no datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The capture cut the frame.
    Cut,
    /// The frame carries no IP packet.
    NotIp,
    /// The frame carries IP, but not UDP.
    NotUdp,
    /// The lengths in the frame contradict each other.
    Broken,
    /// A fragment of a packet, either reassembled with later fragments or never completed.
    Fragment,
}

impl Reason {
    /// All reasons, in the order of [`Unread::counts`].
    pub const ALL: [Self; 5] = [
        Self::Cut,
        Self::NotIp,
        Self::NotUdp,
        Self::Broken,
        Self::Fragment,
    ];

    /// Returns a description that follows a number of frames.
    pub fn words(self) -> &'static str {
        match self {
            Self::Cut => "cut by the snapshot length",
            Self::NotIp => "without IP",
            Self::NotUdp => "without UDP",
            Self::Broken => "with lengths that contradict each other",
            Self::Fragment => "fragments, reassembled with others or without the others",
        }
    }

    /// Returns the reason as a key.
    pub fn label(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::NotIp => "not_ip",
            Self::NotUdp => "not_udp",
            Self::Broken => "broken",
            Self::Fragment => "fragments",
        }
    }
}

/// Numbers of frames without a datagram, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread([u64; Reason::ALL.len()]);

impl Unread {
    pub(crate) fn add(&mut self, reason: Reason) {
        if let Some(n) = self.0.get_mut(reason as usize) {
            *n += 1;
        }
    }

    /// Iterates over the reasons and their numbers of frames.
    pub fn counts(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().zip(self.0)
    }

    /// Returns the number of all frames without a datagram.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
