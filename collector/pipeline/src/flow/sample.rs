// SPDX-License-Identifier: Apache-2.0
//! Updates the state of flows from tcp_probe samples.

use super::index::FlowHint;
use super::state::SampleState;
use super::table::FlowTable;
use crate::stats::Stats;
use tcp_probe::Sample;

/// Sequence numbers with more data in flight than this are invalid.
const MAX_INFLIGHT_BYTES: u32 = 1 << 30;

/// A sample that was added to its flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewSample {
    pub slot: u32,
    pub state: SampleState,
    /// The previous sample, if there was one.
    pub before: Option<SampleBefore>,
    /// Whether it is the flow's first sample, which is to be announced.
    pub newly_probed: bool,
}

/// The part of the previous sample that the next one needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampleBefore {
    /// Host clock.
    pub time_ns: u64,
    /// Unwrapped.
    pub snd_una: u64,
}

impl FlowTable {
    /// Adds a sample to its flow; returns `None` if it is of no use and only counted.
    #[inline(always)]
    pub(crate) fn sample(
        &mut self,
        host: u16,
        s: &Sample,
        hint: Option<FlowHint>,
        stats: &mut Stats,
    ) -> Option<NewSample> {
        stats.samples += 1;
        let confirmed = self.confirm(hint);
        let Some(slot) = confirmed.or_else(|| self.find(&s.flow)) else {
            stats.samples_unknown_flow += 1;
            return None;
        };
        let (flow, memory) = self.with_memory(slot)?;
        if !flow.has_data {
            stats.samples_receiver += 1;
            return None;
        }
        let inflight = s.snd_nxt.wrapping_sub(s.snd_una);
        if inflight > MAX_INFLIGHT_BYTES {
            stats.samples_invalid += 1;
            return None;
        }
        if flow.cookie != Some(s.sock_cookie) {
            if flow.cookie.is_some() {
                // Another connection, whose SYN was not reported.
                stats.samples_other_socket += 1;
                flow.forget_sequences(memory);
            }
            flow.cookie = Some(s.sock_cookie);
        }
        let before = flow.last_sample().map(|b| SampleBefore {
            time_ns: b.time_ns,
            snd_una: b.snd_una,
        });
        if before.is_some_and(|b| s.time_ns < b.time_ns) {
            stats.samples_late += 1;
            return None;
        }
        let newly_probed = !flow.probed;
        flow.probed = true;
        flow.host = host;
        let snd_nxt = flow.unwrap(s.snd_nxt);
        let state = flow.remember(SampleState {
            time_ns: s.time_ns,
            snd_nxt,
            snd_una: snd_nxt.saturating_sub(u64::from(inflight)),
            cwnd: s.snd_cwnd,
            ssthresh: s.ssthresh,
            srtt_us: s.srtt_us,
        });
        Some(NewSample {
            slot,
            state,
            before,
            newly_probed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::key;

    fn sample(time_ns: u64, snd_nxt: u32, snd_una: u32, sock_cookie: u64) -> Sample {
        let tcp_probe::Event::Probe(s) = crate::testing::sample(1, time_ns, snd_nxt, snd_una, 10)
        else {
            unreachable!("a sample was asked for");
        };
        Sample { sock_cookie, ..s }
    }

    #[test]
    fn samples_of_no_use_are_counted_by_reason() {
        let (mut table, mut stats) = (
            FlowTable::new(16, usize::MAX, crate::FlowIds::default()),
            Stats::default(),
        );
        let mut take = |table: &mut FlowTable, s: Sample| table.sample(3, &s, None, &mut stats);
        assert!(take(&mut table, sample(5, 100, 50, 1)).is_none());
        let slot = table.insert(key(1), 0, 0, 0);
        assert!(take(&mut table, sample(5, 100, 50, 1)).is_none());
        table.get_mut(slot).unwrap().has_data = true;
        assert!(take(&mut table, sample(5, 50, 100, 1)).is_none());
        let first = take(&mut table, sample(5, 100, 50, 1)).unwrap();
        assert!(first.newly_probed && first.before.is_none());
        assert_eq!(first.state.snd_nxt - first.state.snd_una, 50);
        assert!(take(&mut table, sample(4, 100, 50, 1)).is_none());
        let second = take(&mut table, sample(6, 150, 100, 1)).unwrap();
        assert!(!second.newly_probed);
        assert_eq!(second.before.unwrap().time_ns, 5);
        let other = take(&mut table, sample(6, 9000, 9000, 2)).unwrap();
        assert!(other.before.is_none());
        assert_eq!(
            [
                stats.samples,
                stats.samples_unknown_flow,
                stats.samples_receiver,
                stats.samples_invalid,
                stats.samples_late,
                stats.samples_other_socket,
            ],
            [7, 1, 1, 1, 1, 1]
        );
    }
}
