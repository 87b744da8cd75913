// SPDX-License-Identifier: Apache-2.0
//! Utilisation, loss, delay and occupancy, from the link's interval records.

use crate::stats::quantile;
use crate::types::{Occupancy, Quantiles, Utilisation};
use crate::window::LinkWindow;
use tidemark_proto::histogram::Counts;
use tidemark_proto::telemetry::{Histogram, LinkInterval};
use tidemark_rules::quantiles::Z90;
use tidemark_rules::{BATCH_S, Batches};

/// Length in RTTs of the windows whose 1st percentile of utilisation is reported (UTB §5.1).
const RTTS_PER_WINDOW: f64 = 10.0;

/// Sums over the window. With sampling, every reported packet that left counts as 2^shift; drops
/// are always reported. The number of lost reports is known, and they are assumed to be like the
/// rest: all counts are scaled up for them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    pub packets: u64,
    pub wire_bytes: u64,
    pub ip_bytes: u64,
    pub arrivals: u64,
    pub arrival_ip_bytes: u64,
    pub drops: u64,
    pub ce_marked: u64,
    pub met_empty: u64,
    pub reports_lost: u64,
    pub sampled: bool,
    /// Factor by which counts are scaled up because reports were lost.
    pub per_report: f64,
}

pub(crate) fn totals(window: &LinkWindow<'_>) -> Totals {
    let mut t = Totals::default();
    let mut reports = 0;
    for r in &window.intervals {
        reports += u64::from(reported(r)) + u64::from(r.drops) + u64::from(r.out_of_sample);
        let scale = scale(r);
        let (arrivals, arrival_ip_bytes) = arrived(r);
        t.packets += u64::from(r.packets) * scale;
        t.wire_bytes += r.wire_bytes * scale;
        t.ip_bytes += r.ip_bytes * scale;
        t.arrivals += arrivals;
        t.arrival_ip_bytes += arrival_ip_bytes;
        t.drops += u64::from(r.drops);
        t.ce_marked += u64::from(r.ce_marked);
        // A dropped packet never met an empty queue.
        t.met_empty += u64::from(r.met_empty) * scale;
        t.reports_lost += u64::from(r.reports_lost);
        t.sampled |= most_shift(r) > 0;
    }
    t.per_report = 1.0;
    if t.reports_lost > 0 && reports > 0 {
        t.make_up_for_lost(1.0 + t.reports_lost as f64 / reports as f64);
    }
    t
}

impl Totals {
    fn make_up_for_lost(&mut self, per_report: f64) {
        self.per_report = per_report;
        for count in [
            &mut self.packets,
            &mut self.wire_bytes,
            &mut self.ip_bytes,
            &mut self.arrivals,
            &mut self.arrival_ip_bytes,
            &mut self.drops,
            &mut self.ce_marked,
            &mut self.met_empty,
        ] {
            *count = (*count as f64 * per_report).round() as u64;
        }
    }
}

fn scale(r: &LinkInterval) -> u64 {
    1u64 << r.sampling_shift.min(31)
}

/// Returns the packets that arrived and their IP bytes, scaled up for sampling except for drops.
pub(crate) fn arrived(r: &LinkInterval) -> (u64, u64) {
    let (scale, drops) = (scale(r), u64::from(r.drops));
    let left = u64::from(r.arrivals).saturating_sub(drops);
    let left_ip_bytes = r.arrival_ip_bytes.saturating_sub(r.drop_ip_bytes);
    (
        left * scale + drops,
        left_ip_bytes * scale + r.drop_ip_bytes,
    )
}

/// Largest sampling shift of the reports.
fn most_shift(r: &LinkInterval) -> u32 {
    r.most_sampling_shift.max(r.sampling_shift).min(31)
}

/// Number of reported packets that left, without those outside of the sample.
pub(crate) fn reported(r: &LinkInterval) -> u32 {
    match r.reported_packets {
        0 => r.packets,
        reported => reported,
    }
}

