// SPDX-License-Identifier: Apache-2.0
//! Frames on the simulated wires.

use crate::tcp::MSS;
use int_report::FlowKey;
use std::net::{IpAddr, Ipv4Addr};

/// Egress port of the bottleneck, of the senders, and of the reports.
pub(crate) const BOTTLENECK: u32 = 2;
pub(crate) const SENDERS: u32 = 1;
pub(crate) const REPORTS: u32 = 9;
/// The switch's node in its reports.
pub(crate) const NODE: u32 = 10;
/// Source and destination address of the reports.
pub(crate) const EXPORTER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
pub(crate) const COLLECTOR: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// Ethernet, IPv4 and UDP before a report.
const REPORT_HEADERS: usize = 42;
/// Metadata of a report on a packet that left.
const EGRESS_TIME_BITS: [u8; 2] = [0x5c, 0x00];
const HEADERS: usize = 54;
const FIRST_PORT: u16 = 40_000;
const SERVICE: u16 = 5001;

/// Returns the MAC address of the host on a port.
pub(crate) fn mac(port: u32) -> [u8; 6] {
    [2, 0, 0, 0, 0, port as u8]
}

/// Returns a flow's key, with the sender's end first.
pub(crate) fn flow_key(flow: usize) -> FlowKey {
    FlowKey {
        src: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
        dst: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        src_port: FIRST_PORT + flow as u16,
        dst_port: SERVICE,
        protocol: 6,
    }
}

/// Returns the sequence number of a segment on the wire.
pub(crate) fn sequence(flow: usize, number: u64) -> u32 {
    let first = 0xffff_0000u32.wrapping_add((flow as u32).wrapping_mul(7_919));
    first.wrapping_add((number as u32).wrapping_mul(MSS))
}

/// Returns a data segment.
pub(crate) fn segment(flow: usize, number: u64) -> Vec<u8> {
    let mut f = vec![0u8; HEADERS + MSS as usize];
    f[..6].copy_from_slice(&mac(BOTTLENECK));
    f[6..12].copy_from_slice(&mac(SENDERS));
    f[12..14].copy_from_slice(&[8, 0]);
    f[14..16].copy_from_slice(&[0x45, 0]);
    f[16..18].copy_from_slice(&((40 + MSS) as u16).to_be_bytes());
    f[20] = 0x40;
    f[22..24].copy_from_slice(&[64, 6]);
    f[26..30].copy_from_slice(&[10, 0, 0, 1]);
    f[30..34].copy_from_slice(&[10, 0, 0, 2]);
    let sum = checksum(&f[14..34]);
    f[24..26].copy_from_slice(&sum.to_be_bytes());
    f[34..36].copy_from_slice(&(FIRST_PORT + flow as u16).to_be_bytes());
    f[36..38].copy_from_slice(&SERVICE.to_be_bytes());
    f[38..42].copy_from_slice(&sequence(flow, number).to_be_bytes());
    f[46] = 0x50;
    f[47] = 0x10;
    // The payload begins with the fields that the receiver needs.
    f[54..62].copy_from_slice(&number.to_be_bytes());
    f
}

/// Marks a segment with its arrival time at the switch, ns of its clock: a retransmission is
/// another packet.
pub(crate) fn mark_arrival(f: &mut [u8], at_ns: u64) {
    if let Some(mark) = f.get_mut(62..70) {
        mark.copy_from_slice(&at_ns.to_be_bytes());
    }
}

/// Reads a segment's arrival time at the switch, ns of its clock.
pub(crate) fn read_arrival(f: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(f.get(62..70)?.try_into().ok()?))
}

/// Reads flow and number of a data segment.
pub(crate) fn read_segment(f: &[u8]) -> Option<(usize, u64)> {
    let port = u16::from_be_bytes(f.get(34..36)?.try_into().ok()?);
    let number = u64::from_be_bytes(f.get(54..62)?.try_into().ok()?);
    Some((usize::from(port.checked_sub(FIRST_PORT)?), number))
}

/// Returns the UDP payload of a report frame.
pub(crate) fn report(frame: &[u8]) -> Option<&[u8]> {
    frame.get(REPORT_HEADERS..)
}

/// Shifts the times in a report, as if the clock had been set by `step_ns`.
pub(crate) fn set_clock(payload: &mut [u8], step_ns: i64) {
    const INGRESS: usize = 28;
    const EGRESS: usize = 36;
    let leaves = payload.get(12..14) == Some(&EGRESS_TIME_BITS);
    let times = [INGRESS, EGRESS].into_iter().take(1 + usize::from(leaves));
    for at in times {
        if let Some(Ok(place)) = payload.get_mut(at..at + 8).map(<&mut [u8; 8]>::try_from) {
            let time = u64::from_be_bytes(*place).wrapping_add_signed(step_ns);
            *place = time.to_be_bytes();
        }
    }
}

/// Returns stream and sequence number of a report.
pub(crate) fn report_number(payload: &[u8]) -> Option<(u8, u32)> {
    let word = u32::from_be_bytes(payload.get(..4)?.try_into().ok()?);
    Some(((word >> 22) as u8 & 0x3f, word & 0x3f_ffff))
}

fn checksum(data: &[u8]) -> u16 {
    let mut s = 0u32;
    for c in data.chunks(2) {
        s += (u32::from(c[0]) << 8) | u32::from(c.get(1).copied().unwrap_or(0));
    }
    while s >> 16 != 0 {
        s = (s & 0xffff) + (s >> 16);
    }
    !(s as u16)
}
