// SPDX-License-Identifier: Apache-2.0
//! Telemetry Report v2.0: one group header, then individual reports whose lengths allow skipping
//! unknown contents.

use crate::DS_TIDEMARK;
use crate::bytes::{Words, be32, port_pair, queue_word};
use crate::domain;
use crate::error::DecodeError;
use crate::header::{GROUP_HEADER_BYTES, LENGTH_TO_END};
use crate::inner::{OTHER_INNER, is_as_announced, is_ip};
use crate::layout::{flag, metadata};
use crate::report::{Inner, InnerKind, Report};
use crate::tag;

/// Metadata that is skipped: four bytes each.
const SKIPPED: u16 = metadata::UTILISATION | metadata::BUFFER | metadata::RESERVED;
/// Reserved flags: the lower half.
const RESERVED_FLAGS: u8 = 0x0f;
/// Metadata that Tidemark's reports of forwarded packets do not have.
const COLD: u16 = metadata::PORTS2 | SKIPPED | metadata::DROP;

#[inline]
pub(crate) fn decode<'a>(
    payload: &'a [u8],
    mut f: impl FnMut(&Report<'a>),
) -> Result<usize, DecodeError> {
    let Some((group, body)) = payload.split_first_chunk::<GROUP_HEADER_BYTES>() else {
        return Err(DecodeError::ShortHeader {
            have_bytes: payload.len(),
            need_bytes: GROUP_HEADER_BYTES,
        });
    };
    let word = u32::from_be_bytes([group[0], group[1], group[2], group[3]]);
    let node_id = u32::from_be_bytes([group[4], group[5], group[6], group[7]]);
    let mut rest = body;
    let mut count = 0;
    while let Some((&first, after)) = rest.split_first_chunk::<4>() {
        let offset = payload.len() - rest.len();
        // Public programs write length 0 in a report that takes up the rest of the datagram.
        let length = if first[1] == LENGTH_TO_END || is_without_lengths(first) {
            after.len()
        } else {
            4 * usize::from(first[1])
        };
        let Some((mut contents, mut next)) = after.split_at_checked(length) else {
            return Err(DecodeError::ReportBeyondEnd {
                offset,
                end: offset + 4 + length,
            });
        };
        // switch-p4-16 rounds the length down: up to 3 bytes of the last inner
        // packet follow it.
        if next.len() < 4 {
            (contents, next) = (after, &[]);
        }
        // Handed on by reference: a copy would wait for every field that was just written.
        let mut report = Report {
            version: 2,
            node_id,
            hw_id: ((word >> 22) & 0x3f) as u8,
            sequence: word & 0x3f_ffff,
            sequence_bits: 22,
            first_in_datagram: count == 0,
            ..Report::default()
        };
        individual(&mut report, first, contents, offset)?;
        f(&report);
        count += 1;
        // The tag is not a report.
        if tag::is_tag(next) {
            break;
        }
        rest = next;
    }
    if count == 0 {
        return Err(DecodeError::NoReport);
    }
    Ok(count)
}

/// Whether a report with fixed contents states a length of 0.
#[inline(always)]
pub(crate) fn is_without_lengths(first: [u8; 4]) -> bool {
    first[0] >> 4 == 1 && first[1] == 0
}

/// Returns the number of words of the specification's metadata.
#[cold]
fn words_of(bits: u16) -> usize {
    const WIDE: u16 = metadata::INGRESS_TIME | metadata::EGRESS_TIME | metadata::PORTS2;
    (bits.count_ones() + (bits & WIDE).count_ones()) as usize
}