/// Computes the utilisation; `rtt_s` sets the length of the windows of the 1st percentile.
pub(crate) fn utilisation(window: &LinkWindow<'_>, t: &Totals, rtt_s: Option<f64>) -> Utilisation {
    let capacity = window.capacity_bytes_per_s();
    // Unknown if no report gives the occupancy of the queue.
    let mut measured = window.intervals.iter().filter(|r| r.arrivals > 0);
    let is_told = measured.any(|r| r.occupancy_bytes.is_some());
    let non_empty =
        (t.arrivals > 0 && is_told).then(|| 1.0 - t.met_empty as f64 / t.arrivals as f64);
    let Some(c) = capacity.filter(|_| window.recorded_s() > 0.0 && !window.silent) else {
        return Utilisation {
            mean: None,
            sampling_error: None,
            non_empty,
            p01: None,
            windows: 0,
        };
    };
    // Sampled counts vary more than the utilisation does.
    let parts = rtt_s.filter(|_| !t.sampled).map_or_else(Vec::new, |rtt| {
        per_window(
            window,
            c / t.per_report,
            (RTTS_PER_WINDOW * rtt * 1e9) as u64,
        )
    });
    Utilisation {
        mean: Some(used(t.wire_bytes as f64 / (c * window.recorded_s()), t)),
        sampling_error: t
            .sampled
            .then(|| sampling_error_bytes(window) / (c * window.recorded_s())),
        non_empty,
        p01: quantile(&parts, 0.01),
        windows: parts.len() as u64,
    }
}

/// Half of the 90 % interval of the bytes that left: each packet is sampled independently and
/// counts as 2^shift, so that it adds 2^shift(2^shift − 1) times its squared length to the variance
/// (Horvitz and Thompson, 1952). All packets are assumed as long as the largest mean length of a
/// record, and sampled with the record's largest shift.
fn sampling_error_bytes(window: &LinkWindow<'_>) -> f64 {
    let mean = |r: &LinkInterval| r.wire_bytes as f64 / f64::from(r.packets.max(1));
    let longest = window.intervals.iter().map(|r| mean(r)).fold(0.0, f64::max);
    let variance = |r: &&LinkInterval| {
        let most = f64::from(1u32 << most_shift(r));
        r.wire_bytes as f64 * scale(r) as f64 * longest * (most - 1.0)
    };
    Z90 * window.intervals.iter().map(variance).sum::<f64>().sqrt()
}

/// Utilisation with lost reports made up for, limited to what the link can carry.
fn used(utilisation: f64, t: &Totals) -> f64 {
    let reported = utilisation / t.per_report;
    utilisation.min(reported.max(1.0))
}

/// Drops, arrivals and utilisation of the consecutive parts, [`BATCH_S`] or slightly longer, that
/// are fully covered by records; empty if the capacity is not known.
pub(crate) fn batches(window: &LinkWindow<'_>) -> Batches {
    let mut batches = Batches::default();
    let length_ns = window.to_ns.saturating_sub(window.from_ns);
    let count = (length_ns as f64 / 1e9 / BATCH_S) as u64;
    let Some(capacity) = window.capacity_bytes_per_s().filter(|_| count > 0) else {
        return batches;
    };
    let part_ns = length_ns / count;
    let part = |time_ns: u64| time_ns.saturating_sub(window.from_ns) / part_ns;
    let mut rows = window.intervals.iter().peekable();
    for at in 0..count {
        let (mut drops, mut arrivals, mut wire_bytes) = (0.0, 0.0, 0.0);
        while let Some(r) = rows.next_if(|r| part(r.start_ns) <= at) {
            drops += f64::from(r.drops);
            arrivals += arrived(r).0 as f64;
            wire_bytes += r.wire_bytes as f64 * scale(r) as f64;
        }
        let whole = |gap: &std::ops::Range<u64>| part(gap.end - 1) < at || part(gap.start) > at;
        if window.gaps.iter().all(whole) {
            let full = capacity * part_ns as f64 / 1e9;
            batches.take(drops, arrivals, wire_bytes / full);
        }
    }
    batches
}

/// Largest number of parts, however long the window and short the RTT.
const MAX_PARTS: u64 = 1_000_000;

