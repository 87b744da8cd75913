// SPDX-License-Identifier: Apache-2.0
//! Tags on the reports that the program makes: Ethernet, IPv4, UDP, a report.
//!
//! A report is a clone. What hosts send is never tagged, so that none of them
//! gets a tag for a report that it made up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use int_report::keys::ReportKeys;
use traffic_manager::Switch;

const ETHERNET_BYTES: usize = 14;
const UDP_BYTES: usize = 8;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const PROTOCOL_UDP: u8 = 17;

/// What became of clones. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct TagCounters(Arc<[AtomicU64; 2]>);

impl TagCounters {
    fn count(&self, tagged: bool) {
        let [untagged, with] = &*self.0;
        let counter = if tagged { with } else { untagged };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Reports that left with a tag.
    pub fn tagged(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }

    /// Clones that left as they were.
    pub fn untagged(&self) -> u64 {
        self.0[0].load(Ordering::Relaxed)
    }
}

/// Has the switch tag its reports from now on.
pub fn tag_reports(switch: &mut Switch, keys: ReportKeys) -> TagCounters {
    let counters = TagCounters::default();
    let counted = counters.clone();
    let mut payload = Vec::new();
    switch.finish_clones(Box::new(move |frame| {
        counted.count(tag(frame, &keys, &mut payload).is_some());
    }));
    counters
}

/// Ends a report with a tag; lengths and checksums follow. `None`, with the frame
/// as it was, where it is no report or nothing can follow it. `payload` is room.
fn tag(frame: &mut Vec<u8>, keys: &ReportKeys, payload: &mut Vec<u8>) -> Option<()> {
    let ip = frame.get(ETHERNET_BYTES..)?;
    if frame.get(12..14)? != ETHERTYPE_IPV4 || ip.first()? >> 4 != 4 || *ip.get(9)? != PROTOCOL_UDP
    {
        return None;
    }
    // Not a fragment.
    if u16::from_be_bytes([*ip.get(6)?, *ip.get(7)?]) & 0x3fff != 0 {
        return None;
    }
    let header_bytes = usize::from(ip.first()? & 0xf) * 4;
    let udp = ETHERNET_BYTES + header_bytes;
    let is_whole = header_bytes >= 20 && be16(frame, ETHERNET_BYTES + 2)? == ip.len();
    let is_udp_to_the_end = be16(frame, udp + 4)? == frame.len().checked_sub(udp)?;
    if !is_whole || !is_udp_to_the_end {
        return None;
    }
    payload.clear();
    payload.extend_from_slice(frame.get(udp + UDP_BYTES..)?);
    keys.append_tag(payload).ok()?;
    let udp_bytes = u16::try_from(payload.len() + UDP_BYTES).ok()?;
    let ip_bytes = u16::try_from(payload.len() + UDP_BYTES + header_bytes).ok()?;
    frame.truncate(udp + UDP_BYTES);
    frame.extend_from_slice(payload);
    put16(frame, ETHERNET_BYTES + 2, ip_bytes);
    put16(frame, ETHERNET_BYTES + 10, 0);
    let sum = !fold(words_sum(frame.get(ETHERNET_BYTES..udp)?));
    put16(frame, ETHERNET_BYTES + 10, sum);
    put16(frame, udp + 4, udp_bytes);
    // A sender may do without.
    if be16(frame, udp + 6)? != 0 {
        put16(frame, udp + 6, 0);
        let addresses = frame.get(ETHERNET_BYTES + 12..ETHERNET_BYTES + 20)?;
        let pseudo = sum_of_pseudo_header(addresses, udp_bytes);
        let sum = !fold(pseudo + words_sum(frame.get(udp..)?));
        put16(frame, udp + 6, if sum == 0 { 0xffff } else { sum });
    }
    Some(())
}

fn be16(frame: &[u8], at: usize) -> Option<usize> {
    let bytes: [u8; 2] = frame.get(at..at + 2)?.try_into().ok()?;
    Some(usize::from(u16::from_be_bytes(bytes)))
}

fn put16(frame: &mut [u8], at: usize, value: u16) {
    if let Some(field) = frame.get_mut(at..at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

/// Sum of 16-bit words; a datagram has at most 2^15 of them.
fn words_sum(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
            [high] => u32::from(*high) << 8,
            _ => 0,
        })
        .sum()
}

fn sum_of_pseudo_header(addresses: &[u8], udp_bytes: u16) -> u32 {
    words_sum(addresses) + u32::from(PROTOCOL_UDP) + u32::from(udp_bytes)
}

fn fold(mut sum: u32) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
