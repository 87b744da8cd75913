// SPDX-License-Identifier: Apache-2.0
//! The echo of a flow's departures in its later arrivals shows its base RTT, and whether this queue
//! clocks its packets. It needs no transport header, so it works for any transport.
//!
//! A window-based sender sends when an ACK arrives: a packet arrives one base RTT after an earlier
//! packet left, however long that one waited. The times from each departure to the later arrivals
//! therefore have a peak at the base RTT, above the level due to chance.

use crate::window::FlowWindow;
use tidemark_proto::departures::{TENTHS, occupied, unpack};
use tidemark_proto::telemetry::FlowInterval;

/// Longest lag searched, s.
const LONGEST_S: f64 = 0.64;
/// Longest lag searched over the handshake's RTT, if that is known: a queue elsewhere adds to it.
const OF_HANDSHAKE: f64 = 1.5;
/// Least length of a bin, ns. A bin is a tenth of a record, or as many tenths as reach this length.
const LEAST_BIN_NS: f64 = 1e6;
/// Number of newest bins with departures that are used, in addition to one per lag: the arrivals
/// for the newest departures have not all come yet.
const MOST: usize = 512;
/// Longest history used, in bins before the newest record.
const MOST_BINS: f64 = 65_536.0;
/// Least number of packets for an echo.
const LEAST_PACKETS: f32 = 100.0;
/// Lags on either side whose median is the count due to chance.
const AROUND: usize = 20;
/// Shortest lag of a peak, bins: shorter lags are between packets that left together.
const FIRST: usize = 3;
/// Number of lags summed in one pass.
const AT_ONCE: usize = 32;

/// How a flow's arrivals follow its departures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Echo {
    /// Base RTT plus the transmission time here, s.
    pub lag_s: f64,
    /// Height of the peak above chance, in standard deviations.
    pub z: f64,
    /// `z` of a peak with a `share` of one.
    z_of_one: f64,
    bin_s: f64,
    /// Arrivals at the peak per departure, beyond chance: 1 to 3 if ACKs clock a window, near 0 if
    /// nothing here clocks the flow.
    pub share: f64,
}

/// Least `share` of a flow that its ACKs clock: windows have 1.0 to 3, other flows 0.02 to 0.6, in
/// simulation and with real kernels.
pub(crate) const CLOCKS: f64 = 0.6;
/// Least `z` that is not chance, for the best of so many lags.
const LEAST_Z: f64 = 5.0;

impl Echo {
    /// Whether the flow's packets follow packets that left here earlier.
    pub fn clocks(&self) -> bool {
        self.share >= CLOCKS && self.z >= LEAST_Z
    }

    /// Returns the relative error of the lag: half a bin.
    pub fn error(&self) -> f64 {
        0.5 * self.bin_s / self.lag_s
    }

    /// Whether there are enough packets to tell if this queue clocks the flow.
    pub fn tells(&self) -> bool {
        self.z_of_one * CLOCKS >= LEAST_Z
    }
}

/// Finds the echoes of flows, one flow after another, in reused buffers.
#[derive(Default)]
pub(crate) struct Echoes(Series);

impl Echoes {
    /// Returns the flow's echo over the newest part of its history. `None` with too few packets, or
    /// if the handshake's RTT is longer than the longest lag.
    pub fn of(&mut self, flow: &FlowWindow<'_>) -> Option<Echo> {
        let handshake_ns = flow.info.map_or(0, |i| i.handshake_rtt_ns);
        let longest_s = match handshake_ns as f64 / 1e9 {
            0.0 => LONGEST_S,
            handshake_s if handshake_s >= LONGEST_S => return None,
            handshake_s => LONGEST_S.min(OF_HANDSHAKE * handshake_s),
        };
        let series = &mut self.0;
        series.fill(&flow.history, longest_s)?;
        let counts = series.counts();
        let chance = chance(&counts);
        peak(&counts, &chance).map(|(lag, z, beyond)| {
            let share = beyond / series.departures_before(lag) * flow.sampling;
            Echo {
                lag_s: lag * series.bin_s,
                z,
                z_of_one: z / share,
                bin_s: series.bin_s,
                share,
            }
        })
    }
}

/// Departures and arrivals per bin.
#[derive(Default)]
struct Series {
    bin_s: f64,
    bins: usize,
    /// Number of lags, one per bin.
    lags: usize,
    /// Bins with departures, ascending, and their departures.
    left: Vec<(u32, f32)>,
    /// Arrivals per bin.
    came: Vec<f32>,
}

