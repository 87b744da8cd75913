// SPDX-License-Identifier: Apache-2.0
//! An encoder of versions 1.0 and 0.5 to test the decoders against: one report per datagram, 32-bit
//! times.

use crate::domain;
use crate::encode::{EncodeError, port_word, unsupported};
use crate::report::{InnerKind, Report};

/// Refuses values that v1.0 and v0.5 have no place for.
fn check_old(report: &Report<'_>) -> Result<u32, EncodeError> {
    let wide = |port: Option<u32>| port.is_some_and(|id| id >= 0xffff);
    let checks = [
        (report.hw_id > 0x3f, "hw_id"),
        (
            wide(report.ingress_port) || wide(report.egress_port),
            "port id above 16 bits",
        ),
        (report.summary_drops.is_some(), "summary_drops"),
        (has_domain(report), "Tidemark's own metadata"),
        (
            report
                .queue_occupancy
                .is_some_and(|depth| depth > 0x00ff_ffff),
            "occupancy",
        ),
        (
            report.queue_occupancy.is_some() && report.queue_id.is_none(),
            "occupancy alone",
        ),
        (
            report.drop_reason.is_some() && report.queue_id.is_none(),
            "drop_reason alone",
        ),
        (
            report.drop_reason.is_some() && !report.dropped,
            "drop_reason without dropped",
        ),
        (
            (report.queue_id, report.queue_occupancy) == (Some(0xff), Some(0x00ff_ffff)),
            "queue word of all ones",
        ),
    ];
    if let Some((_, field)) = checks.iter().find(|(bad, _)| *bad) {
        return Err(unsupported(0, field));
    }
    time32(report.ingress_ts)?.ok_or(unsupported(0, "missing ingress_ts"))
}

fn time32(timestamp: Option<u64>) -> Result<Option<u32>, EncodeError> {
    timestamp
        .map(|t| u32::try_from(t).map_err(|_| unsupported(0, "timestamp above 32 bits")))
        .transpose()
}

/// Encodes one report in version 1.0.
pub(super) fn v1(report: &Report<'_>) -> Result<Vec<u8>, EncodeError> {
    let ingress_ts = check_old(report)?;
    let next_protocol = match report.inner.kind {
        InnerKind::Ethernet => 0u32,
        InnerKind::Ipv4 => 1,
        InnerKind::Ipv6 => 2,
        InnerKind::None | InnerKind::Opaque => return Err(unsupported(0, "inner kind")),
    };
    let mut bits = 0u32;
    let mut optional = Vec::new();
    if (report.ingress_port, report.egress_port) != (None, None) {
        bits |= 0x20;
        optional.extend(port_word(report).to_be_bytes());
    }
    if let (Some(queue), Some(depth)) = (report.queue_id, report.queue_occupancy) {
        bits |= 0x08;
        optional.extend((u32::from(queue) << 24 | depth).to_be_bytes());
    }
    if let Some(timestamp) = time32(report.egress_ts)? {
        bits |= 0x04;
        optional.extend(timestamp.to_be_bytes());
    }
    if let (Some(queue), Some(reason)) = (report.queue_id, report.drop_reason) {
        bits |= 0x02;
        optional.extend([queue, reason, 0, 0]);
    } else if report.queue_id.is_some() && report.queue_occupancy.is_none() {
        return Err(unsupported(0, "queue_id alone"));
    }
    let words = 4 + optional.len() as u32 / 4;
    let word = 1 << 28
        | words << 24
        | next_protocol << 21
        | bits << 15
        | u32::from(report.dropped) << 8
        | u32::from(report.congested) << 7
        | u32::from(report.tracked) << 6
        | u32::from(report.hw_id);
    let mut out = Vec::with_capacity(40 + report.inner.packet.len());
    for word in [word, report.node_id, report.sequence, ingress_ts] {
        out.extend(word.to_be_bytes());
    }
    out.extend(optional);
    out.extend(report.inner.packet);
    Ok(out)
}

/// Encodes one report in version 0.5.
pub(super) fn v0_5(report: &Report<'_>) -> Result<Vec<u8>, EncodeError> {
    let ingress_ts = check_old(report)?;
    if report.inner.kind != InnerKind::Ethernet {
        return Err(unsupported(0, "inner kind"));
    }
    let next_protocol = if report.drop_reason.is_some() {
        1u32
    } else {
        2
    };
    let word = next_protocol << 24
        | u32::from(report.dropped) << 23
        | u32::from(report.congested) << 22
        | u32::from(report.tracked) << 21
        | u32::from(report.hw_id);
    let mut out = Vec::with_capacity(28 + report.inner.packet.len());
    for word in [
        word,
        report.sequence,
        ingress_ts,
        report.node_id,
        port_word(report),
    ] {
        out.extend(word.to_be_bytes());
    }
    let egress_ts = time32(report.egress_ts)?;
    match (
        report.queue_id,
        report.drop_reason,
        report.queue_occupancy,
        egress_ts,
    ) {
        (Some(queue), Some(reason), None, None) => out.extend([queue, reason, 0, 0]),
        (Some(queue), None, Some(depth), Some(egress_ts)) => {
            out.extend((u32::from(queue) << 24 | depth).to_be_bytes());
            out.extend(egress_ts.to_be_bytes());
        }
        _ => return Err(unsupported(0, "this set of queue, drop and egress fields")),
    }
    out.extend(report.inner.packet);
    Ok(out)
}

/// Whether the report has Tidemark's metadata, for which versions before 2.0 have no place.
fn has_domain(report: &Report<'_>) -> bool {
    domain::write(&mut Vec::new(), report) != 0
}
