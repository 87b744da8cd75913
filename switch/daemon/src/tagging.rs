// SPDX-License-Identifier: Apache-2.0
//! Adds tags to the reports that the program makes: Ethernet, IPv4, UDP, a report.
//!
//! A tag identifies the datagram and the run of the switch, so that the collector accepts no
//! datagram twice (docs/decisions/0048).
//!
//! A report is a clone. Frames from hosts are never tagged, so that no host can obtain a
//! tag for a forged report.

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

    /// Returns the number of reports that left with a tag.
    pub fn tagged(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }

    /// Returns the number of clones that left unchanged.
    pub fn untagged(&self) -> u64 {
        self.0[0].load(Ordering::Relaxed)
    }
}

/// Makes the switch tag its reports from now on; `boot` is the start of its run, Unix time in
/// ns.
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

/// Appends a tag to a report, and updates lengths and checksums. Returns `None` and leaves the
/// frame alone if it is not a report or cannot be extended. `payload` is a scratch buffer.
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
