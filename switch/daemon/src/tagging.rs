// SPDX-License-Identifier: Apache-2.0
//! Tags on the reports that the program makes: Ethernet, IPv4, UDP, a report.
//!
//! Each says which datagram of which run of the switch it is, so that none is taken
//! twice (docs/decisions/0048).
//!
//! A report is a clone. What hosts send is never tagged, so that none of them
//! gets a tag for a report that it made up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use int_report::keys::ReportKeys;
use int_report::tag::Run;
use traffic_manager::Switch;
use traffic_manager::super_frame::{Headers, Network, Transport, fit_udp};

const ETHERNET_BYTES: usize = 14;

/// Counters of clones with and without a tag. Cheap to clone.
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

/// Has the switch tag its reports from now on, as those of a run that begins at `boot`,
/// Unix time in ns.
pub fn tag_reports(switch: &mut Switch, keys: ReportKeys, boot: u64) -> TagCounters {
    let counters = TagCounters::default();
    let counted = counters.clone();
    let mut payload = Vec::new();
    let mut run = Run { boot, datagram: 0 };
    switch.finish_clones(Box::new(move |frame| {
        let tagged = tag(frame, &keys, run, &mut payload).is_some();
        run.datagram += u64::from(tagged);
        counted.count(tagged);
    }));
    counters
}

/// Ends a report with a tag; lengths and checksums follow. `None`, with the frame
/// as it was, where it is no report or nothing can follow it. `payload` is room.
fn tag(frame: &mut Vec<u8>, keys: &ReportKeys, run: Run, payload: &mut Vec<u8>) -> Option<()> {
    let h = Headers::of(frame)?;
    let plain =
        (h.network_at, h.network, h.transport) == (ETHERNET_BYTES, Network::V4, Transport::Udp);
    let udp_bytes = u16::try_from(frame.len() - h.transport_at).ok()?;
    let udp_to_the_end =
        frame.get(h.transport_at + 4..h.transport_at + 6)? == udp_bytes.to_be_bytes();
    if !plain || h.packet_end(frame) != Some(frame.len()) || !udp_to_the_end {
        return None;
    }
    payload.clear();
    payload.extend_from_slice(frame.get(h.payload_at..)?);
    keys.append_tag(payload, Some(run)).ok()?;
    u16::try_from(h.payload_at - h.network_at + payload.len()).ok()?;
    frame.truncate(h.payload_at);
    frame.extend_from_slice(payload);
    fit_udp(frame, &h);
    Some(())
}
