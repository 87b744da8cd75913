// SPDX-License-Identifier: Apache-2.0
//! The Internet checksum (RFC 1071).

use crate::super_frame::headers::{Headers, Network, Transport, be16, put};

/// Sum of 16-bit words in the machine's byte order: the sum can be formed in any byte
/// order and is swapped once, at the end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Adds bytes that begin at an even offset of the summed data.
    #[inline]
    pub(crate) fn add(mut self, bytes: &[u8]) -> Self {
        let mut words = bytes.chunks_exact(4);
        let mut sum = 0u64;
        for w in words.by_ref() {
            if let Ok(w) = w.try_into() {
                sum += u64::from(u32::from_ne_bytes(w));
            }
        }
        let mut rest = [0; 4];
        for (o, b) in rest.iter_mut().zip(words.remainder()) {
            *o = *b;
        }
        sum += u64::from(u32::from_ne_bytes(rest));
        self.0 += sum;
        self
    }

    /// Adds a 16-bit number.
    pub(crate) fn word(mut self, value: u16) -> Self {
        self.0 += u64::from(value.to_be());
        self
    }

    /// Returns the sum folded to 16 bits, not inverted, as bytes of a packet.
    pub(crate) fn folded(self) -> [u8; 2] {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (sum as u16).to_ne_bytes()
    }

    /// Returns the checksum: the sum folded and inverted.
    pub(crate) fn checksum(self) -> [u8; 2] {
        self.folded().map(|b| !b)
    }

    /// Returns whether the summed data contain their own, correct checksum.
    pub(crate) fn is_right(self) -> bool {
        self.folded() == [0xff, 0xff]
    }
}

/// Returns the sum of the pseudo header of a TCP or UDP packet.
pub(crate) fn pseudo_header(frame: &[u8], h: &Headers, transport_bytes: usize) -> Sum {
    let bytes = transport_bytes as u32;
    Sum::default()
        .add(h.addresses(frame))
        .word((bytes >> 16) as u16)
        .word(bytes as u16)
        .word(u16::from(h.transport.number()))
}

/// Writes the checksum of an IPv4 header; `header` holds exactly that header.
pub(crate) fn write_ipv4(header: &mut [u8]) {
    put(header, 10, &[0, 0]);
    let sum = Sum::default().add(header).checksum();
    put(header, 10, &sum);
}

/// Returns the checksum to write: a UDP checksum of zero would mean that there is none.
fn transport_checksum(sum: Sum, transport: Transport) -> [u8; 2] {
    match (sum.checksum(), transport) {
        ([0, 0], Transport::Udp) => [0xff, 0xff],
        (c, _) => c,
    }
}

/// Completes the checksum of a packet whose sender left it to the device; the checksum
/// field holds the pseudo header's sum. Returns `false`, and changes nothing, if the frame
/// is not of a supported kind.
pub fn complete(frame: &mut [u8]) -> bool {
    let Some(h) = Headers::of(frame) else {
        return false;
    };
    let Some(end) = h.packet_end(frame) else {
        return false;
    };
    let sum = Sum::default().add(frame.get(h.transport_at..end).unwrap_or_default());
    let checksum = transport_checksum(sum, h.transport);
    put(
        frame,
        h.transport_at + h.transport.checksum_offset(),
        &checksum,
    );
    true
}

/// Writes lengths and checksums of a UDP packet over IPv4 whose payload has changed. A UDP
/// checksum of zero stays: the sender may omit it.
pub fn fit_udp(frame: &mut [u8], h: &Headers) {
    let bytes = frame.len() - h.transport_at;
    let ip_bytes = (frame.len() - h.network_at) as u16;
    put(frame, h.network_at + 2, &ip_bytes.to_be_bytes());
    if let Some(header) = frame.get_mut(h.network_at..h.transport_at) {
        write_ipv4(header);
    }
    put(frame, h.transport_at + 4, &(bytes as u16).to_be_bytes());
    let field = h.transport_at + h.transport.checksum_offset();
    if be16(frame, field) != Some(0) {
        write_transport(frame, h);
    }
}

/// Writes the TCP or UDP checksum; the packet ends with the frame.
pub(crate) fn write_transport(frame: &mut [u8], h: &Headers) {
    let bytes = frame.len() - h.transport_at;
    let field = h.transport_at + h.transport.checksum_offset();
    put(frame, field, &[0, 0]);
    let data = frame.get(h.transport_at..).unwrap_or_default();
    let sum = pseudo_header(frame, h, bytes).add(data);
    put(frame, field, &transport_checksum(sum, h.transport));
}

/// Returns whether the checksums of the IPv4 header and of TCP or UDP are correct.
pub(crate) fn is_right(frame: &[u8], h: &Headers) -> bool {
    let network = h.network == Network::V6
        || Sum::default()
            .add(frame.get(h.network_at..h.transport_at).unwrap_or_default())
            .is_right();
    let bytes = frame.get(h.transport_at..).unwrap_or_default();
    network && pseudo_header(frame, h, bytes.len()).add(bytes).is_right()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sum_of_words(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut want = 0u32;
            for w in bytes.chunks(2) {
                want += u32::from(w[0]) << 8 | u32::from(w.get(1).copied().unwrap_or(0));
                want = (want & 0xffff) + (want >> 16);
            }
            prop_assert_eq!(Sum::default().add(&bytes).folded(), (want as u16).to_be_bytes());
        }
    }

    #[test]
    fn completes_udp_over_ipv4() {
        let mut f = vec![0u8; 14 + 20 + 8 + 3];
        f[12] = 8;
        f[14] = 0x45;
        f[17] = 31;
        f[23] = 17;
        f[26..30].copy_from_slice(&[10, 0, 0, 1]);
        f[30..34].copy_from_slice(&[10, 0, 0, 2]);
        f[34..42].copy_from_slice(&[0, 1, 0, 2, 0, 11, 0, 0]);
        f[42..45].copy_from_slice(b"abc");
        // Pseudo header: addresses, protocol, length; folded, not inverted.
        let pseudo: u32 = 0x0a00 + 1 + 0x0a00 + 2 + 17 + 11;
        f[40..42].copy_from_slice(&(pseudo as u16).to_be_bytes());
        assert!(complete(&mut f));
        let mut sum = pseudo;
        for c in f[34..45].chunks(2) {
            sum += (u32::from(c[0]) << 8) | u32::from(c.get(1).copied().unwrap_or(0));
        }
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        assert_eq!(sum, 0xffff);
    }

    #[test]
    fn leaves_other_frames_alone() {
        let mut f = vec![0u8; 60];
        f[12..14].copy_from_slice(&[8, 6]);
        assert!(!complete(&mut f));
        assert!(f[14..].iter().all(|b| *b == 0));
        assert!(!complete(&mut [1, 2, 3]));
    }
}