impl Series {
    fn fill(&mut self, history: &[&FlowInterval], longest_s: f64) -> Option<()> {
        let newest = history.last()?;
        let record_ns = newest.duration_ns.max(TENTHS as u64);
        let tenth_ns = record_ns as f64 / TENTHS as f64;
        let bin_ns = tenth_ns * (LEAST_BIN_NS / tenth_ns).ceil();
        let per_bin = tenth_ns / bin_ns;
        if bin_ns * (2 * AROUND) as f64 > LONGEST_S * 1e9 {
            return None;
        }
        let lags = (longest_s * 1e9 / bin_ns) as usize + 2 * AROUND;
        let lags = lags.next_multiple_of(AT_ONCE);
        let earliest_ns = newest.start_ns.saturating_sub((MOST_BINS * bin_ns) as u64);
        // Goes back from the newest record, over as many as are used.
        let mut more = MOST + lags;
        let is_before = |r: &FlowInterval| {
            let bins = occupied(r.departures);
            let before = more < bins || r.start_ns < earliest_ns;
            more = more.saturating_sub(bins);
            before
        };
        let from = history
            .iter()
            .copied()
            .rposition(is_before)
            .map_or(0, |before| before + 1);
        let records = history.get(from..)?;
        let begin_ns = records.first()?.start_ns;
        let since_begin = |r: &FlowInterval| r.start_ns.saturating_sub(begin_ns) as f64;
        let bins = ((since_begin(newest) + record_ns as f64) / bin_ns) as usize;
        (self.bin_s, self.bins, self.lags) = (bin_ns / 1e9, bins, lags);
        self.left.clear();
        self.came.clear();
        self.came.resize(bins + lags + 2, 0.0);
        for (i, r) in records.iter().enumerate().filter(|(_, r)| r.packets > 0) {
            let is_near = |other: &&&FlowInterval| {
                other.packets > 0 && other.start_ns.abs_diff(r.start_ns) == r.duration_ns
            };
            let before = i
                .checked_sub(1)
                .and_then(|i| records.get(i))
                .filter(is_near);
            let after = records.get(i + 1).filter(is_near);
            let begin = since_begin(r) / bin_ns;
            let own = delay_ns(r) / bin_ns;
            let change = |other: Option<&&FlowInterval>| {
                other.map_or(0.0, |o| (delay_ns(o) / bin_ns - own) / TENTHS as f64)
            };
            let (before, after) = (change(before), change(after));
            for (tenth, n) in unpack(r.departures).into_iter().enumerate() {
                if n == 0 {
                    continue;
                }
                let tenths = tenth as f64 + 0.5;
                let left = begin + tenths * per_bin;
                // The delay changes linearly between the middles of records.
                let from_middle = tenths - TENTHS as f64 / 2.0;
                let toward = if from_middle < 0.0 { before } else { after };
                let delay = own + from_middle.abs() * toward;
                self.left(left as u32, n as f32);
                self.came(left - delay - 0.5, n as f32);
            }
        }
        let packets = self.left.iter().map(|l| l.1).sum::<f32>();
        (packets >= LEAST_PACKETS).then_some(())
    }

    fn left(&mut self, at: u32, n: f32) {
        match self.left.last_mut().filter(|l| l.0 == at) {
            Some((_, same)) => *same += n,
            None => self.left.push((at, n)),
        }
    }

    fn came(&mut self, place: f64, n: f32) {
        if place < 0.0 {
            return;
        }
        let at = place as u32;
        let part = (place - f64::from(at)) as f32;
        let bins = self.came.get_mut(at as usize..);
        if let Some([bin, next]) = bins.and_then(<[f32]>::first_chunk_mut) {
            *bin += n * (1.0 - part);
            *next += n * part;
        }
    }

    /// Returns the number of pairs of a departure and a later arrival, per lag. Takes a few lags at
    /// a time, so that their sums stay in registers.
    fn counts(&self) -> Vec<f32> {
        let mut counts = Vec::with_capacity(self.lags);
        while counts.len() < self.lags {
            let lag = counts.len();
            let mut sums = [0.0f32; AT_ONCE];
            // The newest departures have no arrivals this late yet.
            let early = |l: &(u32, f32)| l.0 as usize + lag < self.bins + 2;
            let newest = self.left.iter().rposition(early);
            let left = self.left.get(..=newest.unwrap_or(0)).unwrap_or_default();
            for &(at, n) in left {
                let came = self.came.get(at as usize + lag..);
                let came = came.and_then(<[f32]>::first_chunk);
                let came: &[f32; AT_ONCE] = came.unwrap_or(&[0.0; AT_ONCE]);
                for (sum, came) in sums.iter_mut().zip(came) {
                    *sum += n * came;
                }
            }
            counts.extend_from_slice(&sums);
        }
        counts
    }

