// SPDX-License-Identifier: Apache-2.0
//! Base RTT of a flow from its clock of acknowledgements, where no handshake was seen.
//!
//! A packet that left the queue at e is acknowledged at its sender's side of the switch
//! a base RTT T later, and lets the next ones go. So what comes at t follows what left
//! at t − T: arrivals and departures of a flow are most alike when shifted by T, however
//! long the queue is (the spacing of departures alone repeats every T + D).
//!
//! What comes evenly, or is paced by a slower link or by the application, repeats at its
//! own spacing: of a flow whose packets come singly nothing is told.

use crate::spacing::{Spacing, spacing};
use crate::window::FlowWindow;
use tidemark_proto::telemetry::FlowInterval;

/// Bins of the newest records that are compared.
const BINS: u64 = 2048;
/// Bins and packets needed.
const LEAST_BINS: usize = 256;
const LEAST_PACKETS: f32 = 100.0;
/// Shortest bin, ns: shorter records are put together.
const SHORTEST_BIN_NS: u64 = 5_000_000;
/// Longest base RTT that is looked for, ns, and so many bins at most.
const LONGEST_NS: u64 = 620_000_000;
const MOST_LAGS: usize = 124;
/// A window's sawtooth is slower than this, ns: the mean about each bin is taken out.
const TREND_NS: u64 = 1_000_000_000;
/// Correlation of a bin and the better of its neighbours (a peak falls between two) from
/// which on a flow has a clock: series of 2048 bins without have 0.03.
const LEAST_PAIR: f32 = 0.4;
/// A window repeats every round trip: the first peak with this part of the highest.
const PART_OF_HIGHEST: f32 = 0.7;
/// From this lag on a peak has to stand out from what is before it by this part. At any
/// lag it is higher than the correlation before the first lag: the clock repeats what
/// comes together, a sawtooth of the window only resembles itself.
const STANDS_OUT_FROM: usize = 4;
const STANDS_OUT: f32 = 0.5;
/// Error of a peak's place, bins, and of what else there is, as a part.
const ERROR_BINS: f64 = 0.15;
const ERROR: f64 = 0.03;

/// Base RTT (s) and its relative error.
pub(crate) fn self_clock(flow: &FlowWindow<'_>) -> Option<(f64, f64)> {
    if spacing(flow) == Spacing::Singly {
        return None;
    }
    let series = Series::of(flow)?;
    let lag = series.lag()?;
    let error = ERROR + ERROR_BINS / lag;
    Some((lag * series.bin_s, error))
}

/// What came and what left, by bins, without their trends.
struct Series {
    bin_s: f64,
    came: Vec<f32>,
    left: Vec<f32>,
    /// First lag at which a packet is not compared with itself.
    first_lag: usize,
    lags: usize,
}

impl Series {
    fn of(flow: &FlowWindow<'_>) -> Option<Self> {
        let newest = flow.history.last()?;
        let record_ns = newest.duration_ns.max(1);
        let bin_ns = record_ns.saturating_mul(SHORTEST_BIN_NS.div_ceil(record_ns));
        let end_ns = newest.start_ns.saturating_add(record_ns);
        let since_ns = end_ns.saturating_sub(bin_ns.saturating_mul(BINS));
        let at = flow.history.partition_point(|r| r.start_ns < since_ns);
        let records = flow.history.get(at..)?;
        let begin_ns = records.first()?.start_ns;
        let bins = end_ns.saturating_sub(begin_ns).div_ceil(bin_ns).min(BINS) as usize;
        if bins < LEAST_BINS {
            return None;
        }
        let (mut came, mut left) = (vec![0.0f32; bins], vec![0.0f32; bins]);
        let (mut packets, mut delay_ns) = (0.0f32, 0.0f64);
        for r in records.iter().filter(|r| r.packets > 0) {
            let count = r.packets as f32;
            packets += count;
            delay_ns += r.delay_sum_ns as f64;
            let place = r.start_ns.saturating_sub(begin_ns) as f64 / bin_ns as f64;
            add(&mut left, place.floor(), count);
            let earlier = place - mean_delay_ns(r) / bin_ns as f64;
            let part = (earlier - earlier.floor()) as f32;
            add(&mut came, earlier.floor(), count * (1.0 - part));
            add(&mut came, earlier.floor() + 1.0, count * part);
        }
        if packets < LEAST_PACKETS {
            return None;
        }
        let half = (TREND_NS / bin_ns / 2) as usize;
        take_out_trend(&mut came, half);
        take_out_trend(&mut left, half);
        let waits_bins = delay_ns / f64::from(packets) / bin_ns as f64;
        Some(Self {
            bin_s: bin_ns as f64 / 1e9,
            came,
            left,
            first_lag: if waits_bins >= 1.0 { 1 } else { 2 },
            lags: ((LONGEST_NS / bin_ns) as usize).min(MOST_LAGS),
        })
    }