/// Reads one individual report; `contents` is everything after its first word.
#[inline(always)]
fn individual<'a>(
    report: &mut Report<'a>,
    first: [u8; 4],
    contents: &'a [u8],
    offset: usize,
) -> Result<(), DecodeError> {
    let [types, _, metadata_words, flags] = first;
    report.dropped = flags & flag::DROPPED != 0;
    report.congested = flags & flag::CONGESTED != 0;
    report.tracked = flags & flag::TRACKED != 0;
    let mut has_metadata = false;
    let mut is_sound = flags & RESERVED_FLAGS == 0;
    let inner = match types >> 4 {
        // "Inner only": no fixed contents, no metadata.
        0 if types & 0xf == 0 => {
            return Err(DecodeError::NotAReport {
                what: "an individual report without metadata or packet",
            });
        }
        0 => contents,
        1 => {
            let Some((fixed, behind)) = contents.split_first_chunk::<8>() else {
                return Err(DecodeError::ShortReport { offset });
            };
            let bits = u16::from_be_bytes([fixed[0], fixed[1]]);
            let metadata_bytes = match metadata_words {
                0 if is_without_lengths(first) => 4 * words_of(bits),
                words => 4 * usize::from(words),
            };
            let Some((items, inner)) = behind.split_at_checked(metadata_bytes) else {
                return Err(DecodeError::MetadataBeyondReport { offset });
            };
            let domain_id = u16::from_be_bytes([fixed[2], fixed[3]]);
            let domain_bits = u16::from_be_bytes([fixed[4], fixed[5]]);
            let left = read_metadata(report, items, bits, domain_id, domain_bits)
                .ok_or(DecodeError::MetadataTooShort { offset })?;
            // Other domains may have any number of words.
            is_sound &= left == 0 || domain_id != 0;
            has_metadata = bits != 0;
            inner
        }
        3.. => {
            return Err(DecodeError::NotAReport {
                what: "an individual report of a reserved type",
            });
        }
        // IOAM: its body is not defined.
        2 if is_sound => {
            report.inner = Inner::new(contents, InnerKind::Opaque);
            return Ok(());
        }
        2 => return Err(OTHER_INNER),
    };
    report.inner = match types & 0xf {
        0 => Inner::default(),
        1 => packet_in_tlvs(inner),
        code => Inner::new(
            inner,
            match code {
                3 => InnerKind::Ethernet,
                4 => InnerKind::Ipv4,
                5 => InnerKind::Ipv6,
                _ => InnerKind::Opaque,
            },
        ),
    };
    // Metadata that fits its lengths is evidence enough of a report.
    let speaks = is_sound && has_metadata;
    if !speaks && !(is_as_announced(&report.inner) && (is_sound || is_ip(&report.inner))) {
        return Err(OTHER_INNER);
    }
    Ok(())
}

/// Reads the baseline metadata in ascending bit order, then the domain-specific words. Returns the
/// number of bytes left over, or `None` if the metadata does not fit.
#[inline(always)]
fn read_metadata(
    report: &mut Report<'_>,
    items: &[u8],
    bits: u16,
    domain_id: u16,
    domain_bits: u16,
) -> Option<usize> {
    let mut words = Words(items);
    if bits & metadata::RESERVED_FIRST != 0 {
        words.u32()?;
    }
    if bits & metadata::PORTS != 0 {
        (report.ingress_port, report.egress_port) = port_pair(words.u32()?);
    }
    if bits & metadata::HOP_LATENCY != 0 {
        report.hop_latency = Some(words.u32()?).filter(|&latency| latency != u32::MAX);
    }
    if bits & metadata::QUEUE != 0 {
        (report.queue_id, report.queue_occupancy) = queue_word(words.u32()?);
    }
    if bits & metadata::INGRESS_TIME != 0 {
        report.ingress_ts = available(words.u64()?);
    }
    if bits & metadata::EGRESS_TIME != 0 {
        report.egress_ts = available(words.u64()?);
    }
    if bits & COLD != 0 {
        cold_metadata(report, &mut words, bits)?;
    }
    if domain_id == DS_TIDEMARK {
        domain::read(report, &mut words, domain_bits)?;
    }
    Some(words.0.len())
}

#[inline(always)]
pub(crate) fn available(timestamp: u64) -> Option<u64> {
    (timestamp != u64::MAX).then_some(timestamp)
}

#[inline]
fn cold_metadata(report: &mut Report<'_>, words: &mut Words<'_>, bits: u16) -> Option<()> {
    if bits & metadata::PORTS2 != 0 {
        let pair = words.u64()?;
        let id = |word: u32| (word != u32::MAX).then_some(word);
        report.ingress_port = report.ingress_port.or(id((pair >> 32) as u32));
        report.egress_port = report.egress_port.or(id(pair as u32));
    }
    // Utilisation, buffer and the six reserved bits: four bytes each.
    for _ in 0..(bits & SKIPPED).count_ones() {
        words.u32()?;
    }
    if bits & metadata::DROP != 0 {
        let word = words.u32()?;
        report.queue_id = report.queue_id.or(Some((word >> 24) as u8));
        report.drop_reason = Some((word >> 16) as u8);
        // switch-p4-16 may report a tail drop with Q set and D clear.
        report.dropped = true;
    }
    Some(())
}

/// Finds the original packet among type-length-value items.
#[cold]
fn packet_in_tlvs(contents: &[u8]) -> Inner<'_> {
    let mut rest = contents;
    while let Some(word) = be32(rest, 0) {
        let length = 4 * ((word >> 16) & 0xff) as usize;
        let body = rest.get(4..).unwrap_or_default();
        let value = body.get(..length).unwrap_or(body);
        // One less than the InType codes.
        let kind = match word >> 28 {
            1 => Some(InnerKind::Ethernet),
            2 => Some(InnerKind::Ipv4),
            3 => Some(InnerKind::Ipv6),
            _ => None,
        };
        if let Some(kind) = kind {
            return Inner::new(value, kind);
        }
        rest = body.get(length..).unwrap_or_default();
    }
    Inner::new(contents, InnerKind::Opaque)
}
