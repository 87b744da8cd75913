// SPDX-License-Identifier: Apache-2.0
//! Random TCP and UDP super-frames as a stack passes them to its device.
#![allow(dead_code)]

use traffic_manager::super_frame::{Gso, VnetHeader};

/// Random numbers from a seed (splitmix64).
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Sum of 16-bit words: folded, not inverted.
fn sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for w in bytes.chunks(2) {
        sum += u32::from(w[0]) << 8 | u32::from(w.get(1).copied().unwrap_or(0));
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// A super-frame with random headers and segment size. Its source port is `mark`.
pub(crate) fn super_frame(r: &mut Random, mark: u16) -> (Vec<u8>, VnetHeader) {
    let (v6, udp) = (r.below(2) == 0, r.below(3) == 0);
    let options = if udp { 0 } else { r.below(11) as usize };
    let transport = if udp { 8 } else { 20 + 4 * options };
    // The kernel limits the number of datagrams in a UDP super-frame.
    let segment_bytes = 100 + r.below(1300) as usize;
    let most = (60_000 / segment_bytes).min(if udp { 60 } else { 600 });
    let payload_bytes = segment_bytes + 1 + r.below(((most - 1) * segment_bytes) as u64) as usize;
    let bytes = transport + payload_bytes;
    let protocol: u8 = if udp { 17 } else { 6 };
    let mut f: Vec<u8> = vec![0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1];
    let traffic_class = r.below(256) as u8;
    let addresses = if v6 {
        f.extend([0x86, 0xdd]);
        let at = f.len();
        f.extend([0x60 | traffic_class >> 4, traffic_class << 4 | 5, 6, 7]);
        f.extend((bytes as u16).to_be_bytes());
        f.extend([protocol, 64]);
        f.extend((0..32).map(|_| r.next() as u8));
        f[at + 8] = 0xfd;
        f[at + 24] = 0xfd;
        at + 8..at + 40
    } else {
        f.extend([8, 0]);
        let at = f.len();
        f.extend([0x45, traffic_class]);
        f.extend((20 + bytes as u16).to_be_bytes());
        f.extend((r.next() as u16).to_be_bytes());
        f.extend([
            if r.below(2) == 0 { 0x40 } else { 0 },
            0,
            64,
            protocol,
            0,
            0,
        ]);
        f.extend([10, 0, 0, r.next() as u8, 10, 1, r.next() as u8, 2]);
        let checksum = !sum(&f[at..]);
        f[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
        at + 12..at + 20
    };
    let at = f.len();
    let mut pseudo = f[addresses].to_vec();
    pseudo.extend([0, protocol]);
    pseudo.extend((bytes as u16).to_be_bytes());
    let pseudo = sum(&pseudo).to_be_bytes();
    f.extend(mark.to_be_bytes());
    f.extend([0x1f, 0x90]);
    let mut ecn = false;
    if udp {
        f.extend((bytes as u16).to_be_bytes());
        f.extend(pseudo);
    } else {
        // No SYN, RST or URG, which no stack sends in a super-frame.
        let flags = 0x10 | (r.next() as u8 & 0xc9);
        ecn = flags & 0x80 != 0;
        f.extend((r.next() as u32).to_be_bytes());
        f.extend((r.next() as u32).to_be_bytes());
        f.extend([((5 + options) << 4) as u8, flags]);
        f.extend((r.next() as u16).to_be_bytes());
        f.extend(pseudo);
        f.extend([0, 0]);
        f.extend(std::iter::repeat_n(1, 4 * options));
    }
    f.extend((0..payload_bytes).map(|_| r.next() as u8));
    let vnet = VnetHeader {
        needs_checksum: true,
        gso: match (udp, v6) {
            (true, _) => Gso::Udp,
            (_, true) => Gso::TcpV6,
            _ => Gso::TcpV4,
        },
        ecn,
        header_bytes: (at + transport) as u16,
        segment_bytes: segment_bytes as u16,
        checksum_start: at as u16,
        checksum_offset: if udp { 6 } else { 16 },
    };
    (f, vnet)
}
