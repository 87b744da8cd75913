// SPDX-License-Identifier: Apache-2.0
//! Finds whether pcap and trace share a clock, and if not, how far apart the clocks are: only as
//! exactly as is needed to read the two files side by side; the pipeline finds the rest.

use super::trace::Traces;
use anyhow::Result;
use int_report::{FlowKey, Report, parse_inner};
use rustc_hash::FxHashMap;
use std::path::Path;
use tcp_probe::Event;
use tidemark_pcap::Datagrams;

/// Maximum number of samples and of reports examined.
const MAX_SAMPLES: usize = 500_000;
const MAX_REPORTS: usize = 5_000_000;
/// Number of matches that is enough.
const ENOUGH: usize = 5_000;
/// A sample follows its packet by less than this on a common clock.
const SAME_NS: i64 = 2_000_000_000;

/// Estimates how far the trace's clock is ahead of the pcap's, in ns, by comparing when segments
/// were reported with when a sample first showed them acknowledged; 0 if the clocks seem to be the
/// same, `None` if no sample matches a report.
pub(super) fn align(pcap: &Path, mut trace: Traces) -> Result<Option<i64>> {
    let mut acked: FxHashMap<(FlowKey, u32), u64> = FxHashMap::default();
    for _ in 0..MAX_SAMPLES {
        let Some((_, _, event)) = trace.until(u64::MAX)? else {
            break;
        };
        if let Event::Probe(s) = &event {
            acked
                .entry((s.flow, s.snd_una))
                .or_insert_with(|| event.time_ns());
        }
    }
    let mut differences = Vec::new();
    let mut pcap = Datagrams::open(pcap)?;
    for _ in 0..MAX_REPORTS {
        let Some(packet) = pcap.next_datagram()? else {
            break;
        };
        let time_ns = packet.time_ns;
        let mut compare = |r: &Report<'_>| {
            if let Ok(p) = parse_inner(&r.inner)
                && p.payload_bytes > 0
                && let Some(&t) =
                    acked.get(&(p.flow_key(), p.tcp_seq.wrapping_add(p.payload_bytes)))
            {
                differences.push(t.wrapping_sub(time_ns) as i64);
            }
        };
        for datagram in int_report::datagrams(packet.payload) {
            // Malformed datagrams are counted by the import itself.
            let _ = int_report::decode(datagram, &mut compare);
        }
        if differences.len() >= ENOUGH {
            break;
        }
    }
    if differences.is_empty() {
        return Ok(None);
    }
    differences.sort_unstable();
    // Acknowledgements follow after a varying delay; a few odd pairs are ignored.
    let difference = differences[differences.len() / 10];
    let same = (-SAME_NS..SAME_NS).contains(&difference);
    Ok(Some(if same { 0 } else { difference }))
}
