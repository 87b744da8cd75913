// SPDX-License-Identifier: Apache-2.0
//! Telemetry Report v1.0: one report per datagram, 32-bit times.

use crate::bytes::{Words, available32, port_pair, queue_word};
use crate::error::DecodeError;
use crate::inner::{OTHER_INNER, is_as_announced, is_ip};
use crate::report::{Inner, InnerKind, Report};

const FIXED_BYTES: usize = 16;
/// Reserved bits between the metadata bits and D.
const RESERVED: u32 = 0x7e00;

pub(crate) fn decode<'a>(
    payload: &'a [u8],
    mut f: impl FnMut(&Report<'a>),
) -> Result<usize, DecodeError> {
    let short = |need_bytes| DecodeError::ShortHeader {
        have_bytes: payload.len(),
        need_bytes,
    };
    let fixed = payload
        .first_chunk::<FIXED_BYTES>()
        .ok_or_else(|| short(FIXED_BYTES))?;
    let mut words = Words(fixed);
    // The chunk is 16 bytes long: the four words are there.
    let (Some(word), Some(node_id), Some(sequence), Some(ingress_ts)) =
        (words.u32(), words.u32(), words.u32(), words.u32())
    else {
        return Err(short(FIXED_BYTES));
    };
    let header_words = ((word >> 24) & 0xf) as u8;
    if header_words < 4 {
        return Err(DecodeError::BadHeaderLength {
            words: header_words,
        });
    }
    let header_bytes = 4 * usize::from(header_words);
    let (header, packet) = payload
        .split_at_checked(header_bytes)
        .ok_or_else(|| short(header_bytes))?;
    let next_protocol = ((word >> 21) & 0x7) as u8;
    let kind = match next_protocol {
        0 => InnerKind::Ethernet,
        1 => InnerKind::Ipv4,
        2 => InnerKind::Ipv6,
        code => return Err(DecodeError::UnknownNextProtocol { version: 1, code }),
    };
    let mut report = Report {
        version: 1,
        node_id,
        hw_id: (word & 0x3f) as u8,
        sequence,
        sequence_bits: 32,
        dropped: word & 0x100 != 0,
        congested: word & 0x80 != 0,
        tracked: word & 0x40 != 0,
        ingress_ts: available32(ingress_ts),
        inner: Inner::new(packet, kind),
        first_in_datagram: true,
        ..Report::default()
    };
    let optional = header.get(FIXED_BYTES..).unwrap_or_default();
    let bits = (word >> 15) & 0x3f;
    read_optional(&mut report, optional, bits)
        .ok_or(DecodeError::MetadataTooShort { offset: 0 })?;
    if word & RESERVED != 0 {
        return Err(DecodeError::NotAReport {
            what: "bits reserved in version 1.0 are set",
        });
    }
    // A header of exactly the required length is evidence enough of a report.
    let speaks = optional.len() == 4 * bits.count_ones() as usize;
    if !is_as_announced(&report.inner) || !speaks && !is_ip(&report.inner) {
        return Err(OTHER_INNER);
    }
    f(&report);
    Ok(1)
}

/// Reads the optional words in the order of their bits; bits are numbered from the most significant
/// of the six.
fn read_optional(report: &mut Report<'_>, optional: &[u8], bits: u32) -> Option<()> {
    let mut words = Words(optional);
    if bits & 0x20 != 0 {
        (report.ingress_port, report.egress_port) = port_pair(words.u32()?);
    }
    if bits & 0x10 != 0 {
        report.hop_latency = Some(words.u32()?).filter(|&latency| latency != u32::MAX);
    }
    if bits & 0x08 != 0 {
        (report.queue_id, report.queue_occupancy) = queue_word(words.u32()?);
    }
    if bits & 0x04 != 0 {
        report.egress_ts = available32(words.u32()?);
    }
    if bits & 0x02 != 0 {
        let word = words.u32()?;
        report.queue_id = report.queue_id.or(Some((word >> 24) as u8));
        report.drop_reason = Some((word >> 16) as u8);
        report.dropped = true;
    }
    if bits & 0x01 != 0 {
        words.u32()?; // utilisation
    }
    Some(())
}
