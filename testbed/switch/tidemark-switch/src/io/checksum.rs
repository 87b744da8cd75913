// SPDX-License-Identifier: Apache-2.0
//! Completes transport checksums that the sending kernel left to its device.
//!
//! A frame from a local stack with checksum offload reaches a packet socket
//! with the pseudo-header's sum in the checksum field. A device would complete
//! it; here the port does.

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: u16 = 0x8100;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Completes the TCP or UDP checksum of an Ethernet frame in place. False when
/// the frame is of no kind that this is known for; it is then left as it is.
pub fn complete(frame: &mut [u8]) -> bool {
    let Some((at, protocol)) = transport(frame) else {
        return false;
    };
    let field = match protocol {
        TCP => at + 16,
        UDP => at + 6,
        _ => return false,
    };
    let end = segment_end(frame, at);
    let Some(segment) = frame.get(at..end) else {
        return false;
    };
    if field + 2 > end {
        return false;
    }
    // The field holds the pseudo header's sum already.
    let mut sum = 0u64;
    for c in segment.chunks(2) {
        let low = c.get(1).copied().unwrap_or(0);
        sum += (u64::from(c.first().copied().unwrap_or(0)) << 8) | u64::from(low);
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let mut value = !(sum as u16);
    if value == 0 && protocol == UDP {
        value = 0xffff;
    }
    if let Some(out) = frame.get_mut(field..field + 2) {
        out.copy_from_slice(&value.to_be_bytes());
    }
    true
}

fn be16(frame: &[u8], at: usize) -> Option<u16> {
    let b = frame.get(at..at + 2)?;
    Some(u16::from_be_bytes([*b.first()?, *b.get(1)?]))
}

fn network(frame: &[u8]) -> Option<(usize, u16)> {
    let mut at = 14;
    let mut kind = be16(frame, 12)?;
    if kind == ETHERTYPE_VLAN {
        kind = be16(frame, 16)?;
        at = 18;
    }
    Some((at, kind))
}

fn transport(frame: &[u8]) -> Option<(usize, u8)> {
    let (at, kind) = network(frame)?;
    match kind {
        ETHERTYPE_IPV4 => {
            let ihl = usize::from(frame.get(at)? & 15) * 4;
            Some((at + ihl, *frame.get(at + 9)?))
        }
        ETHERTYPE_IPV6 => Some((at + 40, *frame.get(at + 6)?)),
        _ => None,
    }
}

/// Without the padding of a short frame.
fn segment_end(frame: &[u8], transport_at: usize) -> usize {
    let length = match network(frame) {
        Some((at, ETHERTYPE_IPV4)) => be16(frame, at + 2).map(|n| at + usize::from(n)),
        Some((at, ETHERTYPE_IPV6)) => be16(frame, at + 4).map(|n| at + 40 + usize::from(n)),
        _ => None,
    };
    length
        .filter(|e| *e <= frame.len() && *e > transport_at)
        .unwrap_or(frame.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completes_udp_over_ipv4() {
        let mut f = vec![0u8; 14 + 20 + 8 + 3];
        f[12] = 8;
        f[14] = 0x45;
        f[17] = 31;
        f[23] = UDP;
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
