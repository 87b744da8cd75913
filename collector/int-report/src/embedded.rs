// SPDX-License-Identifier: Apache-2.0
//! INT-MD, versions 1.0, 2.0 and 2.1: metadata of several hops that the original packet carries
//! after its TCP or UDP header or in the header of a tunnel. A report of such a packet becomes one
//! record for each hop, the last hop first, as in the stack.
//!
//! ```text
//! shim     1.0: type (8) = 1, reserved (8), length (8), DSCP and reserved (8)
//!          2.x: type (4) = 1, next protocol (2), reserved (2), length (8),
//!               original UDP port, or IP protocol, or DSCP (16)
//! header   version (4), flags and reserved (15), words per hop (5), hops left (8);
//!          instructions (16), of 2.x the domain (16) and its own instructions (32)
//! hops     for each: its words, in the order of the instructions
//! ```
//!
//! Nothing in a packet shows for certain that it carries a stack: DSCP values and ports are the
//! operator's choice. Instead, shim, header and lengths must agree.

use crate::bytes::{Words, be16, be32, port_pair, queue_word};
use crate::inner::{TCP, UDP, network};
use crate::report::{Hop, Inner, Report, Stack};
use crate::v2::available;
use crate::{decode, fast_path};
use tidemark_layers::{Ip, int_md, tunnel};

/// Hop-by-hop, the type of INT-MD.
const TYPE_MD: u8 = 1;
/// Maximum number of nested tunnels that are followed.
const MAX_TUNNELS: usize = 4;
const SHIM_BYTES: usize = 4;
/// Length of a marker that some programs put before the shim.
const PROBE_MARKER_BYTES: usize = 8;

/// Instruction bits, each of which requests metadata.
mod instruction {
    pub(super) const NODE: u16 = 0x8000;
    pub(super) const PORTS: u16 = 0x4000;
    pub(super) const LATENCY: u16 = 0x2000;
    pub(super) const QUEUE: u16 = 0x1000;
    pub(super) const INGRESS_TIME: u16 = 0x0800;
    pub(super) const EGRESS_TIME: u16 = 0x0400;
    pub(super) const PORTS2: u16 = 0x0200;
    pub(super) const TIMES: u16 = INGRESS_TIME | EGRESS_TIME;
}
use instruction::{EGRESS_TIME, INGRESS_TIME, LATENCY, NODE, PORTS, PORTS2, QUEUE, TIMES};

/// A stack found in a packet.
#[derive(Clone, Copy, Debug)]
struct Found<'a> {
    instructions: u16,
    /// Whether timestamps have 64 bits.
    wide_times: bool,
    hop_bytes: usize,
    /// Number of hops according to the lengths; fewer may be present.
    hops: usize,
    /// Bytes from the first hop on.
    metadata: &'a [u8],
    /// Bytes of shim and headers, without any hop.
    head_bytes: usize,
    stack: Stack,
}

/// Calls `f` for every node of which a datagram holds a hop's record.
pub fn nodes_of_hops(payload: &[u8], mut f: impl FnMut(u32)) {
    if fast_path(payload).is_none() {
        // A malformed rest does not matter.
        let _ = decode(payload, |report| {
            if report.hop.is_some() {
                f(report.node_id);
            }
        });
    }
}

/// Hands on a report or, if its packet carries a stack, the records of the stack's hops.
#[inline(never)]
pub(crate) fn expand<'a>(report: &Report<'a>, f: &mut impl FnMut(&Report<'a>)) {
    let Some(found) = find(&report.inner) else {
        return f(report);
    };
    let report = Report {
        inner: Inner {
            stack: found.stack,
            ..report.inner
        },
        ..*report
    };
    let hops = || {
        found
            .metadata
            .chunks_exact(found.hop_bytes)
            .take(found.hops)
    };
    let named = found.instructions & NODE != 0;
    // If the hops have no node ids, only the last one is known: it is the node that reports.
    let records = if named {
        hops().count()
    } else {
        hops().count().min(1)
    };
    let left_out = u8::try_from(found.hops - records).unwrap_or(u8::MAX);
    let mut next = Hop {
        reporter_id: report.node_id,
        left_out,
        ..Hop::default()
    };
    let mut emit = |record: Report<'a>, carried_bytes: usize| {
        let carried_bytes = u16::try_from(carried_bytes).unwrap_or(u16::MAX);
        f(&Report {
            hop: Some(Hop {
                carried_bytes,
                ..next
            }),
            first_in_datagram: report.first_in_datagram && !next.further,
            ..record
        });
        next = Hop {
            further: true,
            left_out: 0,
            ..next
        };
    };
    let mut first = true;
    for (place, words) in hops().take(records).enumerate() {
        let mut hop = Report {
            version: report.version,
            node_id: report.node_id,
            hw_id: report.hw_id,
            sequence: report.sequence,
            sequence_bits: report.sequence_bits,
            congested: report.congested && place == 0,
            dropped: report.dropped && place == 0,
            drop_reason: report.drop_reason.filter(|_| place == 0),
            tracked: report.tracked,
            inner: report.inner,
            ..Report::default()
        };
        // As many words as the instructions request: `find` has compared them.
        if read_hop(&mut hop, words, &found).is_none() {
            continue;
        }
        if first && has_own_metadata(&report) {
            if hop.node_id == report.node_id {
                fill(&mut hop, &report);
            } else {
                emit(report, 0);
            }
        }
        first = false;
        // The last hop removes the stack; before it, each link carries the hops added so far.
        let carried = match place {
            0 => 0,
            _ => found.head_bytes + (found.hops - place) * found.hop_bytes,
        };
        emit(hop, carried);
    }
    if first {
        emit(report, 0);
    }
}

