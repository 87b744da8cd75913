// SPDX-License-Identifier: Apache-2.0
//! Cuts a super-frame into the segments that the kernel would have sent.

use std::fmt;

use crate::super_frame::checksum::{write_ipv4, write_transport};
use crate::super_frame::headers::{Headers, Network, Transport, be16, be32, put};
use crate::super_frame::vnet::{Gso, VnetHeader};

/// Most segments of a super-frame: 64 KiB at 32 bytes each. If a sender could claim one byte,
/// the switch would have to send 65 000 packets for one frame.
const MAX_SEGMENTS: usize = 2048;

/// Why a super-frame cannot be cut as the kernel cuts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// Unsupported kind of segmentation, such as UDP fragmentation.
    Kind,
    /// Headers that do not match the kind: a tunnel, a fragment, or truncated headers.
    Headers,
    /// Length fields that contradict the frame, or are too small for it (BIG TCP).
    Length,
    /// Segments of no bytes, longer than the interface's MTU, or more than 2048 of them.
    SegmentSize,
}

impl Refusal {
    /// All refusals.
    pub const ALL: [Self; 4] = [Self::Kind, Self::Headers, Self::Length, Self::SegmentSize];

    /// Returns a one-word name for counters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Headers => "headers",
            Self::Length => "length",
            Self::SegmentSize => "segment_size",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "unsupported kind of segmentation",
            Self::Headers => "headers that are not those of a TCP or UDP packet",
            Self::Length => "length fields that contradict the frame",
            Self::SegmentSize => "segments empty, above the MTU, or more than 2048",
        })
    }
}

impl std::error::Error for Refusal {}

/// Flags in byte 13 of a TCP header.
pub(crate) mod flag {
    pub(crate) const FIN: u8 = 0x01;
    pub(crate) const PSH: u8 = 0x08;
    pub(crate) const ACK: u8 = 0x10;
    pub(crate) const ECE: u8 = 0x40;
    pub(crate) const CWR: u8 = 0x80;
}

/// A super-frame, and how much of it has been cut off.
#[derive(Debug)]
pub struct Cutter {
    frame: Vec<u8>,
    headers: Headers,
    segment_bytes: usize,
    /// Offset of the next segment's payload.
    next_at: usize,
    /// Segments cut so far.
    index: u32,
    /// Whether the UDP datagrams go without a checksum.
    no_checksum: bool,
}

impl Cutter {
    /// `frame` begins with its Ethernet header and contains its VLAN tags; the offsets of
    /// `vnet` include the tags. `max_frame_bytes` limits each segment.
    ///
    /// # Errors
    /// The kernel could not cut this frame so; the frame is given back with the reason.
    pub fn new(
        frame: Vec<u8>,
        vnet: &VnetHeader,
        max_frame_bytes: usize,
    ) -> Result<Self, (Refusal, Vec<u8>)> {
        match Self::check(&frame, vnet, max_frame_bytes) {
            Ok((headers, no_checksum)) => Ok(Self {
                headers,
                segment_bytes: usize::from(vnet.segment_bytes),
                next_at: headers.payload_at,
                index: 0,
                no_checksum,
                frame,
            }),
            Err(why) => Err((why, frame)),
        }
    }

    fn check(
        frame: &[u8],
        vnet: &VnetHeader,
        max_frame_bytes: usize,
    ) -> Result<(Headers, bool), Refusal> {
        let h = Headers::of(frame).ok_or(Refusal::Headers)?;
        let known = match vnet.gso {
            Gso::TcpV4 => (h.network, h.transport) == (Network::V4, Transport::Tcp),
            Gso::TcpV6 => (h.network, h.transport) == (Network::V6, Transport::Tcp),
            Gso::Udp => h.transport == Transport::Udp,
            Gso::None | Gso::Other(_) => return Err(Refusal::Kind),
        };
        // The kernel refers to the innermost transport header: if that is not the
        // outermost, the frame is a tunnel.
        let meant = !vnet.needs_checksum || usize::from(vnet.checksum_start) == h.transport_at;
        if !known || !meant {
            return Err(Refusal::Headers);
        }
        if h.packet_end(frame) != Some(frame.len()) || h.payload_at == frame.len() {
            return Err(Refusal::Length);
        }
        let segment_bytes = usize::from(vnet.segment_bytes);
        if segment_bytes == 0 || h.payload_at + segment_bytes > max_frame_bytes {
            return Err(Refusal::SegmentSize);
        }
        if (frame.len() - h.payload_at).div_ceil(segment_bytes) > MAX_SEGMENTS {
            return Err(Refusal::SegmentSize);
        }
        let no_checksum = h.transport == Transport::Udp
            && !vnet.needs_checksum
            && be16(frame, h.transport_at + 6) == Some(0);
        Ok((h, no_checksum))
    }

    /// Returns the bytes of the next segment with its headers; 0 if none is left.
    pub fn next_bytes(&self) -> usize {
        match self.payload_left().min(self.segment_bytes) {
            0 => 0,
            payload => self.headers.payload_at + payload,
        }
    }

    /// Returns the bytes of all remaining segments, each with its headers.
    pub fn bytes_left(&self) -> usize {
        self.payload_left() + self.segments_left() * self.headers.payload_at
    }

    /// Returns the number of remaining segments.
    pub fn segments_left(&self) -> usize {
        self.payload_left().div_ceil(self.segment_bytes)
    }

    fn payload_left(&self) -> usize {
        self.frame.len() - self.next_at
    }

