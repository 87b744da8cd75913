// SPDX-License-Identifier: Apache-2.0
//! D(t) and s (UTB §4): how the reductions of different flows coincide.

use crate::signals::Signal;
use crate::stats::{mean, mean_error, mean_error_in_time};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use tidemark_proto::telemetry::LinkInterval;

/// D and s over the RTTs that had a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Synchronised {
    pub rtts: u64,
    pub d_mean: f64,
    pub d_error: f64,
    pub d_max: f64,
    pub s_mean: f64,
    pub s_error: f64,
    pub s_max: f64,
    /// Fraction of these RTTs in which Theorem 5's condition holds.
    pub condition_fraction: f64,
    /// Number of independent RTTs that would give `condition_fraction` the same precision.
    pub condition_rtts: f64,
}

/// Numbers the round trips of a window: RTT(t) = Tₑ + Q(t)/C (UTB §3.3), from the queueing delay of
/// each interval.
#[derive(Clone, Debug)]
pub(crate) struct RoundTrips {
    /// Start of each interval, and the number of round trips before it, ascending.
    starts: Vec<(u64, f64)>,
    /// Round trips per ns in the last interval.
    rate: f64,
}

impl RoundTrips {
    pub fn of(intervals: &[&LinkInterval], t_e_ns: u64) -> Self {
        let mut all = Self {
            starts: Vec::with_capacity(intervals.len()),
            rate: 0.0,
        };
        let (mut sum, mut delay_ns) = (0.0, 0.0);
        for r in intervals {
            if r.packets > 0 {
                delay_ns = r.delay_sum_ns as f64 / f64::from(r.packets);
            }
            all.starts.push((r.start_ns, sum));
            all.rate = 1.0 / (t_e_ns as f64 + delay_ns).max(1.0);
            sum += r.duration_ns as f64 * all.rate;
        }
        all
    }

    /// Number of the round trip that contains `time_ns`.
    pub fn number(&self, time_ns: u64) -> u64 {
        let next = self.starts.partition_point(|s| s.0 <= time_ns);
        let Some(&(start, before)) = next.checked_sub(1).and_then(|i| self.starts.get(i)) else {
            return 0;
        };
        let elapsed = (time_ns - start) as f64;
        let rate = match self.starts.get(next) {
            Some(&(end, after)) => (after - before) / (end - start).max(1) as f64,
            None => self.rate,
        };
        (before + elapsed * rate) as u64
    }
}

/// Number of distinct flows of `of` with a drop or CE mark, for every round trip in which there is
/// one, in order.
pub(crate) fn distinct_per_rtt(
    signals: &[Signal],
    rounds: &RoundTrips,
    of: &FxHashSet<u64>,
) -> Vec<f64> {
    let per = flows_per_rtt(signals, rounds, |flow| of.contains(&flow));
    per.values().map(|flows| flows.len() as f64).collect()
}

fn flows_per_rtt(
    signals: &[Signal],
    rounds: &RoundTrips,
    of: impl Fn(u64) -> bool,
) -> BTreeMap<u64, FxHashSet<u64>> {
    let mut per: BTreeMap<u64, FxHashSet<u64>> = BTreeMap::new();
    for s in signals.iter().filter(|s| of(s.flow)) {
        per.entry(rounds.number(s.time_ns))
            .or_default()
            .insert(s.flow);
    }
    per
}

/// Mean packets dropped or marked per round trip with a loss; `None` without losses.
pub(crate) fn lost_per_rtt(signals: &[Signal], rounds: &RoundTrips) -> Option<f64> {
    let mut per: BTreeMap<u64, u64> = BTreeMap::new();
    for s in signals {
        *per.entry(rounds.number(s.time_ns)).or_default() += s.packets;
    }
    let lost: Vec<f64> = per.values().map(|&packets| packets as f64).collect();
    mean(&lost)
}

/// Change of mean D if a flow is removed from `of`, or added to it, for each flow: its class may be
/// wrong.
pub(crate) fn of_each_flow(
    signals: &[Signal],
    rounds: &RoundTrips,
    of: &FxHashSet<u64>,
) -> FxHashMap<u64, f64> {
    let per = flows_per_rtt(signals, rounds, |_| true);
    let lbp_in = |flows: &FxHashSet<u64>| flows.iter().filter(|f| of.contains(f)).count();
    // For each flow: round trips in which it lost, and those in which no other flow of `of` lost.
    let mut of_flow: FxHashMap<u64, (f64, f64)> = FxHashMap::default();
    let (mut sum, mut rtts) = (0.0, 0.0);
    for flows in per.values() {
        let lbp = lbp_in(flows);
        sum += lbp as f64;
        rtts += f64::from(u8::from(lbp > 0));
        for f in flows {
            let (all, alone) = of_flow.entry(*f).or_default();
            *all += 1.0;
            *alone += f64::from(u8::from(lbp == usize::from(of.contains(f))));
        }
    }
    let mean = |sum: f64, rtts: f64| if rtts > 0.0 { sum / rtts } else { 0.0 };
    let d = mean(sum, rtts);
    let without = |(all, alone): (f64, f64)| d - mean(sum - all, rtts - alone);
    let with = |(all, alone): (f64, f64)| mean(sum + all, rtts + alone) - d;
    of_flow
        .into_iter()
        .map(|(f, n)| (f, if of.contains(&f) { without(n) } else { with(n) }))
        .collect()
}

