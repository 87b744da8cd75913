// SPDX-License-Identifier: Apache-2.0
//! INT headers in tunnels: after the headers of VXLAN-GPE and GRE, each preceded by a shim of
//! one word, and among the options of Geneve.
//!
//! ```text
//! VXLAN-GPE 1.0: type (8), reserved (8), words with this one (8), next protocol (8)
//!           2.x: type (4), reserved (4), words (8), flag (1), reserved (7), next protocol (8)
//! GRE       2.1: type (4), flag (1), reserved (3), words (8), EtherType (16)
//! Geneve         class (16), type (8), reserved (3), words (5)
//! ```

use crate::headers::{
    GENEVE_PORT, GPE_PORT, GRE, UDP, UDP_HEADER_BYTES, VXLAN_PORT, geneve_end, gpe_next, gre_header,
};
use crate::{be16, be32};

/// Type of INT-MD (hop-by-hop); the next types are for the destination and INT-MX.
const TYPE_MD: u8 = 1;
const TYPES: std::ops::RangeInclusive<u8> = TYPE_MD..=3;
/// Most INT headers of one packet.
const MAX_HEADERS: usize = 4;
/// Option classes of Geneve: the assigned class, and the class of older programs.
const CLASSES: [u16; 2] = [0x0103, 0x00ab];

/// An INT header with its metadata stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int {
    kind: u8,
    /// Offset of the header.
    pub at: usize,
    /// Number of 4-byte words up to the end of the stack.
    pub words: usize,
    /// Protocol after the stack.
    next: u16,
}

impl Int {
    pub(crate) fn end(&self) -> usize {
        self.at + 4 * self.words
    }
}

/// Returns whether this VXLAN-GPE protocol is INT: 0x82 in 2.x, 5 in older programs.
fn is_int(next: u16) -> bool {
    matches!(next, 5 | 0x82)
}

fn of_gpe(bytes: &[u8], at: usize) -> Option<Int> {
    let (kind, words, next) = match be32(bytes, at)?.to_be_bytes() {
        [kind, 0, length, next] if TYPES.contains(&kind) => (kind, length.checked_sub(1)?, next),
        [first, length, _, next] if first & 15 == 0 => (first >> 4, length, next),
        _ => return None,
    };
    int(kind, at, words, next.into())
}

/// Reads the shim after a GRE header. INT has no EtherType, so any unknown EtherType may be INT.
fn of_gre(bytes: &[u8], at: usize) -> Option<Int> {
    let [first, words, ..] = be32(bytes, at)?.to_be_bytes();
    let next = be16(bytes, at + 2)?;
    (first & 7 == 0).then(|| int(first >> 4, at, words, next))?
}

fn int(kind: u8, at: usize, words: u8, next: u16) -> Option<Int> {
    let header = Int {
        kind,
        at: at + 4,
        words: words.into(),
        next,
    };
    TYPES.contains(&kind).then_some(header)
}

/// Skips all INT headers after a VXLAN-GPE header with this next protocol; returns the offset
/// and protocol after them.
pub(crate) fn behind_gpe(bytes: &[u8], mut at: usize, next: u8) -> Option<(usize, u16)> {
    let mut next = u16::from(next);
    for _ in 0..MAX_HEADERS {
        if !is_int(next) {
            break;
        }
        let int = of_gpe(bytes, at)?;
        (at, next) = (int.end(), int.next);
    }
    Some((at, next))
}

/// Returns the offset and EtherType after the INT header in GRE, if there is one.
pub(crate) fn behind_gre(bytes: &[u8], at: usize) -> Option<(usize, u16)> {
    of_gre(bytes, at).map(|int| (int.end(), int.next))
}

/// Finds the INT-MD header in a tunnel header that starts with a transport header of `protocol`
/// at `at`.
#[must_use]
pub fn int_md(bytes: &[u8], protocol: u8, at: usize) -> Option<Int> {
    let is_md = |int: &Int| int.kind == TYPE_MD;
    match protocol {
        GRE => {
            let (_, behind) = gre_header(bytes, at)?;
            of_gre(bytes, behind).filter(is_md)
        }
        UDP => {
            let behind = at + UDP_HEADER_BYTES;
            match be16(bytes, at + 2)? {
                GPE_PORT | VXLAN_PORT => {
                    let mut next = u16::from(gpe_next(bytes, behind)?);
                    let mut at = behind + 8;
                    for _ in 0..MAX_HEADERS {
                        let int = is_int(next).then(|| of_gpe(bytes, at))??;
                        if is_md(&int) {
                            return Some(int);
                        }
                        (at, next) = (int.end(), int.next);
                    }
                    None
                }
                GENEVE_PORT => in_options(bytes, behind).filter(is_md),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Finds the INT-MD header in the options of a Geneve header.
fn in_options(bytes: &[u8], at: usize) -> Option<Int> {
    let end = geneve_end(bytes, at)?;
    let mut at = at + 8;
    while at < end {
        let [high, low, kind, length] = be32(bytes, at)?.to_be_bytes();
        // The first bit of a type marks a critical option.
        let int = int(kind & 0x7f, at, length & 31, 0);
        let is_int = CLASSES.contains(&u16::from_be_bytes([high, low]));
        at += 4 + 4 * usize::from(length & 31);
        if is_int && int.is_some_and(|int| int.kind == TYPE_MD) && at <= end {
            return int;
        }
    }
    None
}
