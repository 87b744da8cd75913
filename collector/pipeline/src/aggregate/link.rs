// SPDX-License-Identifier: Apache-2.0
//! One egress queue over one interval.

use super::allowance::DelayAllowance;
use super::histogram::Buckets;
use crate::rows::PostcardRow;
use tidemark_proto::telemetry::LinkInterval;
use tidemark_rows::Absent;

/// An egress queue that the configuration does not name is forgotten after this long without a
/// packet.
const FORGET_NS: u64 = 10_000_000_000;

/// An egress queue that the configuration does not name gets no empty records after this long
/// without a packet.
const QUIET_NS: u64 = 1_000_000_000;

#[derive(Debug, Default)]
pub(super) struct LinkTotals {
    record: LinkInterval,
    occupancy: Buckets,
    delay: Buckets,
    limit_bytes: Option<u64>,
    /// Smallest sampling shift of the reports: each packet counted stands for `1 << shift`.
    sampling_shift: Option<u32>,
    /// CE marks within the sample, weighted by what they stand for.
    marks: u32,
    lost: i64,
}

impl LinkTotals {
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.occupancy.memory_bytes() + self.delay.memory_bytes()
    }

    /// Counts a packet that came to the queue in this interval.
    #[inline(always)]
    pub(super) fn arrival(&mut self, row: &PostcardRow) {
        // The sample stands for all packets: one outside it would count twice.
        if row.out_of_sample {
            return;
        }
        // Each drop is reported.
        let times = if row.dropped { 1 } else { self.times(row) };
        let r = &mut self.record;
        r.arrivals = r.arrivals.saturating_add(times);
        let bytes = u64::from(row.ip_bytes) * u64::from(times);
        r.arrival_ip_bytes = r.arrival_ip_bytes.saturating_add(bytes);
        if row.dropped {
            r.drops += 1;
            r.drop_ip_bytes += u64::from(row.ip_bytes);
        }
        if !row.absent.has(Absent::OCCUPANCY) {
            if row.occupancy_bytes == 0 {
                r.met_empty = r.met_empty.saturating_add(times);
            }
            self.occupancy.record(row.occupancy_bytes, times);
            r.occupancy_max_bytes = r.occupancy_max_bytes.max(row.occupancy_bytes);
            let sum = row.occupancy_bytes.saturating_mul(times.into());
            r.occupancy_sum_bytes = r.occupancy_sum_bytes.saturating_add(sum);
        }
        self.limit_bytes = Some(row.limit_bytes);
    }

    /// Returns how many packets at the interval's smallest shift a packet stands for.
    #[inline(always)]
    fn times(&mut self, row: &PostcardRow) -> u32 {
        let shift = u32::from(row.sampling_shift);
        match self.sampling_shift {
            Some(smallest) if smallest == shift => 1,
            smallest => self.times_of(shift, smallest),
        }
    }

    #[cold]
    #[inline(never)]
    fn times_of(&mut self, shift: u32, smallest: Option<u32>) -> u32 {
        let r = &mut self.record;
        r.most_sampling_shift = r.most_sampling_shift.max(shift);
        let smallest = smallest.unwrap_or(shift);
        self.sampling_shift = Some(shift.min(smallest));
        if shift < smallest {
            self.multiply(1u32.checked_shl(smallest - shift).unwrap_or(u32::MAX));
        }
        1u32.checked_shl(shift.saturating_sub(smallest))
            .unwrap_or(u32::MAX)
    }

    /// Scales the counts so far to a smaller shift: each counts as `times` packets. Drops are not
    /// scaled, except in the histograms, where they cannot be told apart.
    fn multiply(&mut self, times: u32) {
        let r = &mut self.record;
        let others = r.arrivals.saturating_sub(r.drops);
        r.arrivals = others.saturating_mul(times).saturating_add(r.drops);
        let more = u64::from(times);
        let others = r.arrival_ip_bytes.saturating_sub(r.drop_ip_bytes);
        r.arrival_ip_bytes = others.saturating_mul(more) + r.drop_ip_bytes;
        for count in [&mut r.met_empty, &mut r.packets, &mut self.marks] {
            *count = count.saturating_mul(times);
        }
        for sum in [
            &mut r.occupancy_sum_bytes,
            &mut r.ip_bytes,
            &mut r.wire_bytes,
            &mut r.delay_sum_ns,
        ] {
            *sum = sum.saturating_mul(more);
        }
        self.occupancy.multiply(times);
        self.delay.multiply(times);
    }

    /// Whether a packet came or left.
    pub(super) fn has_packets(&self) -> bool {
        let r = &self.record;
        r.arrivals > 0 || r.packets > 0 || r.out_of_sample > 0
    }

    pub(super) fn departures(&self) -> u64 {
        u64::from(self.record.packets)
    }

    /// Counts a packet that left the queue in this interval.
    #[inline(always)]
    pub(super) fn departure(&mut self, row: &PostcardRow) {
        if row.out_of_sample {
            self.record.out_of_sample += 1;
            self.record.ce_marked += u32::from(row.ce_marked);
            return;
        }
        let times = self.times(row);
        let r = &mut self.record;
        if row.ce_marked {
            r.ce_marked += 1;
            self.marks = self.marks.saturating_add(times);
        }
        r.packets = r.packets.saturating_add(times);
        r.reported_packets += 1;
        let (times_bytes, ip_bytes) = (u64::from(times), u64::from(row.ip_bytes));
        r.ip_bytes = r.ip_bytes.saturating_add(ip_bytes * times_bytes);
        let wire_bytes = ip_bytes + u64::from(row.wire_overhead_bytes);
        r.wire_bytes = r
            .wire_bytes
            .saturating_add(wire_bytes.saturating_mul(times_bytes));
        if let Some(delay_ns) = row.delay_ns() {
            self.delay.record(delay_ns, times);
            r.delay_max_ns = r.delay_max_ns.max(delay_ns);
            r.delay_sum_ns = r
                .delay_sum_ns
                .saturating_add(delay_ns.saturating_mul(times_bytes));
        }
    }

    /// Adds reports that a report of this interval showed to be missing (negative: to be late).
    #[inline]
    pub(super) fn lost(&mut self, reports: i32) {
        self.lost += i64::from(reports);
    }
}

