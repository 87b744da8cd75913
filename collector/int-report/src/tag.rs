// SPDX-License-Identifier: Apache-2.0
//! The tag of a datagram, which proves who sent it.
//!
//! An exporter that shares a key with the collector ends its datagrams (v2.0) with one more
//! individual report, without a packet, whose only metadata is a code over everything before that
//! code: group header, reports, and the header of the tag itself. A decoder that does not know tags
//! sees a report without a packet. An exporter that knows its run states before the code which
//! datagram of which run this is. The code itself and the keys are not defined here.

use crate::DS_TIDEMARK;
use crate::header::{GROUP_HEADER_BYTES, LENGTH_TO_END};
use crate::layout::domain;
use thiserror::Error;

/// Bytes of the code.
pub const CODE_BYTES: usize = 16;
/// Bytes by which a tag lengthens its datagram.
pub const TAG_BYTES: usize = HEADER.len() + CODE_BYTES;
/// Bytes of a tag with a run.
pub const RUN_TAG_BYTES: usize = TAG_BYTES + RUN_BYTES;

const CODE_WORDS: u8 = (CODE_BYTES / 4) as u8;
const RUN_BYTES: usize = 16;
const RUN_WORDS: u8 = (RUN_BYTES / 4) as u8;
/// Words of the main contents.
const MAIN_WORDS: u8 = 2;

/// The individual report around the code.
const HEADER: [u8; 12] = header(CODE_WORDS, domain::TAG);
/// The individual report around run and code.
const RUN_HEADER: [u8; 12] = header(RUN_WORDS + CODE_WORDS, domain::RUN | domain::RUN_TAG);

const fn header(words: u8, bits: u16) -> [u8; 12] {
    [
        // RepType 1, no inner packet.
        0x10,
        MAIN_WORDS + words,
        words,
        0,
        0,
        0,
        (DS_TIDEMARK >> 8) as u8,
        DS_TIDEMARK as u8,
        (bits >> 8) as u8,
        bits as u8,
        0,
        0,
    ]
}

/// A datagram of a run of its exporter; later datagrams compare greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// When the exporter started, Unix time in ns.
    pub boot: u64,
    /// Number of the datagram among all that were tagged since.
    pub datagram: u64,
}

impl Run {
    fn read(bytes: &[u8; RUN_BYTES]) -> Self {
        let whole = u128::from_be_bytes(*bytes);
        Self {
            boot: (whole >> 64) as u64,
            datagram: whole as u64,
        }
    }

    fn bytes(self) -> [u8; RUN_BYTES] {
        (u128::from(self.boot) << 64 | u128::from(self.datagram)).to_be_bytes()
    }
}

/// A datagram with a tag, split into its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged<'a> {
    /// The datagram without its tag.
    pub body: &'a [u8],
    /// Bytes that the code authenticates.
    pub signed: &'a [u8],
    /// The code.
    pub code: &'a [u8; CODE_BYTES],
    /// The run, if the exporter states it.
    pub run: Option<Run>,
}

/// Why a datagram cannot have a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "not a datagram of report version 2 whose last report ends with the datagram: no tag can follow"
)]
pub struct Untaggable;

/// Splits a datagram that ends with a tag into its parts; returns `None` if it does not.
///
/// Bytes within a report that look like a tag are not one: the lengths of the reports must lead to
/// the tag.
#[must_use]
#[inline]
pub fn split(payload: &[u8]) -> Option<Tagged<'_>> {
    let (signed, code) = payload.split_last_chunk::<CODE_BYTES>()?;
    let of_run = |signed: &'_ [u8]| {
        let (before, run) = signed.split_last_chunk::<RUN_BYTES>()?;
        let body = before.strip_suffix(&RUN_HEADER)?.len();
        Some((body, Some(Run::read(run))))
    };
    let plain = || Some((signed.strip_suffix(&HEADER)?.len(), None));
    let (length, run) = plain().or_else(|| of_run(signed))?;
    let body = signed.get(..length).filter(|body| is_whole(body))?;
    Some(Tagged {
        body,
        signed,
        code,
        run,
    })
}

/// Whether these bytes, which follow a report of version 2, are a tag and nothing else: like
/// [`split`], for callers that walk the reports anyway.
#[inline(always)]
pub(crate) fn is_tag(rest: &[u8]) -> bool {
    match rest.len() {
        TAG_BYTES => rest.starts_with(&HEADER),
        RUN_TAG_BYTES => rest.starts_with(&RUN_HEADER),
        _ => false,
    }
}

/// Appends a tag to a datagram, with its run if that is known; `code` computes the code over the
/// bytes it is given.
///
/// # Errors
/// If nothing can follow the reports; the datagram is then unchanged.
pub fn append(
    payload: &mut Vec<u8>,
    run: Option<Run>,
    code: impl FnOnce(&[u8]) -> [u8; CODE_BYTES],
) -> Result<(), Untaggable> {
    if !is_whole(payload) {
        return Err(Untaggable);
    }
    match run {
        None => payload.extend(HEADER),
        Some(run) => {
            payload.extend(RUN_HEADER);
            payload.extend(run.bytes());
        }
    }
    let code = code(payload);
    payload.extend(code);
    Ok(())
}