    /// Cuts off the next segment and writes it to `out`, which is cleared first. Returns
    /// `false` if none is left.
    pub fn next_into(&mut self, out: &mut Vec<u8>) -> bool {
        out.clear();
        let payload_bytes = self.payload_left().min(self.segment_bytes);
        if payload_bytes == 0 {
            return false;
        }
        let h = self.headers;
        let end = self.next_at + payload_bytes;
        out.extend_from_slice(self.frame.get(..h.payload_at).unwrap_or_default());
        out.extend_from_slice(self.frame.get(self.next_at..end).unwrap_or_default());
        let last = end == self.frame.len();
        self.network(out);
        self.transport(out, last);
        self.next_at = end;
        self.index += 1;
        true
    }

    /// Writes the lengths, and for IPv4 the incremented identification and the checksum.
    fn network(&self, out: &mut [u8]) {
        let at = self.headers.network_at;
        let bytes = out.len() - at;
        match self.headers.network {
            Network::V4 => {
                put(out, at + 2, &(bytes as u16).to_be_bytes());
                let first = be16(&self.frame, at + 4).unwrap_or_default();
                let identification = first.wrapping_add(self.index as u16);
                put(out, at + 4, &identification.to_be_bytes());
                if let Some(header) = out.get_mut(at..self.headers.transport_at) {
                    write_ipv4(header);
                }
            }
            Network::V6 => put(out, at + 4, &((bytes - 40) as u16).to_be_bytes()),
        }
    }

    fn transport(&self, out: &mut [u8], last: bool) {
        let h = &self.headers;
        let at = h.transport_at;
        match h.transport {
            Transport::Tcp => {
                let first = be32(&self.frame, at + 4).unwrap_or_default();
                let before = (self.next_at - h.payload_at) as u32;
                put(out, at + 4, &first.wrapping_add(before).to_be_bytes());
                if let Some(flags) = out.get_mut(at + 13) {
                    if !last {
                        *flags &= !(flag::FIN | flag::PSH);
                    }
                    if self.index != 0 {
                        *flags &= !flag::CWR;
                    }
                }
            }
            Transport::Udp => put(out, at + 4, &((out.len() - at) as u16).to_be_bytes()),
        }
        if !self.no_checksum {
            write_transport(out, h);
        }
    }

    /// Returns the buffer for reuse.
    pub fn into_buffer(self) -> Vec<u8> {
        self.frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::super_frame::checksum::is_right;

    /// An unsegmented TCP packet over IPv4 with `payload` bytes and these flags.
    fn tcp(payload: usize, flags: u8) -> Vec<u8> {
        let mut f = vec![2; 12];
        f.extend([8, 0, 0x45, 0]);
        f.extend(((40 + payload) as u16).to_be_bytes());
        f.extend([0xff, 0xff, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        f.extend([0x12, 0x34, 0, 80, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 9]);
        f.extend([0x50, flags, 1, 0, 0, 0, 0, 0]);
        f.extend((0..payload).map(|i| i as u8));
        f
    }

    fn vnet(segment_bytes: u16) -> VnetHeader {
        VnetHeader {
            needs_checksum: true,
            gso: Gso::TcpV4,
            ecn: false,
            header_bytes: 54,
            segment_bytes,
            checksum_start: 34,
            checksum_offset: 16,
        }
    }

    #[test]
    fn numbers_flags_and_checksums_of_each_segment() {
        let all = flag::FIN | flag::PSH | flag::ACK | flag::CWR;
        let mut c = Cutter::new(tcp(250, all), &vnet(100), 1514).unwrap();
        assert_eq!(c.bytes_left(), 250 + 3 * 54);
        let mut out = Vec::new();
        let mut seen = Vec::new();
        while c.next_into(&mut out) {
            let h = Headers::of(&out).unwrap();
            assert_eq!(h.packet_end(&out), Some(out.len()));
            assert!(is_right(&out, &h));
            seen.push((
                out.len() - 54,
                be16(&out, 18).unwrap(),
                be32(&out, 38).unwrap(),
                out[47],
            ));
        }
        let want = [
            (100, 0xffff, 0xffff_fffe, flag::ACK | flag::CWR),
            (100, 0, 98, flag::ACK),
            (50, 1, 198, flag::ACK | flag::FIN | flag::PSH),
        ];
        assert_eq!(seen, want);
        assert_eq!((c.next_bytes(), c.bytes_left()), (0, 0));
    }

    #[test]
    fn refuses_what_it_would_cut_wrong() {
        let of = |f: Vec<u8>, v: VnetHeader| Cutter::new(f, &v, 1514).unwrap_err().0;
        let kind = |gso| VnetHeader { gso, ..vnet(100) };
        assert_eq!(of(tcp(200, 16), kind(Gso::Other(3))), Refusal::Kind);
        assert_eq!(of(tcp(200, 16), kind(Gso::Udp)), Refusal::Headers);
        assert_eq!(of(tcp(200, 16), kind(Gso::TcpV6)), Refusal::Headers);
        let tunnel = VnetHeader {
            checksum_start: 84,
            ..vnet(100)
        };
        assert_eq!(of(tcp(200, 16), tunnel), Refusal::Headers);
        let mut padded = tcp(200, 16);
        padded.push(0);
        assert_eq!(of(padded, vnet(100)), Refusal::Length);
        assert_eq!(of(tcp(0, 16), vnet(100)), Refusal::Length);
        assert_eq!(of(tcp(200, 16), vnet(0)), Refusal::SegmentSize);
        assert_eq!(of(tcp(2000, 16), vnet(1461)), Refusal::SegmentSize);
        assert_eq!(
            of(tcp(2 * MAX_SEGMENTS + 1, 16), vnet(2)),
            Refusal::SegmentSize
        );
        assert_eq!(of(tcp(65_000, 16), vnet(1)), Refusal::SegmentSize);
        assert!(Cutter::new(tcp(65_000, 16), &vnet(32), 1514).is_ok());
    }
}
