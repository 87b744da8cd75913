// SPDX-License-Identifier: Apache-2.0
//! `virtio_net_hdr`: the kernel's metadata that accompanies a frame (linux/virtio_net.h, in
//! the byte order of the machine).

/// The checksum is left to the device; `checksum_start` and `checksum_offset` are valid.
const NEEDS_CHECKSUM: u8 = 1;
/// The TCP segments carry Explicit Congestion Notification: CWR on the first segment only.
const ECN: u8 = 0x80;

/// Segmentation left to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gso {
    /// None: the frame is one packet.
    None,
    /// TCP over IPv4.
    TcpV4,
    /// TCP over IPv6.
    TcpV6,
    /// UDP over IPv4 or IPv6, one datagram per segment.
    Udp,
    /// Another kind, by the kernel's number: UDP fragmentation (3), or a kind newer than this code.
    Other(u8),
}

/// Metadata of a frame from or to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VnetHeader {
    /// Whether the checksum field holds only the pseudo header's sum.
    pub needs_checksum: bool,
    /// Kind of segmentation.
    pub gso: Gso,
    /// Whether CWR belongs on the first segment only.
    pub ecn: bool,
    /// Total length of all headers.
    pub header_bytes: u16,
    /// Payload bytes per segment.
    pub segment_bytes: u16,
    /// Offset of the transport header from the start of the frame.
    pub checksum_start: u16,
    /// Offset of the checksum in the transport header.
    pub checksum_offset: u16,
}

impl VnetHeader {
    /// Length of the header.
    pub const BYTES: usize = 10;

    /// Metadata of a frame that is a single packet with complete checksums.
    pub const NONE: Self = Self {
        needs_checksum: false,
        gso: Gso::None,
        ecn: false,
        header_bytes: 0,
        segment_bytes: 0,
        checksum_start: 0,
        checksum_offset: 0,
    };

    /// Reads the header.
    pub fn read(b: &[u8; Self::BYTES]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([b[at], b[at + 1]]);
        let [flags, kind, ..] = *b;
        Self {
            needs_checksum: flags & NEEDS_CHECKSUM != 0,
            gso: match kind & !ECN {
                0 => Gso::None,
                1 => Gso::TcpV4,
                4 => Gso::TcpV6,
                5 => Gso::Udp,
                other => Gso::Other(other),
            },
            ecn: kind & ECN != 0,
            header_bytes: word(2),
            segment_bytes: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    /// Writes the header.
    pub fn write(&self) -> [u8; Self::BYTES] {
        let kind = match self.gso {
            Gso::None => 0,
            Gso::TcpV4 => 1,
            Gso::TcpV6 => 4,
            Gso::Udp => 5,
            Gso::Other(n) => n,
        };
        let mut out = [0; Self::BYTES];
        out[0] = u8::from(self.needs_checksum) * NEEDS_CHECKSUM;
        out[1] = kind | (u8::from(self.ecn) * ECN);
        let words = [
            self.header_bytes,
            self.segment_bytes,
            self.checksum_start,
            self.checksum_offset,
        ];
        for (to, word) in out[2..].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_is_read() {
        for (gso, number) in [
            (Gso::None, 0),
            (Gso::TcpV4, 1),
            (Gso::Other(3), 3),
            (Gso::TcpV6, 4),
            (Gso::Udp, 5),
        ] {
            let h = VnetHeader {
                needs_checksum: true,
                gso,
                ecn: gso == Gso::TcpV4,
                header_bytes: 66,
                segment_bytes: 1448,
                checksum_start: 34,
                checksum_offset: 16,
            };
            let b = h.write();
            assert_eq!(b[1] & 0x7f, number);
            assert_eq!(VnetHeader::read(&b), h);
        }
        assert_eq!(VnetHeader::NONE.write(), [0; 10]);
    }
}