/// Whether a report has metadata beyond its fixed header.
fn has_own_metadata(report: &Report<'_>) -> bool {
    let header_has_time = report.version < 2;
    report.egress_port.is_some()
        || report.ingress_port.is_some()
        || report.queue_id.is_some()
        || report.queue_occupancy.is_some()
        || report.hop_latency.is_some()
        || report.egress_ts.is_some()
        || report.drop_reason.is_some()
        || !header_has_time && report.ingress_ts.is_some()
}

/// Fills in values that the stack lacks from the node's own report.
fn fill(hop: &mut Report<'_>, report: &Report<'_>) {
    hop.ingress_port = hop.ingress_port.or(report.ingress_port);
    hop.egress_port = hop.egress_port.or(report.egress_port);
    hop.queue_id = hop.queue_id.or(report.queue_id);
    hop.queue_occupancy = hop.queue_occupancy.or(report.queue_occupancy);
    hop.hop_latency = hop.hop_latency.or(report.hop_latency);
    hop.ingress_ts = hop.ingress_ts.or(report.ingress_ts);
    hop.egress_ts = hop.egress_ts.or(report.egress_ts);
}

fn read_hop(hop: &mut Report<'_>, words: &[u8], found: &Found<'_>) -> Option<()> {
    let mut words = Words(words);
    let has = |bit| found.instructions & bit != 0;
    let time = |words: &mut Words<'_>| match found.wide_times {
        true => words.u64().map(available),
        false => words.u32().map(|t| (t != u32::MAX).then_some(u64::from(t))),
    };
    if has(NODE) {
        hop.node_id = words.u32()?;
    }
    if has(PORTS) {
        (hop.ingress_port, hop.egress_port) = port_pair(words.u32()?);
    }
    if has(LATENCY) {
        hop.hop_latency = Some(words.u32()?).filter(|&l| l != u32::MAX);
    }
    if has(QUEUE) {
        (hop.queue_id, hop.queue_occupancy) = queue_word(words.u32()?);
    }
    if has(INGRESS_TIME) {
        hop.ingress_ts = time(&mut words)?;
    }
    if has(EGRESS_TIME) {
        hop.egress_ts = time(&mut words)?;
    }
    if has(PORTS2) {
        let mut id = || Some(Some(words.u32()?).filter(|&id| id != u32::MAX));
        let (ingress, egress) = (id()?, id()?);
        hop.ingress_port = hop.ingress_port.or(ingress);
        hop.egress_port = hop.egress_port.or(egress);
    }
    Some(())
}

/// Finds the stack that a packet carries, if any.
fn find<'a>(inner: &Inner<'a>) -> Option<Found<'a>> {
    let bytes = inner.packet;
    let mut ip = network(inner).ok()?;
    for _ in 0..MAX_TUNNELS {
        let (protocol, at) = transport(bytes, ip)?;
        if let Some(found) = in_tunnel(bytes, protocol, at) {
            return Some(found);
        }
        if let Some(Ok(carried)) = tunnel(bytes, protocol, at) {
            ip = carried;
            continue;
        }
        let header_bytes = match protocol {
            TCP => 4 * usize::from(bytes.get(at + 12)? >> 4),
            UDP => 8,
            _ => return None,
        };
        let place = |behind: usize| at_place(bytes, protocol, at + behind);
        // Some programs ignore TCP options, and some put a marker before the shim.
        return place(header_bytes)
            .or_else(|| place(20).filter(|_| protocol == TCP))
            .or_else(|| {
                let mut found = place(header_bytes + PROBE_MARKER_BYTES)?;
                found.head_bytes += PROBE_MARKER_BYTES;
                found.stack.bytes += PROBE_MARKER_BYTES as u16;
                Some(found)
            });
    }
    None
}

