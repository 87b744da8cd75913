// SPDX-License-Identifier: Apache-2.0
//! A flow as a whole, summed up once: most of what it is judged by needs these sums.

use tidemark_proto::telemetry::FlowInterval;

/// A flow as a whole, as far as records of it are kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Life {
    /// Packets that left, sampling undone.
    pub packets: u64,
    /// Packets that left as they were reported, and those of them that were marked.
    pub reported: u64,
    pub marked: u64,
    pub drops: u64,
    /// Queueing delays of the packets that left, ns.
    pub delay_sum_ns: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    /// FIN or RST was seen.
    pub closed: bool,
    /// The sender's window was seen.
    pub probed: bool,
    /// Packets that each reported one stands for, mean (drops: one).
    pub sampling: f64,
}

impl Life {
    /// Of the records of a flow. Those of before they told what each of their packets stands for
    /// have that of the link.
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

    /// Time between its first and last packet, s.
    pub fn span_s(self) -> f64 {
        self.last_ns.saturating_sub(self.first_ns) as f64 / 1e9
    }

    /// Mean queueing delay of its packets, ns.
    pub fn mean_delay_ns(self) -> f64 {
        self.delay_sum_ns as f64 / self.reported.max(1) as f64
    }

    /// Share of its packets that were marked; `None` unless more were marked than dropped.
    pub fn share_of_marks(self) -> Option<f64> {
        (self.marked > self.drops).then(|| self.marked as f64 / self.reported.max(1) as f64)
    }
}
