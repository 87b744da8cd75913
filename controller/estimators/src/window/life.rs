// SPDX-License-Identifier: Apache-2.0
//! Sums over a flow's history, computed once because most of its estimates need them.

use tidemark_proto::telemetry::FlowInterval;

/// Sums over the records of a flow that are kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Life {
    /// Packets that left, scaled up for sampling.
    pub packets: u64,
    /// Reported packets that left, and the number of CE-marked packets among them.
    pub reported: u64,
    pub marked: u64,
    pub drops: u64,
    /// Sum of the queueing delays of the reported packets, ns.
    pub delay_sum_ns: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    /// Whether a FIN or RST was seen.
    pub closed: bool,
    /// Whether the sender's window was seen.
    pub probed: bool,
    /// Mean number of packets that each reported packet represents (drops: one).
    pub sampling: f64,
}

impl Life {
    /// Sums up a flow's records. Older records without `stands_for` use the link's sampling.
    pub fn of(history: &[&FlowInterval], sampling_of_link: f64) -> Self {
        let mut life = Self::default();
        let mut stood_for = 0.0;
        for r in history {
            let each = match r.stands_for {
                0 => sampling_of_link,
                each => f64::from(each),
            };
            stood_for += f64::from(r.packets) * each;
            life.marked += u64::from(r.ce_marked);
            life.probed |= r.probe.is_some();
            if r.packets + r.drops == 0 {
                continue;
            }
            if life.reported == 0 && life.first_ns == 0 {
                life.first_ns = r.start_ns;
            }
            if r.packets > 0 {
                life.delay_sum_ns += r.delay_sum_ns;
            }
            life.reported += u64::from(r.packets);
            life.drops += u64::from(r.drops);
            life.last_ns = r.start_ns.saturating_add(r.duration_ns);
            life.closed |= r.fin_or_rst;
        }
        life.sampling = if life.reported > 0 {
            stood_for / life.reported as f64
        } else {
            sampling_of_link
        };
        life.packets = (life.reported as f64 * life.sampling) as u64;
        life
    }

    /// Returns the time from the first to the last record with packets, s.
    pub fn span_s(self) -> f64 {
        self.last_ns.saturating_sub(self.first_ns) as f64 / 1e9
    }

    /// Returns the mean queueing delay of the packets, ns.
    pub fn mean_delay_ns(self) -> f64 {
        self.delay_sum_ns as f64 / self.reported.max(1) as f64
    }

    /// Returns the share of CE-marked packets; `None` unless more were marked than dropped.
    pub fn share_of_marks(self) -> Option<f64> {
        (self.marked > self.drops).then(|| self.marked as f64 / self.reported.max(1) as f64)
    }
}
