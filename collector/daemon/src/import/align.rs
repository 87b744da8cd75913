// SPDX-License-Identifier: Apache-2.0
//! Do pcap and trace share a clock, and if not, how far are they apart? Only
//! as exactly as is needed to read the two files side by side; the pipeline
//! finds the rest.

use super::error::ImportError;
use super::trace::Trace;
use int_report::{FlowKey, Report, parse_inner};
use rustc_hash::FxHashMap;
use std::path::Path;
use tcp_probe::Event;
use tidemark_pcap::Datagrams;

/// Samples and reports looked at.
const MAX_SAMPLES: usize = 500_000;
const MAX_REPORTS: usize = 5_000_000;
/// Matches that are enough.
const ENOUGH: usize = 5_000;
/// A sample follows its packet by less than this on a common clock.
const SAME_NS: i64 = 2_000_000_000;

/// How the clocks of the two files stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alignment {
    /// One clock, as far as can be seen.
    Same,
    /// The trace's clock is ahead of the pcap's by about so much.
    Apart { trace_ahead_ns: i64 },
    /// Nothing in the two files belongs together.
    Unknown,
}

impl Alignment {
    /// What to add to a pcap's time to get the trace's.
    pub(super) fn trace_ahead_ns(self) -> i64 {
        match self {
            Self::Apart { trace_ahead_ns } => trace_ahead_ns,
            Self::Same | Self::Unknown => 0,
        }
    }
}

/// Compares when segments were reported with when a sample first showed them
/// acknowledged.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn align(pcap: &Path, trace: &Path) -> Result<Alignment, ImportError> {
    let mut acked: FxHashMap<(FlowKey, u32), u64> = FxHashMap::default();
    let mut trace = Trace::open(Some(trace))?;
    for _ in 0..MAX_SAMPLES {
        let Some(event) = trace.until(u64::MAX)? else {
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
        let mut compare = |r: Report<'_>| {
            if let Ok(p) = parse_inner(&r.inner)
                && p.payload_bytes > 0
                && let Some(&t) =
                    acked.get(&(p.flow_key(), p.tcp_seq.wrapping_add(p.payload_bytes)))
            {
                differences.push(t.wrapping_sub(time_ns) as i64);
            }
        };
        for datagram in int_report::datagrams(packet.payload) {
            // Malformed ones are counted on the import itself.
            let _ = int_report::decode(datagram, &mut compare);
        }
        if differences.len() >= ENOUGH {
            break;
        }
    }
    if differences.is_empty() {
        return Ok(Alignment::Unknown);
    }
    differences.sort_unstable();
    // Acknowledgements follow by a varying delay; a few odd pairs do not count.
    let difference = differences[differences.len() / 10];
    Ok(if (-SAME_NS..SAME_NS).contains(&difference) {
        Alignment::Same
    } else {
        Alignment::Apart {
            trace_ahead_ns: difference,
        }
    })
}