    /// The lag at which arrivals follow departures, bins.
    fn lag(&self) -> Option<f64> {
        let power = |v: &[f32]| dot(v, v) / v.len().max(1) as f32;
        let scale = (power(&self.came) * power(&self.left)).sqrt();
        if scale <= 0.0 {
            return None;
        }
        let correlation: Vec<f32> = (0..=self.lags)
            .map(|lag| {
                let came = self.came.get(lag..).unwrap_or_default();
                dot(came, &self.left) / came.len().max(1) as f32 / scale
            })
            .collect();
        first_peak(&correlation, self.first_lag)
    }
}

fn mean_delay_ns(r: &FlowInterval) -> f64 {
    r.delay_sum_ns as f64 / f64::from(r.packets.max(1))
}

fn add(bins: &mut [f32], place: f64, packets: f32) {
    if place >= 0.0
        && let Some(bin) = bins.get_mut(place as usize)
    {
        *bin += packets;
    }
}

/// Takes the mean of the bins up to `half` away from each out of it.
fn take_out_trend(bins: &mut [f32], half: usize) {
    let mut sums = Vec::with_capacity(bins.len() + 1);
    let mut sum = 0.0f64;
    sums.push(sum);
    for bin in bins.iter() {
        sum += f64::from(*bin);
        sums.push(sum);
    }
    let last = bins.len();
    for (i, bin) in bins.iter_mut().enumerate() {
        let (from, to) = (i.saturating_sub(half), (i + half + 1).min(last));
        let within = sums.get(to).zip(sums.get(from)).map_or(0.0, |(a, b)| a - b);
        *bin -= (within / (to - from).max(1) as f64) as f32;
    }
}

/// In several sums, so that they are added up at once.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let (mut sums, mut rest) = ([0.0f32; LANES], 0.0);
    let n = a.len().min(b.len());
    let (a, b) = (
        a.get(..n).unwrap_or_default(),
        b.get(..n).unwrap_or_default(),
    );
    let (chunks_a, chunks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    for (x, y) in chunks_a.remainder().iter().zip(chunks_b.remainder()) {
        rest += x * y;
    }
    for (x, y) in chunks_a.zip(chunks_b) {
        for ((s, x), y) in sums.iter_mut().zip(x).zip(y) {
            *s += x * y;
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// The first peak of the highest ones, between bins. `None` without one that stands out.
fn first_peak(correlation: &[f32], first_lag: usize) -> Option<f64> {
    let peaks: Vec<(usize, [f32; 3])> = correlation
        .windows(3)
        .enumerate()
        .filter_map(|(before, w)| {
            let [a, b, c] = *w else { return None };
            let lag = before + 1;
            (lag >= first_lag && b >= a && b >= c).then_some((lag, [a, b, c]))
        })
        .collect();
    let pair = |[a, b, c]: [f32; 3]| b + a.max(c);
    let highest = peaks.iter().map(|p| pair(p.1)).fold(0.0, f32::max);
    if highest < LEAST_PAIR {
        return None;
    }
    let &(lag, around) = peaks
        .iter()
        .find(|p| pair(p.1) >= PART_OF_HIGHEST * highest)?;
    let before = correlation.get(first_lag..lag).unwrap_or_default();
    let lowest = before.iter().copied().fold(f32::INFINITY, f32::min);
    let [a, b, c] = around.map(|v| f64::from(v.max(0.0)));
    let together = first_lag.checked_sub(1).and_then(|i| correlation.get(i));
    if together.is_some_and(|&together| f64::from(together) > b) {
        return None;
    }
    if lag >= STANDS_OUT_FROM && f64::from(lowest) > f64::from(STANDS_OUT) * b {
        // Repeats faster than can be told.
        return None;
    }
    Some(lag as f64 + (c - a) / (a + b + c))
}

#[cfg(test)]
mod tests;
