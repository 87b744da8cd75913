// SPDX-License-Identifier: Apache-2.0
use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use test_support::rng::Rng;

const MS: u64 = 1_000_000;
const SECONDS: u64 = 15;

/// When packets came and left of a flow that keeps `window` of them in flight: each is
/// answered by the next one `base_ns` after it left a queue that holds it for
/// `delay_ns` of the time.
fn clocked(
    rng: &mut Rng,
    window: usize,
    base_ns: u64,
    delay_ns: impl Fn(u64) -> u64,
) -> Vec<(u64, u64)> {
    let first = (0..window).map(|_| Reverse(rng.between(0, base_ns)));
    let mut to_come: BinaryHeap<Reverse<u64>> = first.collect();
    let mut packets = Vec::new();
    while let Some(Reverse(came)) = to_come.pop()
        && came < SECONDS * 1000 * MS
    {
        let left = came + delay_ns(came);
        packets.push((came, left));
        to_come.push(Reverse(left + base_ns + rng.between(0, MS)));
    }
    packets
}

/// Records of 10 ms by the times of leaving.
fn records(mut packets: Vec<(u64, u64)>) -> Vec<FlowInterval> {
    packets.sort_unstable_by_key(|p| p.1);
    let mut out: Vec<FlowInterval> = Vec::new();
    for (came, left) in packets {
        let start_ns = left / (10 * MS) * (10 * MS);
        if out.last().is_none_or(|r| r.start_ns != start_ns) {
            out.push(FlowInterval {
                start_ns,
                duration_ns: 10 * MS,
                ..FlowInterval::default()
            });
        }
        let r = out.last_mut().unwrap();
        r.packets += 1;
        r.delay_sum_ns += left - came;
    }
    out
}

fn told(packets: Vec<(u64, u64)>) -> Option<(f64, f64)> {
    told_by(&records(packets))
}

fn told_by(records: &[FlowInterval]) -> Option<(f64, f64)> {
    self_clock(&FlowWindow::of_records(records.iter().collect()))
}

/// A queue between `least` and `most` that fills and empties in `period_ms`.
fn sawtooth(least: u64, most: u64, period_ms: u64) -> impl Fn(u64) -> u64 {
    move |t| least + (most - least) * (t / MS % period_ms) / period_ms
}

#[test]
fn arrivals_follow_departures_by_the_base_rtt_however_long_the_queue() {
    let mut rng = Rng::of(1);
    for case in 0..60 {
        let base_ns = rng.between(30 * MS, 500 * MS);
        let window = rng.between(4, 60) as usize;
        let most = rng.between(0, 150 * MS);
        let period_ms = rng.between(400, 4000);
        let packets = clocked(
            &mut rng,
            window,
            base_ns,
            sawtooth(most / 4, most, period_ms),
        );
        let (seconds, error) = told(packets).unwrap();
        let off = seconds * 1e9 / base_ns as f64 - 1.0;
        assert!(
            off.abs() <= error,
            "case {case}: {window} packets, base {base_ns} ns, queue {most} ns: {seconds} s"
        );
    }
}

#[test]
fn what_has_no_clock_tells_nothing() {
    let mut rng = Rng::of(2);
    for queue_ns in [0, 40 * MS] {
        let delay = sawtooth(queue_ns / 4, queue_ns, 1000);
        let through = |times: Vec<u64>| {
            let packets = times.into_iter().map(|t| (t, t + delay(t)));
            told(packets.collect())
        };
        // Open loop at random, 200 and 2000 packets/s.
        for mean_ns in [5.0e6, 0.5e6] {
            let mut at = 0.0;
            let mut times = Vec::new();
            while at < SECONDS as f64 * 1e9 {
                times.push(at as u64);
                at -= mean_ns * (1.0 - rng.fraction()).ln();
            }
            assert_eq!(through(times), None);
        }
        // Spaced by a slower link before, 12 ms apart.
        let spaced = (0..SECONDS * 1000 / 12).map(|i| i * 12 * MS + rng.between(0, MS / 2));
        assert_eq!(through(spaced.collect()), None);
    }
}

#[test]
fn round_trips_that_records_cannot_tell_are_not_told() {
    let mut rng = Rng::of(3);
    for base_ns in [3 * MS, 6 * MS, 9 * MS] {
        let packets = clocked(&mut rng, 20, base_ns, |_| 0);
        assert_eq!(told(packets), None, "{base_ns} ns");
    }
    // Too short a time.
    let mut packets = clocked(&mut rng, 20, 100 * MS, |_| 0);
    packets.retain(|p| p.0 < 2000 * MS);
    assert_eq!(told(packets), None);
}

/// Records come from collectors: times beyond all sense are no reason to stop.
#[test]
fn no_times_overflow() {
    let mut rng = Rng::of(4);
    let senseful = records(clocked(&mut rng, 20, 100 * MS, |_| 0));
    for (start_ns, duration_ns) in [
        (u64::MAX - 5, 10 * MS),
        (SECONDS * 1000 * MS, u64::MAX),
        (u64::MAX, u64::MAX),
        (u64::MAX, 0),
    ] {
        let mut records = senseful.clone();
        records.push(FlowInterval {
            start_ns,
            duration_ns,
            packets: 1,
            ..FlowInterval::default()
        });
        assert_eq!(told_by(&records), None);
    }
}

#[test]
fn the_first_of_the_peaks_counts() {
    let mut c = vec![0.0f32; 60];
    for (lag, v) in [(10, 0.8), (11, 0.2), (20, 0.7), (21, 0.5), (31, 0.7)] {
        c[lag] = v;
    }
    assert!((first_peak(&c, 2).unwrap() - 10.2).abs() < 1e-6);
    // No highest one, or one that does not stand out.
    assert_eq!(first_peak(&vec![0.1; 60], 2), None);
    let slow: Vec<f32> = (0..60)
        .map(|i| 0.8 - (i as f32 - 20.0).abs() / 100.0)
        .collect();
    assert_eq!(first_peak(&slow, 2), None);
    // What comes together hardly does so again: a sawtooth of the window.
    c[1] = 0.85;
    assert_eq!(first_peak(&c, 2), None);
}

#[test]
fn trends_are_taken_out_and_products_added_up() {
    let mut line: Vec<f32> = (0..500).map(|i| i as f32).collect();
    take_out_trend(&mut line, 50);
    assert!(line.get(50..450).unwrap().iter().all(|v| v.abs() < 1e-3));
    let a: Vec<f32> = (0..37).map(|i| i as f32).collect();
    assert_eq!(dot(&a, &a), (0..37).map(|i| (i * i) as f32).sum::<f32>());
    assert_eq!(dot(&a, &[]), 0.0);
}