/// Port and queue number of an egress queue.
pub(super) type PortQueue = (u32, u8);

/// The time of one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start_ns: u64,
    pub duration_ns: u64,
}

/// State of an egress queue that is carried from interval to interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkState {
    /// How long its packets may be delayed.
    pub delay: DelayAllowance,
    /// End of the last interval with packets of the queue, ns; 0 before it.
    pub active_ns: u64,
    limit_bytes: u64,
    sampling_shift: u32,
    /// Whether all marks are reported, as a mark outside the sample shows; else they are sampled.
    all_marks: bool,
    /// Whether the queue counts as one of a port that the configuration names.
    pub named: bool,
    /// Start of the queue's first record, ns.
    first_start_ns: Option<u64>,
}

impl LinkState {
    pub(super) fn new(named: bool) -> Self {
        Self {
            named,
            ..Self::default()
        }
    }

    /// Resets the state after the node's clock restarted.
    pub(super) fn restart(&mut self) {
        self.first_start_ns = None;
        self.active_ns = 0;
        self.delay = DelayAllowance::default();
    }

    /// Whether no packet has come for [`QUIET_NS`] at the start of an interval.
    pub(super) fn is_quiet(&self, start_ns: u64) -> bool {
        self.active_ns > 0 && start_ns.saturating_sub(self.active_ns) > QUIET_NS
    }

    /// Whether no packet has come for [`FORGET_NS`] at the end of an interval.
    pub(super) fn is_silent(&self, end_ns: u64) -> bool {
        self.first_start_ns.is_some() && end_ns.saturating_sub(self.active_ns) > FORGET_NS
    }

    /// Returns the finished record; `totals` is `None` if no packets came, otherwise it is cleared
    /// for reuse.
    pub(super) fn record(
        &mut self,
        totals: Option<&mut LinkTotals>,
        node_id: u32,
        (port, queue): PortQueue,
        span: Span,
    ) -> LinkInterval {
        if totals.as_ref().is_some_and(|t| t.has_packets()) {
            self.active_ns = span.start_ns + span.duration_ns;
        }
        if let Some(totals) = &totals {
            let number = span.start_ns / span.duration_ns.max(1);
            self.delay
                .judge(number, totals.departures(), span.duration_ns);
        }
        let mut nothing = LinkTotals::default();
        let totals = totals.unwrap_or(&mut nothing);
        let first_start_ns = *self.first_start_ns.get_or_insert(span.start_ns);
        self.limit_bytes = totals.limit_bytes.take().unwrap_or(self.limit_bytes);
        self.sampling_shift = totals.sampling_shift.take().unwrap_or(self.sampling_shift);
        let lost = std::mem::take(&mut totals.lost);
        self.all_marks |= totals.record.out_of_sample > 0;
        let marks = std::mem::take(&mut totals.marks);
        if !self.all_marks {
            let each = 1u32.checked_shl(self.sampling_shift).unwrap_or(u32::MAX);
            totals.record.ce_marked = marks.saturating_mul(each);
        }
        let r = &mut totals.record;
        r.most_sampling_shift = r.most_sampling_shift.max(self.sampling_shift);
        LinkInterval {
            node_id,
            port,
            queue: queue.into(),
            start_ns: span.start_ns,
            duration_ns: span.duration_ns,
            limit_bytes: self.limit_bytes,
            sampling_shift: self.sampling_shift,
            reports_lost: u32::try_from(lost.max(0)).unwrap_or(u32::MAX),
            occupancy_bytes: totals.occupancy.take(),
            delay_ns: totals.delay.take(),
            first_start_ns,
            ..std::mem::take(&mut totals.record)
        }
    }
}
