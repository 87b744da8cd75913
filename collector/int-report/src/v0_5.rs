// SPDX-License-Identifier: Apache-2.0
//! Telemetry Report v0.5, as fabric-tna, int-host-reporter and host-int send it.

use crate::bytes::{Words, available32, be32, port_pair, queue_word};
use crate::error::DecodeError;
use crate::inner::{OTHER_INNER, is_as_announced, is_ip};
use crate::report::{Inner, InnerKind, Report};

const FIXED_BYTES: usize = 12;
/// D, Q and F.
const FLAGS: u32 = 0x00e0_0000;
const DROPPED: u32 = 0x0080_0000;
/// Reserved bits after a drop reason.
const DROP_RESERVED: u32 = 0xffff;
/// Reserved bits between the flags and hw_id.
const RESERVED: u32 = 0x001f_ffc0;

pub(crate) fn decode<'a>(
    payload: &'a [u8],
    mut f: impl FnMut(&Report<'a>),
) -> Result<usize, DecodeError> {
    let mut words = Words(payload);
    let (Some(word), Some(sequence), Some(ingress_ts)) = (words.u32(), words.u32(), words.u32())
    else {
        return Err(DecodeError::ShortHeader {
            have_bytes: payload.len(),
            need_bytes: FIXED_BYTES,
        });
    };
    let mut report = Report {
        version: 0,
        hw_id: (word & 0x3f) as u8,
        sequence,
        sequence_bits: 32,
        dropped: word & 0x80_0000 != 0,
        congested: word & 0x40_0000 != 0,
        tracked: word & 0x20_0000 != 0,
        ingress_ts: available32(ingress_ts),
        first_in_datagram: true,
        ..Report::default()
    };
    let next_protocol = ((word >> 24) & 0xf) as u8;
    let (need_bytes, kind) = match next_protocol {
        0 => (FIXED_BYTES, InnerKind::Ethernet),
        1 => (FIXED_BYTES + 12, InnerKind::Ethernet),
        2 => (FIXED_BYTES + 16, InnerKind::Ethernet),
        // Extension of host-int: how many packets of a flow were lost between two hosts, then
        // synthetic headers of that flow.
        3 => (FIXED_BYTES + 24, InnerKind::Ipv4),
        // Extension of host-int: the sink's node id, then IPv4.
        4 => (FIXED_BYTES + 4, InnerKind::Ipv4),
        code => return Err(DecodeError::UnknownNextProtocol { version: 0, code }),
    };
    let of_drop = be32(payload, FIXED_BYTES + 8).filter(|_| next_protocol == 1);
    read_body(&mut report, &mut words, next_protocol).ok_or(DecodeError::ShortHeader {
        have_bytes: payload.len(),
        need_bytes,
    })?;
    report.inner = Inner::new(words.0, kind);
    // Any protocol may begin with four bits of 0, so nothing else may contradict a report.
    if word & RESERVED != 0 || of_drop.is_some_and(|word| word & DROP_RESERVED != 0) {
        return Err(DecodeError::NotAReport {
            what: "bits reserved in version 0.5 are set",
        });
    }
    let needed = if next_protocol == 1 { DROPPED } else { FLAGS };
    if !is_as_announced(&report.inner) || word & needed == 0 && !is_ip(&report.inner) {
        return Err(OTHER_INNER);
    }
    f(&report);
    Ok(1)
}

fn read_body(report: &mut Report<'_>, words: &mut Words<'_>, next_protocol: u8) -> Option<()> {
    if next_protocol == 0 {
        return Some(());
    }
    if next_protocol == 3 {
        return drop_summary(report, words);
    }
    report.node_id = words.u32()?;
    if next_protocol == 4 {
        return Some(());
    }
    (report.ingress_port, report.egress_port) = port_pair(words.u32()?);
    let queue = words.u32()?;
    if next_protocol == 1 {
        report.queue_id = Some((queue >> 24) as u8);
        report.drop_reason = Some((queue >> 16) as u8);
        report.dropped = true;
    } else {
        (report.queue_id, report.queue_occupancy) = queue_word(queue);
        report.egress_ts = available32(words.u32()?);
    }
    Some(())
}

/// Reads source node, sink node, their ports, time, sequence number and length of the gap in the
/// flow's numbering.
fn drop_summary(report: &mut Report<'_>, words: &mut Words<'_>) -> Option<()> {
    let _source_node = words.u32()?;
    report.node_id = words.u32()?;
    (report.ingress_port, report.egress_port) = port_pair(words.u32()?);
    report.ingress_ts = available32(words.u32()?);
    let _first_missing = words.u32()?;
    report.summary_drops = Some(words.u32()?);
    report.dropped = true;
    Some(())
}