/// Gain in effective samples of the condition: it holds and fails more regularly than at random,
/// because queues fill again and again, so its share is known as from this many times the round
/// trips (from the runs of `make truth`).
const MORE_REGULAR: f64 = 1.6;

/// Summarises D; `compensated` = n²/(Δ·BDP), `root` = √n. `None` without a loss.
pub(crate) fn synchronised(d: &[f64], compensated: f64, root: f64) -> Option<Synchronised> {
    let d_mean = mean(d)?;
    let s: Vec<f64> = d.iter().map(|d| (d - compensated).max(0.0)).collect();
    let holds: Vec<f64> = d
        .iter()
        .map(|&d| f64::from(u8::from(d <= compensated + root)))
        .collect();
    // Scales the count so that independent round trips would have the same error.
    let (alone, in_time) = (mean_error(&holds), mean_error_in_time(&holds));
    let apart = if in_time > 0.0 { alone / in_time } else { 1.0 };
    Some(Synchronised {
        rtts: d.len() as u64,
        d_mean,
        d_error: mean_error_in_time(d),
        d_max: d.iter().copied().fold(0.0, f64::max),
        s_mean: mean(&s)?,
        s_error: mean_error_in_time(&s),
        s_max: s.iter().copied().fold(0.0, f64::max),
        condition_fraction: mean(&holds)?,
        condition_rtts: MORE_REGULAR * d.len() as f64 * apart * apart,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_flows_in_every_rtt_with_a_loss() {
        let of: FxHashSet<u64> = [1, 2, 3].into_iter().collect();
        let signals =
            [(100, 1), (101, 1), (105, 2), (112, 9), (131, 3)].map(|(time_ns, flow)| Signal {
                time_ns,
                flow,
                packets: 1,
            });
        let interval = |start_ns, packets, delay_sum_ns| LinkInterval {
            start_ns,
            duration_ns: 20,
            packets,
            delay_sum_ns,
            ..LinkInterval::default()
        };
        let quiet = [interval(100, 0, 0), interval(120, 0, 0)];
        let rounds = RoundTrips::of(&[&quiet[0], &quiet[1]], 10);
        let d = distinct_per_rtt(&signals, &rounds, &of);
        assert_eq!(d, [2.0, 1.0]); // flow 9 is not counted
        assert_eq!(lost_per_rtt(&signals, &rounds), Some(5.0 / 3.0));
        assert_eq!(lost_per_rtt(&[], &rounds), None);
        // Without flow 1, or flow 3, one flow in each; with flow 9, 4 flows in three round trips.
        let each = of_each_flow(&signals, &rounds, &of);
        let got = [1, 2, 3, 9].map(|f| each[&f]);
        for (got, d) in got.into_iter().zip([0.5, 0.5, -0.5, 4.0 / 3.0 - 1.5]) {
            assert!((got - d).abs() < 1e-12, "{each:?}");
        }
        let s = synchronised(&d, 0.5, 1.0).unwrap();
        assert_eq!((s.d_mean, s.d_max, s.s_mean, s.s_max), (1.5, 2.0, 1.0, 1.5));
        assert_eq!(s.condition_fraction, 0.5);
        assert_eq!(synchronised(&[], 0.5, 1.0), None);
    }

    #[test]
    fn a_queue_lengthens_the_round_trips() {
        let interval = |start_ns, delay_ns: u64| LinkInterval {
            start_ns,
            duration_ns: 30,
            packets: 2,
            delay_sum_ns: 2 * delay_ns,
            ..LinkInterval::default()
        };
        let (empty, full) = (interval(0, 0), interval(30, 5));
        let rounds = RoundTrips::of(&[&empty, &full], 10);
        let numbers = [0, 9, 10, 29, 30, 44, 46, 61, 76].map(|t| rounds.number(t));
        assert_eq!(numbers, [0, 0, 1, 2, 3, 3, 4, 5, 6]);
    }
}
