// SPDX-License-Identifier: Apache-2.0
//! Merges consecutive segments into one super-frame.

use std::ops::Range;

use crate::super_frame::checksum::{is_right, pseudo_header, write_ipv4};
use crate::super_frame::cut::flag;
use crate::super_frame::headers::{Headers, Network, Transport, be16, be32, put};
use crate::super_frame::vnet::{Gso, VnetHeader};

/// Most segments of a super-frame.
pub const MAX_SEGMENTS: usize = 64;
/// Largest IP packet that its length field allows.
const MAX_PACKET_BYTES: usize = 65_535;
/// Don't Fragment: the identification has no meaning (RFC 6864).
const DONT_FRAGMENT: u8 = 0x40;

/// Consecutive segments of one flow; from the super-frame that they form,
/// [`Cutter`](crate::super_frame::Cutter) would make the same segments again.
#[derive(Debug)]
pub struct Run {
    headers: Headers,
    segment_bytes: usize,
    payload_bytes: usize,
    segments: usize,
    /// Whether no further segment may follow.
    ended: bool,
    /// PSH flag of the last segment.
    push: u8,
}

impl Run {
    /// Starts a run with its first segment. `None`: nothing can follow this frame.
    pub fn start(frame: &[u8]) -> Option<Self> {
        let headers = Headers::of(frame)?;
        let payload = payload(frame, &headers)?;
        let flags = flags(frame, &headers);
        let plain = flags & !(flag::ECE | flag::CWR) == flag::ACK;
        if headers.transport == Transport::Tcp && !plain {
            return None;
        }
        Some(Self {
            headers,
            segment_bytes: payload.len(),
            payload_bytes: payload.len(),
            segments: 1,
            ended: false,
            push: 0,
        })
    }

    /// Adds `frame` if it follows; `first` is the frame that the run started with. Returns the
    /// range of its payload, or `None` if it does not follow.
    pub fn push(&mut self, first: &[u8], frame: &[u8]) -> Option<Range<usize>> {
        let h = self.headers;
        if self.ended
            || self.segments >= MAX_SEGMENTS
            || frame.get(..h.network_at)? != first.get(..h.network_at)?
            || Headers::of(frame)? != h
            || !self.follows(first, frame)
        {
            return None;
        }
        let range = payload(frame, &h)?;
        let bytes = range.len();
        let packet_bytes = h.payload_at - h.network_at + self.payload_bytes + bytes;
        if bytes > self.segment_bytes || packet_bytes > MAX_PACKET_BYTES {
            return None;
        }
        self.push = flags(frame, &h) & flag::PSH;
        self.ended = bytes < self.segment_bytes || self.push != 0;
        self.segments += 1;
        self.payload_bytes += bytes;
        Some(range)
    }

    /// Returns the number of segments so far.
    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Returns the transport protocol.
    pub fn transport(&self) -> Transport {
        self.headers.transport
    }

    /// Returns the offset of the payload in each segment's frame.
    pub fn payload_at(&self) -> usize {
        self.headers.payload_at
    }

    /// Returns whether `frame` has the headers of the next segment.
    fn follows(&self, first: &[u8], frame: &[u8]) -> bool {
        self.network_follows(first, frame).unwrap_or(false)
            && self.transport_follows(first, frame).unwrap_or(false)
    }

    fn network_follows(&self, first: &[u8], frame: &[u8]) -> Option<bool> {
        let (at, end) = (self.headers.network_at, self.headers.transport_at);
        let same = |range: Range<usize>| Some(frame.get(range.clone())? == first.get(range)?);
        match self.headers.network {
            // All but length, identification and checksum.
            Network::V4 => {
                let (then, now) = (be16(first, at + 4)?, be16(frame, at + 4)?);
                let atomic = frame.get(at + 6)? & DONT_FRAGMENT != 0;
                let counts_on = now == then.wrapping_add(self.segments as u16);
                Some(
                    same(at..at + 2)?
                        && same(at + 6..at + 10)?
                        && same(at + 12..end)?
                        && (counts_on || atomic && now == then),
                )
            }
            // All but the length.
            Network::V6 => Some(same(at..at + 4)? && same(at + 6..end)?),
        }
    }