    /// Returns the number of departures early enough for an arrival `lag` bins later to be seen.
    fn departures_before(&self, lag: f64) -> f64 {
        let last = self.bins.saturating_sub(lag as usize);
        let early = self.left.iter().take_while(|(at, _)| *at as usize <= last);
        early.map(|&(_, n)| f64::from(n)).sum::<f64>().max(1.0)
    }
}

fn delay_ns(r: &FlowInterval) -> f64 {
    r.delay_sum_ns as f64 / f64::from(r.packets.max(1))
}

/// Returns the counts due to chance: the running median, since a peak is narrower.
fn chance(counts: &[f32]) -> Vec<f32> {
    const STEP: usize = 4;
    let mut chance = Vec::with_capacity(counts.len());
    // Sorted by value.
    let mut near: Vec<f32> = Vec::with_capacity(2 * (AROUND + STEP));
    let place = |near: &[f32], n: &f32| near.partition_point(|v| v.total_cmp(n).is_lt());
    let mut around = 0..0;
    while chance.len() < counts.len() {
        let at = chance.len();
        let next = at.saturating_sub(AROUND)..(at + STEP + AROUND).min(counts.len());
        for n in counts.get(around.end..next.end).unwrap_or_default() {
            near.insert(place(&near, n), *n);
        }
        for n in counts.get(around.start..next.start).unwrap_or_default() {
            let at = place(&near, n);
            if at < near.len() {
                near.remove(at);
            }
        }
        around = next;
        let median = near.get(near.len() / 2).copied().unwrap_or_default();
        chance.resize((at + STEP).min(counts.len()), median);
    }
    chance
}

