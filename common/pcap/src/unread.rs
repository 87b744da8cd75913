// SPDX-License-Identifier: Apache-2.0
//! Frames of which no datagram was read, by reason: frames and datagrams add up.

/// Why a frame gives no datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its capture cut it.
    Cut,
    /// It carries no IP packet.
    NotIp,
    /// It carries IP without UDP.
    NotUdp,
    /// Its lengths contradict each other.
    Broken,
    /// A piece of a packet, put together with others or waiting for them.
    Fragment,
}

impl Reason {
    /// All of them, in the order of [`Unread::counts`].
    pub const ALL: [Self; 5] = [
        Self::Cut,
        Self::NotIp,
        Self::NotUdp,
        Self::Broken,
        Self::Fragment,
    ];

    /// In words that follow a number.
    pub fn words(self) -> &'static str {
        match self {
            Self::Cut => "cut by the snapshot length",
            Self::NotIp => "without IP",
            Self::NotUdp => "without UDP",
            Self::Broken => "with lengths that contradict each other",
            Self::Fragment => "fragments put together with others, or without the others",
        }
    }

    /// As a key.
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

/// Frames without a datagram, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread([u64; Reason::ALL.len()]);

impl Unread {
    pub(crate) fn add(&mut self, reason: Reason) {
        if let Some(n) = self.0.get_mut(reason as usize) {
            *n += 1;
        }
    }

    /// Each reason with its number of frames.
    pub fn counts(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().zip(self.0)
    }

    /// All frames without a datagram.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