/// Utilisation of the consecutive windows of `length_ns` that lie wholly inside and are fully
/// covered by records; the bytes of an interval are spread evenly over it.
fn per_window(window: &LinkWindow<'_>, capacity: f64, length_ns: u64) -> Vec<f64> {
    let length = length_ns.max(1);
    let count = window.to_ns.saturating_sub(window.from_ns) / length;
    let mut parts = vec![0.0; count.min(MAX_PARTS) as usize];
    for r in &window.intervals {
        let start = r.start_ns.saturating_sub(window.from_ns);
        let end = start + r.duration_ns;
        let per_ns = (r.wire_bytes * scale(r)) as f64 / r.duration_ns.max(1) as f64;
        let mut at = start;
        while at < end {
            let part = at / length;
            let until = end.min((part + 1) * length);
            if let Some(bytes) = parts.get_mut(part as usize) {
                *bytes += per_ns * (until - at) as f64;
            }
            at = until;
        }
    }
    let full = capacity * length as f64 / 1e9;
    for gap in &window.gaps {
        let part = |time_ns: u64| (time_ns.saturating_sub(window.from_ns) / length) as usize;
        let last = part(gap.end - 1).min(parts.len().saturating_sub(1));
        let touched = parts.get_mut(part(gap.start)..=last);
        touched.unwrap_or_default().fill(f64::NAN);
    }
    let recorded = parts.into_iter().filter(|bytes| !bytes.is_nan());
    recorded.map(|bytes| bytes / full).collect()
}

/// Queueing delay of packets that left, ms.
pub(crate) fn delay_ms(window: &LinkWindow<'_>) -> Quantiles {
    distribution(
        window,
        1e-6,
        |r| r.delay_ns.as_ref(),
        |r| (r.delay_sum_ns, r.delay_max_ns),
    )
}

/// Occupancy seen by arriving packets, bytes.
pub(crate) fn occupancy_bytes(window: &LinkWindow<'_>) -> Quantiles {
    distribution(
        window,
        1.0,
        |r| r.occupancy_bytes.as_ref(),
        |r| (r.occupancy_sum_bytes, r.occupancy_max_bytes),
    )
}

/// Number of points of the occupancy's distribution.
const OCCUPANCY_POINTS: usize = 100;

/// Distribution of the occupancy seen by arriving packets, while one limit was in force.
pub(crate) fn occupancy(window: &LinkWindow<'_>) -> Option<Occupancy> {
    let mut limits = window.intervals.iter().map(|r| r.limit_bytes);
    let limit = limits.next().filter(|&l| l > 0)?;
    if limits.any(|l| l != limit) {
        return None;
    }
    let mut counts = Counts::new();
    for r in &window.intervals {
        if let Some(h) = r.occupancy_bytes.as_ref() {
            counts.merge(h);
        }
    }
    let total = counts.total();
    if total == 0 {
        return None;
    }
    let empty = counts
        .iter()
        .find(|&(bucket, _)| bucket == 0)
        .map_or(0, |(_, n)| n);
    let met_empty = empty as f64 / total as f64;
    let points = if empty == total { 0 } else { OCCUPANCY_POINTS };
    let bytes = (0..points)
        .map(|i| (i as f64 + 0.5) / OCCUPANCY_POINTS as f64)
        .filter_map(|p| counts.quantile(met_empty + (1.0 - met_empty) * p))
        .collect();
    Some(Occupancy {
        arrivals: total,
        met_empty,
        bytes,
    })
}

fn distribution<'a>(
    window: &LinkWindow<'a>,
    factor: f64,
    histogram: impl Fn(&'a LinkInterval) -> Option<&'a Histogram>,
    sums: impl Fn(&LinkInterval) -> (u64, u64),
) -> Quantiles {
    let mut counts = Counts::new();
    let (mut sum, mut max) = (0u64, 0u64);
    for r in &window.intervals {
        if let Some(h) = histogram(r) {
            counts.merge(h);
        }
        let (s, m) = sums(r);
        (sum, max) = (sum + s, max.max(m));
    }
    // Packets whose report has no value are not included.
    let count = counts.total();
    if count == 0 {
        return Quantiles::default();
    }
    // A bucket may reach beyond the largest value seen.
    let at = |q| counts.quantile(q).map(|v| v.min(max as f64) * factor);
    Quantiles {
        mean: Some(sum as f64 / count as f64 * factor),
        p50: at(0.5),
        p99: at(0.99),
        max: Some(max as f64 * factor),
    }
}