/// Returns the peak's lag (bins), standard deviations and pairs beyond chance.
fn peak(counts: &[f32], chance: &[f32]) -> Option<(f64, f64, f64)> {
    let beyond: Vec<f32> = counts.iter().zip(chance).map(|(n, c)| n - c).collect();
    let sums: Vec<(f32, f32)> = beyond
        .windows(3)
        .zip(chance.windows(3))
        .map(|(b, c)| {
            let sum: f32 = b.iter().sum();
            (sum, sum / (c.iter().sum::<f32>() + 1.0).sqrt())
        })
        .collect();
    let (at, &(sum, z)) = sums
        .iter()
        .enumerate()
        .skip(FIRST - 1)
        .max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let around = beyond.get(at..at + 3)?;
    let weights: f32 = around.iter().map(|b| b.max(0.0)).sum();
    let moment: f32 = around
        .iter()
        .enumerate()
        .map(|(i, b)| i as f32 * b.max(0.0))
        .sum();
    let lag = at as f64 + f64::from(moment / weights.max(f32::MIN_POSITIVE));
    Some((lag, f64::from(z), f64::from(sum)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use test_support::rng::Rng;
    use tidemark_proto::departures::pack;

    const TENTH_NS: u64 = 1_000_000;
    const SECONDS: u64 = 20;

    /// Returns 10 ms records of packets, given by arrival and departure time in ms.
    fn records(packets: &[(f64, f64)]) -> Vec<FlowInterval> {
        let mut all: BTreeMap<u64, (FlowInterval, [u16; TENTHS])> = BTreeMap::new();
        for &(arrival_ms, departure_ms) in packets {
            let tenth = departure_ms as u64;
            let (record, tenths) = all.entry(tenth / 10).or_default();
            record.start_ns = tenth / 10 * 10 * TENTH_NS;
            record.duration_ns = 10 * TENTH_NS;
            record.packets += 1;
            record.delay_sum_ns += ((departure_ms - arrival_ms) * 1e6) as u64;
            tenths[(tenth % 10) as usize] += 1;
        }
        let all = all.into_values();
        all.map(|(record, tenths)| FlowInterval {
            departures: pack(tenths),
            ..record
        })
        .collect()
    }

    /// Queueing delay at a time, ms: a sawtooth of 3 s.
    fn delay_ms(at_ms: f64) -> f64 {
        20.0 + at_ms % 3000.0 / 100.0
    }

    /// Packets of a sender with a window of `window` packets in two bursts, a base RTT of `base_ms`
    /// and up to 0.6 ms of jitter. One packet in `part` is reported.
    fn windowed(window: usize, base_ms: f64, part: u64) -> Vec<(f64, f64)> {
        let mut rng = Rng::of(7);
        let mut packets = Vec::new();
        for i in 0..window {
            let mut at = if i % 2 == 0 { 0.0 } else { 13.0 } + i as f64 * 0.2;
            while at < SECONDS as f64 * 1e3 {
                let left = at + delay_ms(at);
                packets.push((at, left));
                at = left + base_ms + 0.6 * rng.fraction();
            }
        }
        packets.retain(|_| part == 1 || rng.chance(1.0 / part as f64));
        packets.sort_by(|a, b| a.1.total_cmp(&b.1));
        packets
    }

    fn told(packets: &[(f64, f64)], sampling: f64) -> Option<Echo> {
        let records = records(packets);
        let flow = FlowWindow {
            sampling,
            ..FlowWindow::of_records(records.iter().collect())
        };
        Echoes::default().of(&flow)
    }

    /// Compares with a median of all nearby counts, for four counts at a time.
    #[test]
    fn chance_is_the_running_median() {
        let mut rng = Rng::of(5);
        for len in [0, 1, 3, 4, 21, 44, 128, 257] {
            let counts: Vec<f32> = (0..len)
                .map(|_| (rng.fraction() * 9.0).floor() as f32 / 3.0)
                .collect();
            let median = |at: usize| {
                let first = at / 4 * 4;
                let around = first.saturating_sub(AROUND)..(first + 4 + AROUND).min(len);
                let mut near = counts[around].to_vec();
                near.sort_by(f32::total_cmp);
                near[near.len() / 2]
            };
            let medians: Vec<f32> = (0..len).map(median).collect();
            assert_eq!(chance(&counts), medians, "{len}");
        }
    }

    #[test]
    fn a_window_is_clocked_and_shows_its_base_rtt() {
        for base_ms in [12.0, 35.0, 80.0, 240.0, 500.0] {
            let e = told(&windowed(12, base_ms, 1), 1.0).unwrap();
            assert!(e.clocks() && e.tells(), "{base_ms}: {e:?}");
            let off = (e.lag_s * 1e3 - base_ms).abs();
            assert!(off < f64::max(2.0, 0.06 * base_ms), "{base_ms}: {e:?}");
        }
    }

    /// Tenths of 5 ms records last half a millisecond; the longest lag stays as long.
    #[test]
    fn shorter_records_reach_as_far() {
        let halves: Vec<(f64, f64)> = windowed(12, 400.0, 1)
            .into_iter()
            .map(|(came, left)| (2.0 * came, 2.0 * left))
            .collect();
        let mut records = records(&halves);
        for r in &mut records {
            (r.start_ns, r.duration_ns) = (r.start_ns / 2, r.duration_ns / 2);
            r.delay_sum_ns /= 2;
        }
        let e = Echoes::default()
            .of(&FlowWindow::of_records(records.iter().collect()))
            .unwrap();
        assert!(e.clocks() && (e.lag_s - 0.4).abs() < 0.003, "{e:?}");
    }

    #[test]
    fn a_part_of_the_packets_shows_it_too() {
        let e = told(&windowed(40, 50.0, 8), 8.0).unwrap();
        assert!(e.clocks() && (e.lag_s - 0.05).abs() < 0.003, "{e:?}");
    }

    /// Poisson traffic waits here like other traffic, but follows no departure.
    #[test]
    fn what_nothing_clocks_has_no_echo() {
        let mut rng = Rng::of(3);
        let mut at = 0.0;
        let packets: Vec<(f64, f64)> = std::iter::repeat_with(|| {
            at += -4.0 * (1.0 - rng.fraction()).ln();
            (at, at + delay_ms(at))
        })
        .take(5000)
        .collect();
        let e = told(&packets, 1.0).unwrap();
        assert!(e.tells() && !e.clocks() && e.share < 0.2, "{e:?}");
    }

    #[test]
    fn few_packets_and_odd_records_tell_nothing() {
        assert_eq!(told(&windowed(12, 40.0, 1)[..60], 1.0), None);
        assert_eq!(told(&[], 1.0), None);
        // Records without departures per tenth, from a collector that did not count them.
        let mut old = records(&windowed(12, 40.0, 1));
        old.iter_mut().for_each(|r| r.departures = 0);
        assert_eq!(
            Echoes::default().of(&FlowWindow::of_records(old.iter().collect())),
            None
        );
        // A record far in the future.
        let mut far = records(&windowed(12, 40.0, 1));
        far.last_mut().unwrap().start_ns = u64::MAX / 2;
        assert_eq!(
            Echoes::default().of(&FlowWindow::of_records(far.iter().collect())),
            None
        );
    }
}
