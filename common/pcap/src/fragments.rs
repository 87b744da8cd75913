// SPDX-License-Identifier: Apache-2.0
//! Reassembles fragmented IP packets. Memory is bounded: the oldest incomplete packet is given
//! up.

use crate::udp::{Fragment, Whole};
use std::collections::VecDeque;

/// Most incomplete packets.
const MAX_PACKETS: usize = 64;
/// Largest payload of an IP packet.
const MAX_BYTES: usize = 65_535;
/// Most fragments of a packet; many more could have 8 bytes each, but nobody sends these.
const MAX_PIECES: usize = 128;

#[derive(Debug)]
struct Pieces {
    whole: Whole,
    /// Offset and bytes of each fragment, in any order.
    pieces: Vec<(usize, Vec<u8>)>,
    /// Length of the payload, once the last fragment has arrived.
    length: Option<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Fragments(VecDeque<Pieces>);

impl Fragments {
    /// Adds a fragment; returns the payload of the IP packet once it is complete.
    pub(crate) fn add(&mut self, f: &Fragment, bytes: &[u8]) -> Option<Vec<u8>> {
        let end = f.offset + bytes.len();
        if end > MAX_BYTES {
            return None;
        }
        let place = match self.0.iter().position(|p| p.whole == f.whole) {
            Some(place) => place,
            None => {
                if self.0.len() == MAX_PACKETS {
                    self.0.pop_front();
                }
                self.0.push_back(Pieces {
                    whole: f.whole,
                    pieces: Vec::new(),
                    length: None,
                });
                self.0.len() - 1
            }
        };
        let packet = self.0.get_mut(place)?;
        if f.is_last {
            packet.length = Some(end);
        }
        // Overlapping fragments never complete a packet, and could exceed its size.
        let held: usize = packet.pieces.iter().map(|p| p.1.len()).sum();
        if held + bytes.len() <= MAX_BYTES
            && packet.pieces.len() < MAX_PIECES
            && packet.pieces.iter().all(|p| p.0 != f.offset)
        {
            packet.pieces.push((f.offset, bytes.to_vec()));
        }
        let all = packet.all()?;
        self.0.remove(place);
        Some(all)
    }
}

impl Pieces {
    fn all(&mut self) -> Option<Vec<u8>> {
        let length = self.length?;
        self.pieces.sort_unstable_by_key(|p| p.0);
        let mut all = Vec::with_capacity(length);
        for (offset, bytes) in &self.pieces {
            // Overlapping fragments are an old attack; after a gap, wait for more.
            if *offset != all.len() {
                return None;
            }
            all.extend_from_slice(bytes);
        }
        (all.len() == length).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn pieces_that_overlap_hold_no_more_than_a_packet() {
        let mut fragments = Fragments::default();
        let whole = Whole {
            src: IpAddr::V4(Ipv4Addr::LOCALHOST),
            dst: IpAddr::V4(Ipv4Addr::LOCALHOST),
            id: 1,
            protocol: 17,
        };
        for i in 0..100 {
            let piece = Fragment {
                whole,
                offset: 8 * i,
                is_last: false,
                bytes: 0..0,
            };
            assert!(fragments.add(&piece, &[0; 60_000]).is_none());
        }
        let held = fragments.0.iter().flat_map(|p| &p.pieces);
        assert!(held.map(|p| p.1.len()).sum::<usize>() <= MAX_BYTES);
    }
}
