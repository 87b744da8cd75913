// SPDX-License-Identifier: Apache-2.0
//! Datagrams that one system call has returned.

use std::net::{IpAddr, Ipv4Addr};

/// Messages received together, borrowed from the thread's buffers. An empty batch says that after
/// all nothing followed a batch with `more`.
#[derive(Debug)]
pub struct Received<'a> {
    /// When the batch was taken from the kernel, Unix time.
    pub rx_unix_ns: u64,
    /// Messages in order of reception.
    pub messages: &'a [Message<'a>],
    /// Whether another batch, perhaps an empty one, follows at once.
    pub more: bool,
}

impl<'a> Received<'a> {
    pub(super) fn nothing() -> Self {
        Self {
            rx_unix_ns: 0,
            messages: &[],
            more: false,
        }
    }
}

/// One datagram of an exporter, or several that the kernel has coalesced.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Source address of the datagrams.
    pub exporter: IpAddr,
    /// UDP source port of the datagrams.
    pub source_port: u16,
    /// Payloads of the datagrams, one after the other.
    pub bytes: &'a [u8],
    /// Length of each datagram except the last, which may be shorter.
    pub(super) segment_bytes: usize,
}

impl<'a> Message<'a> {
    /// Returns an empty message, with which a list is filled before messages are received.
    pub(super) fn nothing() -> Self {
        Self {
            exporter: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            source_port: 0,
            bytes: &[],
            segment_bytes: 0,
        }
    }

    /// Returns the UDP payload of each datagram.
    #[inline]
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        // An empty datagram also counts.
        let empty: Option<&'a [u8]> = self.bytes.is_empty().then_some(&[]);
        empty
            .into_iter()
            .chain(self.bytes.chunks(self.segment_bytes.max(1)))
    }

    /// Returns the length of each datagram except the last.
    #[must_use]
    #[inline]
    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes.max(1)
    }

    /// Returns the number of datagrams.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.bytes.len().div_ceil(self.segment_bytes.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<'a> Received<'a> {
        /// Messages of one call.
        pub(crate) fn new(rx_unix_ns: u64, messages: &'a [Message<'a>], more: bool) -> Self {
            Self {
                rx_unix_ns,
                messages,
                more,
            }
        }
    }

    impl<'a> Message<'a> {
        /// Datagrams of `segment_bytes` each, the last perhaps shorter.
        pub(crate) fn new(
            exporter: IpAddr,
            source_port: u16,
            bytes: &'a [u8],
            segment_bytes: usize,
        ) -> Self {
            Self {
                exporter,
                source_port,
                bytes,
                segment_bytes,
            }
        }
    }

    fn message(bytes: &[u8], segment_bytes: usize) -> Message<'_> {
        Message {
            exporter: [192, 0, 2, 1].into(),
            source_port: 1,
            bytes,
            segment_bytes,
        }
    }

    #[test]
    fn coalesced_messages_are_cut_apart() {
        let whole = [1, 2, 3, 4, 5, 6, 7];
        let three = message(&whole, 3);
        assert_eq!(
            three.datagrams().collect::<Vec<_>>(),
            [&whole[..3], &whole[3..6], &whole[6..]]
        );
        assert_eq!(three.count(), 3);
        assert_eq!(message(&whole, 7).count(), 1);
        assert_eq!(message(&whole, 7).datagrams().count(), 1);
    }

    #[test]
    fn an_empty_datagram_counts() {
        assert_eq!(message(&[], 0).count(), 1);
        assert_eq!(
            message(&[], 0).datagrams().collect::<Vec<_>>(),
            [&[0u8; 0][..]]
        );
    }
}