    fn transport_follows(&self, first: &[u8], frame: &[u8]) -> Option<bool> {
        let (at, end) = (self.headers.transport_at, self.headers.payload_at);
        let same = |range: Range<usize>| Some(frame.get(range.clone())? == first.get(range)?);
        match self.headers.transport {
            // Ports; sequence number; acknowledgement number and header length; flags;
            // window; urgent pointer and options.
            Transport::Tcp => {
                let sequence = be32(first, at + 4)?.wrapping_add(self.payload_bytes as u32);
                let (then, now) = (first.get(at + 13)?, frame.get(at + 13)?);
                Some(
                    same(at..at + 4)?
                        && be32(frame, at + 4)? == sequence
                        && same(at + 8..at + 13)?
                        && now & !flag::PSH == then & !flag::CWR
                        && same(at + 14..at + 16)?
                        && same(at + 18..end)?,
                )
            }
            Transport::Udp => same(at..at + 4),
        }
    }

    /// Writes the super-frame's headers, without payload, to `out`, which is cleared first.
    pub fn header(&self, first: &[u8], out: &mut Vec<u8>) -> VnetHeader {
        let h = &self.headers;
        out.clear();
        out.extend_from_slice(first.get(..h.payload_at).unwrap_or_default());
        let end = h.payload_at + self.payload_bytes;
        let at = h.network_at;
        match h.network {
            Network::V4 => {
                put(out, at + 2, &((end - at) as u16).to_be_bytes());
                if let Some(header) = out.get_mut(at..h.transport_at) {
                    write_ipv4(header);
                }
            }
            Network::V6 => put(out, at + 4, &((end - at - 40) as u16).to_be_bytes()),
        }
        let bytes = end - h.transport_at;
        let mut ecn = false;
        match h.transport {
            Transport::Udp => put(out, h.transport_at + 4, &(bytes as u16).to_be_bytes()),
            Transport::Tcp => {
                if let Some(flags) = out.get_mut(h.transport_at + 13) {
                    *flags |= self.push;
                    ecn = *flags & flag::CWR != 0;
                }
            }
        }
        // The device completes the checksum; the field holds the pseudo header's sum.
        let sum = pseudo_header(out, h, bytes).folded();
        put(out, h.transport_at + h.transport.checksum_offset(), &sum);
        VnetHeader {
            needs_checksum: true,
            gso: match (h.transport, h.network) {
                (Transport::Tcp, Network::V4) => Gso::TcpV4,
                (Transport::Tcp, Network::V6) => Gso::TcpV6,
                (Transport::Udp, _) => Gso::Udp,
            },
            ecn,
            header_bytes: h.payload_at as u16,
            segment_bytes: self.segment_bytes as u16,
            checksum_start: h.transport_at as u16,
            checksum_offset: h.transport.checksum_offset() as u16,
        }
    }
}

fn flags(frame: &[u8], h: &Headers) -> u8 {
    match h.transport {
        Transport::Tcp => frame.get(h.transport_at + 13).copied().unwrap_or(0),
        Transport::Udp => 0,
    }
}

/// Returns the payload of a segment that a super-frame may hold: not empty, without padding,
/// and with correct checksums, because they would not be checked again.
fn payload(frame: &[u8], h: &Headers) -> Option<Range<usize>> {
    let whole = h.packet_end(frame)? == frame.len() && h.payload_at < frame.len();
    let length = h.transport == Transport::Tcp
        || usize::from(be16(frame, h.transport_at + 4)?) == frame.len() - h.transport_at
            && be16(frame, h.transport_at + 6)? != 0;
    (whole && length && is_right(frame, h)).then_some(h.payload_at..frame.len())
}
