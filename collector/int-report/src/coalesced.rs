// SPDX-License-Identifier: Apache-2.0
//! Splits datagrams that an offload has merged: a packet capture at a Linux host shows datagrams
//! that a sender hands over at once (UDP GSO), or that a receiver merges (UDP GRO), as one long
//! datagram. A socket gives the length of the parts; a packet capture does not.

use crate::header::{GROUP_HEADER_BYTES, LENGTH_TO_END};
use crate::v2::is_without_lengths;

/// First word of an individual report of version 2.
const REPORT_WORD_BYTES: usize = 4;

/// Splits the payload of one captured packet into its datagrams, of which all but the last have the
/// same length. Gives one datagram unless the payload shows that there are more.
pub fn datagrams(payload: &[u8]) -> impl Iterator<Item = &[u8]> {
    // An empty payload is also a datagram.
    let (first, rest) = payload
        .split_at_checked(first_bytes(payload))
        .unwrap_or((payload, &[]));
    std::iter::once(first).chain(rest.chunks(first.len().max(1)))
}

/// Length of the first datagram: following the lengths of its reports leads to the header of
/// another datagram of this node. (It begins with version 2 in four bits; no report has that type.)
#[inline]
fn first_bytes(payload: &[u8]) -> usize {
    let Some(&[version, _, _, _, node @ ..]) = payload.first_chunk::<GROUP_HEADER_BYTES>() else {
        return payload.len();
    };
    if version >> 4 != 2 {
        return payload.len();
    }
    let mut at = GROUP_HEADER_BYTES;
    while let Some(&[first, words, _, _, next_node @ ..]) = payload
        .get(at..)
        .and_then(|rest| rest.first_chunk::<GROUP_HEADER_BYTES>())
    {
        if at > GROUP_HEADER_BYTES && first >> 4 == 2 && next_node == node {
            return at;
        }
        if words == LENGTH_TO_END || is_without_lengths([first, words, 0, 0]) {
            break;
        }
        at += REPORT_WORD_BYTES + 4 * usize::from(words);
    }
    payload.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Report;
    use crate::encode::encode;
    use proptest::prelude::*;

    fn datagram(sequence: u32, reports: usize) -> Vec<u8> {
        stream(3, sequence, reports)
    }

    fn stream(hw_id: u8, sequence: u32, reports: usize) -> Vec<u8> {
        let report = Report {
            version: 2,
            node_id: 10,
            hw_id,
            sequence: sequence & 0x3f_ffff,
            sequence_bits: 22,
            ..Report::default()
        };
        encode(&vec![report; reports]).unwrap()
    }

    fn parts(payload: &[u8]) -> Vec<&[u8]> {
        datagrams(payload).collect()
    }

    proptest! {
        /// Several reports in each datagram, numbers that wrap, a shorter last datagram.
        #[test]
        fn what_was_put_together_comes_apart(
            first in 0x3f_fff0u32..0x40_0010,
            count in 1usize..20,
            reports in 1usize..5,
            last in 1usize..5,
            tagged: bool,
        ) {
            let mut all: Vec<Vec<u8>> =
                (0..count as u32).map(|n| datagram(first + n, reports)).collect();
            // Another part of the switch, which has its own numbers.
            all.push(stream(4, 99, last.min(reports)));
            if tagged {
                for datagram in &mut all {
                    crate::tag::append(datagram, None, |_| [0x25; crate::tag::CODE_BYTES]).unwrap();
                }
            }
            let together = all.concat();
            prop_assert_eq!(parts(&together), all);
        }

        #[test]
        fn nothing_is_lost_of_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let together = parts(&bytes).concat();
            prop_assert_eq!(together, bytes);
        }
    }

    #[test]
    fn one_stays_one() {
        for reports in 1..4 {
            let one = datagram(7, reports);
            assert_eq!(parts(&one), [&one[..]]);
        }
        assert_eq!(parts(&[]), [&[0u8; 0][..]]);
        // A datagram of another node: not merged by an offload.
        let mut other = datagram(8, 1);
        other[7] = 11;
        assert_eq!(parts(&[datagram(7, 1), other].concat()).len(), 1);
    }
}
