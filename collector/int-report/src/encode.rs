// SPDX-License-Identifier: Apache-2.0
//! Encoder of telemetry reports, for tests, tools and software exporters. [`crate::decode`] returns
//! unchanged all that [`encode`] accepts.

use thiserror::Error;

use crate::DS_TIDEMARK;
use crate::domain;
use crate::layout::{flag, metadata};
use crate::report::{Inner, InnerKind, Report};

/// Why a set of reports cannot be put into one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum EncodeError {
    #[error("no report to encode")]
    Empty,
    #[error("reports are encoded in version 2.0 (2), not in {version}")]
    Version { version: u8 },
    #[error("report {index} differs from the first in version, node, hw_id or sequence")]
    MixedStreams { index: usize },
    #[error("report {index}: {field} cannot be expressed in its version")]
    Unsupported { index: usize, field: &'static str },
    #[error("report {index} is too long to be followed by another")]
    TooLong { index: usize },
}

/// Encodes the reports of one datagram, in version 2.0.
///
/// The inner packet is padded with zeros to four bytes unless it is the last.
///
/// # Errors
/// If the version has no place for a value of the reports.
pub fn encode(reports: &[Report<'_>]) -> Result<Vec<u8>, EncodeError> {
    let first = reports.first().ok_or(EncodeError::Empty)?;
    if first.version != 2 {
        return Err(EncodeError::Version {
            version: first.version,
        });
    }
    if first.hw_id > 0x3f {
        return Err(unsupported(0, "hw_id"));
    }
    if first.sequence > 0x3f_ffff {
        return Err(unsupported(0, "sequence"));
    }
    let mut out = Vec::with_capacity(8 + 160 * reports.len());
    let word = 2 << 28 | u32::from(first.hw_id) << 22 | first.sequence;
    out.extend(word.to_be_bytes());
    out.extend(first.node_id.to_be_bytes());
    for (index, report) in reports.iter().enumerate() {
        let id = |r: &Report<'_>| (r.version, r.node_id, r.hw_id, r.sequence);
        if id(report) != id(first) {
            return Err(EncodeError::MixedStreams { index });
        }
        v2_individual(&mut out, report, index, index + 1 == reports.len())?;
    }
    Ok(out)
}

pub(crate) fn unsupported(index: usize, field: &'static str) -> EncodeError {
    EncodeError::Unsupported { index, field }
}

fn v2_individual(
    out: &mut Vec<u8>,
    report: &Report<'_>,
    index: usize,
    last: bool,
) -> Result<(), EncodeError> {
    if report.summary_drops.is_some() {
        return Err(unsupported(index, "summary_drops"));
    }
    let in_type = match report.inner.kind {
        InnerKind::None => 0u8,
        InnerKind::Opaque => 2,
        InnerKind::Ethernet => 3,
        InnerKind::Ipv4 => 4,
        InnerKind::Ipv6 => 5,
    };
    let start = out.len();
    out.extend([0x10 | in_type, 0, 0, v2_flags(report)]);
    out.extend([0; 8]);
    let bits = v2_baseline(out, report, index)?;
    let domain_bits = domain::write(out, report);
    let metadata_words = (out.len() - start - 12) / 4;
    if let Some(fixed) = out.get_mut(start + 4..start + 10) {
        let domain_id = if domain_bits == 0 { 0 } else { DS_TIDEMARK };
        fixed[0..2].copy_from_slice(&bits.to_be_bytes());
        fixed[2..4].copy_from_slice(&domain_id.to_be_bytes());
        fixed[4..6].copy_from_slice(&domain_bits.to_be_bytes());
    }
    out.extend(report.inner.packet);
    let bytes = out.len() - start - 4;
    // Rounded down, as switch-p4-16 does: the decoder gives the remaining bytes to the last report.
    // The packets of other reports are padded.
    let mut words = bytes / 4;
    if !last {
        words = bytes.div_ceil(4);
        out.resize(start + 4 + 4 * words, 0);
        if words >= 0xff {
            return Err(EncodeError::TooLong { index });
        }
    }
    if let Some(lengths) = out.get_mut(start + 1..start + 3) {
        lengths[0] = u8::try_from(words).unwrap_or(0xff);
        lengths[1] = u8::try_from(metadata_words).unwrap_or(u8::MAX);
    }
    Ok(())
}

fn v2_flags(report: &Report<'_>) -> u8 {
    [
        (report.dropped, flag::DROPPED),
        (report.congested, flag::CONGESTED),
        (report.tracked, flag::TRACKED),
    ]
    .into_iter()
    .filter_map(|(set, flag)| set.then_some(flag))
    .sum()
}

fn v2_baseline(out: &mut Vec<u8>, report: &Report<'_>, index: usize) -> Result<u16, EncodeError> {
    let mut bits = 0;
    let ports = (report.ingress_port, report.egress_port);
    let wide = |port: Option<u32>| port.is_some_and(|id| id >= 0xffff);
    let level2 = wide(ports.0) || wide(ports.1);
    if ports != (None, None) && !level2 {
        bits |= metadata::PORTS;
        out.extend(port_word(report).to_be_bytes());
    }
    if let Some(latency) = report.hop_latency {
        if latency == u32::MAX {
            return Err(unsupported(index, "hop_latency of all ones"));
        }
        bits |= metadata::HOP_LATENCY;
        out.extend(latency.to_be_bytes());
    }
    if let Some(depth) = report.queue_occupancy {
        if depth > 0x00ff_ffff {
            return Err(unsupported(index, "queue_occupancy above 24 bits"));
        }
        let queue = report
            .queue_id
            .ok_or(unsupported(index, "occupancy without queue_id"))?;
        let word = u32::from(queue) << 24 | depth;
        if word == u32::MAX {
            return Err(unsupported(index, "queue word of all ones"));
        }
        bits |= metadata::QUEUE;
        out.extend(word.to_be_bytes());
    }
    for (bit, timestamp) in [
        (metadata::INGRESS_TIME, report.ingress_ts),
        (metadata::EGRESS_TIME, report.egress_ts),
    ] {
        if let Some(timestamp) = timestamp {
            if timestamp == u64::MAX {
                return Err(unsupported(index, "timestamp of all ones"));
            }
            bits |= bit;
            out.extend(timestamp.to_be_bytes());
        }
    }
    if level2 {
        bits |= metadata::PORTS2;
        for port in [ports.0, ports.1] {
            if port == Some(u32::MAX) {
                return Err(unsupported(index, "port id of all ones"));
            }
            out.extend(port.unwrap_or(u32::MAX).to_be_bytes());
        }
    }
    if let Some(reason) = report.drop_reason {
        if !report.dropped {
            return Err(unsupported(index, "drop_reason without dropped"));
        }
        let queue = report
            .queue_id
            .ok_or(unsupported(index, "drop_reason without queue_id"))?;
        bits |= metadata::DROP;
        out.extend([queue, reason, 0, 0]);
    } else if report.queue_id.is_some() && report.queue_occupancy.is_none() {
        return Err(unsupported(index, "queue_id alone"));
    }
    Ok(bits)
}

pub(crate) fn port_word(report: &Report<'_>) -> u32 {
    let id = |port: Option<u32>| port.unwrap_or(0xffff) & 0xffff;
    id(report.ingress_port) << 16 | id(report.egress_port)
}

/// Returns a Tidemark postcard (RepMdBits 0x5C00, or 0x5801 for a drop): the starting point of
/// tests and generators.
#[must_use]
pub fn postcard<'a>(
    node_id: u32,
    sequence: u32,
    ports: (u32, u32),
    packet: &'a [u8],
) -> Report<'a> {
    Report {
        version: 2,
        node_id,
        sequence: sequence & 0x3f_ffff,
        sequence_bits: 22,
        tracked: true,
        ingress_port: Some(ports.0),
        egress_port: Some(ports.1),
        queue_id: Some(0),
        queue_occupancy: Some(0),
        ingress_ts: Some(0),
        egress_ts: Some(0),
        inner: Inner::new(packet, InnerKind::Ipv4),
        first_in_datagram: true,
        ..domain::of_a_postcard()
    }
}