/// Returns protocol and offset of the transport header, unless the packet is a later fragment.
fn transport(bytes: &[u8], ip: Ip) -> Option<(u8, usize)> {
    let header = bytes.get(ip.at..)?;
    match (ip.version, header.first()? >> 4) {
        (4, 4) => {
            let fragment = be16(header, 6)? & 0x1fff;
            let length = 4 * usize::from(header.first()? & 0xf);
            (fragment == 0 && length >= 20).then_some((*header.get(9)?, ip.at + length))
        }
        (6, 6) => Some((*header.get(6)?, ip.at + 40)),
        _ => None,
    }
}

/// Reads the stack in the header of a tunnel, whose inner packet is unchanged.
fn in_tunnel(bytes: &[u8], protocol: u8, at: usize) -> Option<Found<'_>> {
    let int = int_md(bytes, protocol, at)?;
    let mut found = behind_shim(bytes, int.at, |_| [Some(int.words), None])?;
    found.stack.is_of_tunnel = true;
    Some(found)
}

/// Reads shim and header after a transport header, if present.
fn at_place(bytes: &[u8], protocol: u8, at: usize) -> Option<Found<'_>> {
    let shim = be32(bytes, at)?.to_be_bytes();
    let (length, next) = match shim {
        [TYPE_MD, 0, length, _] => (length, 0),
        [first, length, ..] if first >> 4 == TYPE_MD && first & 3 == 0 => (length, first >> 2 & 3),
        _ => return None,
    };
    // Version 1 counts the shim; some senders of either version count like the other.
    let length = usize::from(length);
    let mut found = behind_shim(bytes, at + SHIM_BYTES, |version| {
        let counted = usize::from(version == 1);
        [length.checked_sub(counted), length.checked_sub(1 - counted)]
    })?;
    let end = at + usize::from(found.stack.bytes);
    (found.stack.dst_port, found.stack.original) = match (next, protocol) {
        (0, _) => (None, None),
        (1, UDP) => (Some(be16(bytes, at + 2)?), None),
        (2, UDP) => (None, Some((*bytes.get(at + 3)?, u16::try_from(end).ok()?))),
        _ => return None,
    };
    Some(found)
}

/// Reads the header at an offset. `all_words`: possible counts of words after the shim, by version.
fn behind_shim(
    bytes: &[u8],
    at: usize,
    all_words: impl Fn(u32) -> [Option<usize>; 2],
) -> Option<Found<'_>> {
    let word = be32(bytes, at)?;
    let (version, hop_words) = (word >> 28, (word >> 8 & 0x1f) as usize);
    let instructions = be16(bytes, at + 4)?;
    let domain = be16(bytes, at + 6)?;
    let (header_words, wide, reserved) = match version {
        // With replication, C, E, M and ten reserved bits.
        1 => (2, false, word & 0x007f_e000 | u32::from(domain)),
        // D, E, M and twelve reserved bits.
        2 => (3, true, word & 0x01ff_e000),
        _ => return None,
    };
    if reserved != 0 || hop_words == 0 || instructions == 0 {
        return None;
    }
    // Some senders of version 2 write the times of version 1.
    let wide_times = match (words_of(instructions, wide), words_of(instructions, false)) {
        (words, _) if words == hop_words || words < hop_words && domain != 0 => wide,
        (_, narrow) if narrow == hop_words => false,
        _ => return None,
    };
    // Beyond whole hops, there may be metadata that only the source adds.
    let is_whole = |words: &usize| {
        *words >= header_words && (domain != 0 || (words - header_words).is_multiple_of(hop_words))
    };
    let words = all_words(version).into_iter().flatten().find(is_whole)?;
    Some(Found {
        instructions,
        wide_times,
        hop_bytes: 4 * hop_words,
        hops: (words - header_words) / hop_words,
        metadata: bytes.get(at + 4 * header_words..).unwrap_or_default(),
        head_bytes: SHIM_BYTES + 4 * header_words,
        stack: Stack {
            bytes: u16::try_from(SHIM_BYTES + 4 * words).ok()?,
            ..Stack::default()
        },
    })
}

/// Returns the number of words per hop.
fn words_of(instructions: u16, wide_times: bool) -> usize {
    let wide = if wide_times { TIMES | PORTS2 } else { PORTS2 };
    (instructions.count_ones() + (instructions & wide).count_ones()) as usize
}
