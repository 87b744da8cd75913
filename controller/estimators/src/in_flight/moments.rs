// SPDX-License-Identifier: Apache-2.0
//! Packets in flight at points in time.

use crate::window::FlowWindow;
use tidemark_proto::telemetry::FlowInterval;

/// Number of points per round trip.
const POINTS_PER_RTT: f64 = 8.0;
/// Largest number of points, however long the history.
const MAX_POINTS: u64 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    pub time_ns: u64,
    pub packets: f64,
    /// Base RTT plus queueing delay here, s.
    pub rtt_s: f64,
}

/// Returns the flow's packets in flight between two times, from its records and its base RTT
/// `base_s`.
pub(crate) fn moments(flow: &FlowWindow<'_>, base_s: f64, from_ns: u64, to_ns: u64) -> Vec<Moment> {
    let mut with_packets = flow.history.iter().filter(|r| r.packets > 0);
    let Some(first) = with_packets.next() else {
        return Vec::new();
    };
    let last = with_packets.next_back().unwrap_or(first);
    let interval = first.duration_ns.max(1);
    let base_ns = base_s * 1e9;
    let begin = from_ns.max(first.start_ns.saturating_add(base_ns as u64));
    let end = to_ns.min(last.start_ns);
    if end <= begin {
        return Vec::new();
    }
    let step = (((base_ns + flow.life.mean_delay_ns()) / POINTS_PER_RTT) as u64)
        .max(interval)
        .max((end - begin) / MAX_POINTS);
    let (before, records) = since(&flow.history, (begin as f64 - base_ns.max(0.0)) as u64);
    // Number of packets that left by a time, linear within a record.
    let mut total = before as f64;
    let mut curve: Vec<(f64, f64)> = Vec::with_capacity(2 * records.len());
    let mut delays: Vec<(f64, f64)> = Vec::with_capacity(records.len());
    for r in records.iter().filter(|r| r.packets > 0) {
        let (start, packets) = (r.start_ns as f64, f64::from(r.packets));
        curve.push((start, total));
        total += packets;
        curve.push(((r.start_ns + r.duration_ns) as f64, total));
        let middle = start + r.duration_ns as f64 / 2.0;
        delays.push((middle, r.delay_sum_ns as f64 / packets));
    }
    let (mut low, mut high, mut delay) = (
        Cursor::new(&curve),
        Cursor::new(&curve),
        Cursor::new(&delays),
    );
    let mut out = Vec::with_capacity(((end - begin) / step) as usize + 1);
    let mut at = begin;
    while at < end {
        let t = at as f64;
        let d = delay.at(t);
        if t + d > end as f64 {
            break;
        }
        let packets = high.at(t + d) - low.at(t - base_ns);
        out.push(Moment {
            time_ns: at,
            packets: packets * flow.sampling,
            rtt_s: (base_ns + d) / 1e9,
        });
        at += step;
    }
    out
}

/// Returns the records needed from `time_ns` on, preceded by the number of packets in all earlier
/// records. The last record with packets that ends by `time_ns` is still needed.
fn since<'r, 'a>(history: &'r [&'a FlowInterval], time_ns: u64) -> (u64, &'r [&'a FlowInterval]) {
    let (mut packets, mut last_packets, mut from) = (0, 0, 0);
    for (i, r) in history.iter().enumerate().filter(|(_, r)| r.packets > 0) {
        if r.start_ns + r.duration_ns > time_ns {
            break;
        }
        (packets, last_packets, from) = (packets + last_packets, u64::from(r.packets), i);
    }
    (packets, history.get(from..).unwrap_or_default())
}

/// Linear interpolation at arguments that rarely decrease.
struct Cursor<'a> {
    points: &'a [(f64, f64)],
    next: usize,
}

impl<'a> Cursor<'a> {
    fn new(points: &'a [(f64, f64)]) -> Self {
        Self { points, next: 0 }
    }

    fn at(&mut self, x: f64) -> f64 {
        while self.next > 0 && self.points.get(self.next - 1).is_some_and(|p| p.0 > x) {
            self.next -= 1;
        }
        while self.points.get(self.next).is_some_and(|p| p.0 <= x) {
            self.next += 1;
        }
        let before = self.next.checked_sub(1).and_then(|i| self.points.get(i));
        match (before, self.points.get(self.next)) {
            (Some(&(x0, y0)), Some(&(x1, y1))) if x1 > x0 => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
            (Some(&(_, y)), _) | (None, Some(&(_, y))) => y,
            (None, None) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::rng::Rng;

    #[test]
    fn a_cursor_interpolates() {
        let mut c = Cursor::new(&[(0.0, 0.0), (10.0, 5.0), (20.0, 5.0)]);
        let got: Vec<f64> = [-1.0, 0.0, 5.0, 15.0, 25.0, 4.0].map(|x| c.at(x)).into();
        assert_eq!(got, [0.0, 0.0, 2.5, 5.0, 5.0, 2.0]);
        assert_eq!(Cursor::new(&[]).at(1.0), 0.0);
    }

    /// The result is as if every record of the history were used.
    #[test]
    fn moments_begin_where_they_are_asked_for() {
        const MS: u64 = 1_000_000;
        let mut rng = Rng::of(11);
        let records: Vec<FlowInterval> = (0..400)
            .filter(|i| i % 7 != 3)
            .map(|i| {
                let packets = (rng.fraction() * 5.0) as u32;
                FlowInterval {
                    start_ns: (1000 + i * 10) * MS,
                    duration_ns: 10 * MS,
                    packets,
                    delay_sum_ns: u64::from(packets) * (rng.fraction() * 40.0 * 1e6) as u64,
                    ..FlowInterval::default()
                }
            })
            .collect();
        let flow = FlowWindow::of_records(records.iter().collect());
        let end_ns = 4900 * MS;
        let all = moments(&flow, 0.035, 0, end_ns);
        let step = all[1].time_ns - all[0].time_ns;
        assert_eq!(step, 10 * MS);
        for skipped in [0, 1, 5, 50, 200, 300] {
            let some = moments(&flow, 0.035, all[skipped].time_ns, end_ns);
            assert_eq!(some, all[skipped..], "{skipped}");
        }
    }
}