/// Whether these bytes are a version 2 datagram with at least one report, the last of which ends
/// exactly at the end of the bytes.
fn is_whole(body: &[u8]) -> bool {
    let Some((group, mut rest)) = body.split_first_chunk::<GROUP_HEADER_BYTES>() else {
        return false;
    };
    if group[0] >> 4 != 2 || rest.is_empty() {
        return false;
    }
    while let Some((first, after)) = rest.split_first_chunk::<4>() {
        let length = first[1];
        if length == LENGTH_TO_END {
            return false;
        }
        let Some(next) = after.get(4 * usize::from(length)..) else {
            return false;
        };
        rest = next;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{encode, postcard};
    use crate::{DecodeError, Report, decode};
    use proptest::prelude::*;

    const CODE: [u8; CODE_BYTES] = *b"0123456789abcdef";

    fn inner() -> [u8; 40] {
        let mut inner = [7; 40];
        inner[0] = 0x45;
        inner
    }

    fn tagged(mut payload: Vec<u8>) -> Vec<u8> {
        append(&mut payload, None, |_| CODE).unwrap();
        payload
    }

    #[test]
    fn the_decoder_gives_the_reports_and_not_the_tag() {
        let inner = inner();
        let report = postcard(10, 77, (2, 1), &inner);
        let plain = encode(&[report]).unwrap();
        let payload = tagged(plain.clone());
        assert_eq!(payload.len(), plain.len() + TAG_BYTES);
        assert_eq!(
            payload[plain.len()..][..12],
            [0x10, 6, 4, 0, 0, 0, 0x54, 0x4d, 0x20, 0, 0, 0]
        );
        let parts = split(&payload).unwrap();
        assert_eq!((parts.body, parts.code), (&plain[..], &CODE));
        assert_eq!(parts.signed, &payload[..payload.len() - CODE_BYTES]);
        let mut seen = Vec::new();
        assert_eq!(decode(&payload, |r| seen.push(*r)), Ok(1));
        assert_eq!(seen, [report]);
    }

    #[test]
    fn what_only_looks_like_a_tag_is_none() {
        // Within the packet of a report.
        let mut inner = inner().to_vec();
        inner.extend(HEADER);
        inner.extend(CODE);
        let payload = encode(&[postcard(1, 1, (2, 1), &inner)]).unwrap();
        assert_eq!(split(&payload), None);
        let mut seen = 0;
        decode(&payload, |r| seen += r.inner.packet.len()).unwrap();
        assert_eq!(seen, inner.len());
        // After no report, and in other versions.
        let alone = [&[0x20, 0, 0, 1, 0, 0, 0, 10][..], &HEADER, &CODE].concat();
        assert_eq!(split(&alone), None);
        let mut old = tagged(encode(&[postcard(1, 1, (2, 1), &inner)]).unwrap());
        old[0] = 0x10;
        assert_eq!(split(&old), None);
    }

    #[test]
    fn what_cannot_be_followed_gets_none() {
        let mut odd = encode(&[postcard(1, 1, (2, 1), &[0x45; 42])]).unwrap();
        let mut to_the_end = encode(&[postcard(1, 1, (2, 1), &inner())]).unwrap();
        to_the_end[9] = LENGTH_TO_END;
        for payload in [&mut odd, &mut to_the_end, &mut Vec::new()] {
            let before = payload.clone();
            assert_eq!(append(payload, None, |_| CODE), Err(Untaggable));
            assert_eq!(*payload, before);
        }
    }

    proptest! {
        #[test]
        fn any_datagram_comes_back_from_its_tag(
            count in 1usize..6,
            words in prop::collection::vec(0usize..60, 6),
            code in any::<[u8; CODE_BYTES]>(),
            run in any::<Option<(u64, u64)>>(),
        ) {
            let run = run.map(|(boot, datagram)| Run { boot, datagram });
            let inners: Vec<Vec<u8>> = words.iter().map(|w| vec![0x45; 4 * w]).collect();
            let reports: Vec<Report<'_>> = inners[..count]
                .iter()
                .enumerate()
                .map(|(i, inner)| Report {
                    first_in_datagram: i == 0,
                    ..postcard(3, 9, (2, 1), inner)
                })
                .collect();
            let plain = encode(&reports).unwrap();
            let mut payload = plain.clone();
            prop_assert_eq!(append(&mut payload, run, |signed| {
                let of_run = run.map_or(0, |_| RUN_BYTES);
                assert_eq!(signed.len(), plain.len() + HEADER.len() + of_run);
                code
            }), Ok(()));
            let parts = split(&payload).unwrap();
            prop_assert_eq!((parts.body, parts.code), (&plain[..], &code));
            prop_assert_eq!(parts.run, run);
            let mut seen = Vec::new();
            prop_assert_eq!(decode(&payload, |r| seen.push(*r)), Ok(count));
            prop_assert_eq!(seen, reports);
        }

        /// Any bytes: the parts split off are exactly as long as stated.
        #[test]
        fn no_bytes_break_it(
            mut payload in prop::collection::vec(any::<u8>(), 0..200),
            version in any::<bool>(),
            end in 0..3,
        ) {
            if let (true, Some(first)) = (version, payload.first_mut()) {
                *first = 0x20 | (*first & 0xf);
            }
            match end {
                0 => {}
                1 => payload.extend(HEADER),
                _ => {
                    payload.extend(RUN_HEADER);
                    payload.extend([3; RUN_BYTES]);
                }
            }
            if end > 0 {
                payload.extend(CODE);
            }
            match split(&payload) {
                None => {}
                Some(parts) => {
                    let of_run = parts.run.map_or(0, |_| RUN_BYTES);
                    prop_assert_eq!(parts.body.len() + TAG_BYTES + of_run, payload.len());
                    // The decoder reads the same with the tag and without it.
                    let read = |bytes: &[u8]| {
                        let mut n = Vec::new();
                        let result = decode(bytes, |r| n.push((r.node_id, r.inner.packet.len())));
                        (result, n)
                    };
                    let (with, without) = (read(&payload), read(parts.body));
                    prop_assert!(with.0 != Err(DecodeError::Empty));
                    prop_assert_eq!(with, without);
                }
            }
        }
    }
}
