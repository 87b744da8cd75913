// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::config::TimeUnit;
use proptest::prelude::*;

fn node_time(time_unit: TimeUnit, time_bits: u8) -> NodeTime {
    let config = NodeConfig {
        time_unit,
        time_bits,
        ..NodeConfig::default()
    };
    NodeTime::new(&config, 60_000)
}

fn report(ingress_ts: Option<u64>, egress_ts: Option<u64>, dropped: bool) -> Report<'static> {
    Report {
        ingress_ts,
        egress_ts,
        dropped,
        ..Report::default()
    }
}

/// Reception time long after the earlier reports: the node had been silent.
const LATER: u64 = 1 << 40;

#[test]
fn microseconds_of_32_bits_wrap() {
    let mut time = node_time(TimeUnit::Us, 32);
    let near_end = u64::from(u32::MAX) - 10;
    let before = time
        .times(&report(Some(near_end), Some(near_end + 4), false), 0)
        .unwrap();
    assert_eq!(before.egress_ns - before.ingress_ns, 4_000);
    let after = time.times(&report(Some(0), Some(9), false), 0).unwrap();
    assert_eq!(after.egress_ns - after.ingress_ns, 9_000);
    assert_eq!(after.egress_ns - before.egress_ns, 16_000);
    let older = time
        .times(&report(Some(near_end), Some(near_end + 1), false), 0)
        .unwrap();
    assert_eq!(before.egress_ns - older.egress_ns, 3_000);
}

/// Every time of 8 and 16 bits, and the limits of 32 and 48, after every last time near a limit:
/// the result is the nearest time with the same low bits, or 0 if that is below 0.
#[test]
fn a_time_without_its_wraps_is_the_nearest_one() {
    for bits in [8u8, 16, 32, 48] {
        let (range, mut time) = (1u64 << bits, node_time(TimeUnit::Ns, bits));
        let places = [0, range / 4, range / 2, range - range / 4, range];
        let near = |p: u64| (p.saturating_sub(2)..=p + 2).filter(move |t| *t < range);
        let raws: Vec<u64> = match bits {
            ..=16 => (0..range).collect(),
            _ => places.into_iter().flat_map(near).collect(),
        };
        for wraps in [0, 1, 2, 1_000] {
            for last in places.into_iter().flat_map(near) {
                let last = wraps * range + last;
                time.last_ticks = Some(last);
                for &raw in &raws {
                    let unwrapped = time.unwrap(raw, 0);
                    let distance = i128::from(raw) - i128::from(last % range);
                    let half = i128::from(range / 2);
                    let nearest = (distance + half).rem_euclid(2 * half) - half;
                    // Half the range away counts as behind.
                    let expected = (i128::from(last) + nearest).max(0);
                    assert_eq!(i128::from(unwrapped), expected, "{bits}: {last} {raw}");
                }
            }
        }
    }
}

#[test]
fn a_restart_needs_several_reports_that_agree() {
    let mut time = node_time(TimeUnit::Ns, 64);
    time.times(&report(Some(1 << 40), Some(1 << 40), false), 0)
        .unwrap();
    for i in 1..RESTART_CONFIRMATIONS as u64 {
        let early = report(Some(i), Some(i + 1), false);
        assert_eq!(time.times(&early, LATER), Err(TimeError::Implausible));
    }
    let times = time
        .times(&report(Some(50), Some(60), false), LATER)
        .unwrap();
    assert_eq!((times.egress_ns, times.restarted), (60, true));
}

#[test]
fn no_datagram_restarts_a_clock_that_still_speaks() {
    let mut time = node_time(TimeUnit::Ns, 64);
    let honest = |ms: u64| report(Some(ms * 1_000_000 + 7), Some(ms * 1_000_000 + 9), false);
    let step_ns = 59_000_000_000u64;
    for ms in 100_000..110_000u64 {
        let rx_ns = ms * 1_000_000;
        let times = time.times(&honest(ms), rx_ns).unwrap();
        assert!(!times.restarted);
        assert_eq!(times.egress_ns, ms * 1_000_000 + 9);
        if ms > 102_000 && ms % 1000 == 999 {
            for k in 0..12 {
                for forged in [rx_ns + step_ns + k, rx_ns - step_ns + k] {
                    let forged = report(Some(forged), Some(forged), false);
                    let refused = time.times(&forged, rx_ns);
                    assert_eq!(refused, Err(TimeError::Implausible), "{ms}");
                }
            }
        }
    }
}

#[test]
fn a_long_silence_is_no_restart() {
    let mut time = node_time(TimeUnit::Ns, 64);
    for s in [1u64, 2, 3, 300, 301, 40_000] {
        let ns = s * 1_000_000_000;
        // 50 ppm fast.
        let at = ns + ns / 20_000;
        let times = time.times(&report(Some(at), Some(at), false), ns);
        assert_eq!(times.map(|t| t.restarted), Ok(false), "{s} s");
    }
}

#[test]
fn a_reception_clock_set_back_is_no_restart() {
    let mut time = node_time(TimeUnit::Ns, 64);
    let mut taken = 0;
    for ms in 20_000..40_000u64 {
        let rx_ms = if ms < 30_000 { ms } else { ms - 5_000 };
        let at = ms * 1_000_000;
        match time.times(&report(Some(at), Some(at), false), rx_ms * 1_000_000) {
            Ok(times) => {
                assert!(!times.restarted);
                taken += 1;
            }
            Err(e) => assert_eq!(e, TimeError::Implausible),
        }
    }
    // All except in the second in which no report supports the old time.
    assert!((18_900..20_000).contains(&taken), "{taken}");
}

#[test]
fn a_clock_that_leaves_real_time_once_believed_loses_nothing() {
    for (ns_each_ms, every) in [
        (1_476_000u64, 1),
        (1_476_000, 5),
        (1_150_000, 10),
        (3_000_000, 1),
    ] {
        let mut time = node_time(TimeUnit::Ns, 64);
        let mut at = 5_000_000_000u64;
        for ms in 0..20_000u64 {
            at += if ms < 1_500 { 1_000_000 } else { ns_each_ms };
            if ms % every == 0 {
                let dropped = ms % 100 == 50;
                let left = (!dropped).then_some(at);
                let times = time.times(&report(Some(at - 900_000), left, dropped), ms * 1_000_000);
                assert_eq!(times.map(|t| t.restarted), Ok(false), "{ns_each_ms} {ms}");
            }
        }
    }
}

/// The restarted clock's first reports were lost, so that its time is near the old axis again: all
/// its reports are before the time declared over.
#[test]
fn a_clock_that_restarted_unheard_is_not_taken_for_the_old_one() {
    let mut time = node_time(TimeUnit::Ns, 64);
    let at = |clock_ms: u64, ms: u64, time: &mut NodeTime| {
        let at = clock_ms * 1_000_000;
        let times = time.times(&report(Some(at), Some(at), false), ms * 1_000_000);
        times.unwrap()
    };
    for ms in 1_000..6_000 {
        at(ms, ms, &mut time);
    }
    // The clock restarts at 6 s, and is heard again at 11.5 s.
    time.tell_over(11_200_000_000, 5_500_000_000, 11_500_000_000);
    let restarts: Vec<u64> = (11_500..20_000)
        .filter(|&ms| at(ms - 6_000, ms, &mut time).restarted)
        .collect();
    assert_eq!(restarts, [12_500]);
    assert_eq!(time.max_ns, 13_999_000_000);
}

/// The clock restarted twice: the second time so soon that the first new clock was heard for less
/// than a second, and advanced by less than two. The silence moved its time ahead, and all later
/// reports looked 2.7 s old for good.
#[test]
fn a_clock_that_was_heard_for_a_moment_is_not_taken_for_the_next_one() {
    let mut time = node_time(TimeUnit::Ns, 64);
    let at = |clock_ms: u64, ms: u64, time: &mut NodeTime| {
        let at = clock_ms * 1_000_000;
        let times = time.times(&report(Some(at), Some(at), false), ms * 1_000_000);
        times.unwrap()
    };
    for ms in 2_000..2_900 {
        at(ms, ms, &mut time);
    }
    time.tell_over(3_900_000_000, 1_300_000_000, 4_200_000_000);
    let restarts: Vec<u64> = (4_200..10_000)
        .filter(|&ms| at(ms - 3_000, ms, &mut time).restarted)
        .collect();
    assert_eq!(restarts, [5_200]);
}

/// Uses the margins of the pipeline, which declares 0.3 s less than the silence as over.
#[test]
fn a_clock_that_lags_by_two_seconds_after_a_silence_has_restarted() {
    for lag_ms in (2_000..6_000).step_by(50) {
        let mut time = node_time(TimeUnit::Ns, 64);
        let at = |clock_ms: u64, ms: u64, time: &mut NodeTime| {
            let at = clock_ms * 1_000_000;
            let times = time.times(&report(Some(at), Some(at), false), ms * 1_000_000);
            times.is_ok_and(|t| t.restarted)
        };
        for ms in 7_000..12_000 {
            at(ms, ms, &mut time);
        }
        time.tell_over(16_650_000_000, 4_950_000_000, 16_950_000_000);
        let restarts = (17_000..22_000).filter(|&ms| at(ms - lag_ms, ms, &mut time));
        assert_eq!(restarts.count(), 1, "{lag_ms}");
    }
}

#[test]
fn a_backlog_after_a_silence_is_no_restart() {
    let mut time = node_time(TimeUnit::Ns, 64);
    let mut restarts = 0;
    for ms in 1_000..20_000u64 {
        // From 6 s to 11.5 s reports are held up on their way.
        let received_ms = match ms {
            ..6_000 => ms,
            6_000..11_500 => 11_500 + (ms - 6_000) / 10,
            _ => ms.max(12_050),
        };
        if ms == 6_000 {
            time.tell_over(11_200_000_000, 5_500_000_000, 11_500_000_000);
        }
        let at = report(Some(ms * 1_000_000), Some(ms * 1_000_000), false);
        let times = time.times(&at, received_ms * 1_000_000).unwrap();
        restarts += u32::from(times.restarted);
    }
    assert_eq!(restarts, 0);
}

/// The collector stalled, and time was declared over before it read the reports in its socket.
#[test]
fn what_was_received_before_its_time_was_told_is_no_restart() {
    let mut time = node_time(TimeUnit::Ns, 64);
    for ms in 1_000..20_000u64 {
        if ms == 6_000 {
            time.tell_over(11_200_000_000, 5_500_000_000, 11_500_000_000);
        }
        let at = report(Some(ms * 1_000_000), Some(ms * 1_000_000), false);
        let times = time.times(&at, ms * 1_000_000).unwrap();
        assert!(!times.restarted, "{ms}");
    }
}

/// A second clock's reports lag, but reports of the old clock come between them.
#[test]
fn reports_that_lag_beside_a_live_clock_are_no_restart() {
    let mut time = node_time(TimeUnit::Ns, 64);
    let mut at = |clock_ms: u64, ms: u64| {
        if ms == 6_000 {
            time.tell_over(11_200_000_000, 5_500_000_000, 11_500_000_000);
        }
        let clock_ns = clock_ms * 1_000_000;
        let report = report(Some(clock_ns), Some(clock_ns), false);
        time.times(&report, ms * 1_000_000)
    };
    for ms in 1_000..6_000 {
        at(ms, ms).unwrap();
    }
    at(6_000, 6_000).unwrap();
    for ms in 11_500..15_000 {
        let clock_ms = if ms % 100 == 0 { ms } else { ms - 6_000 };
        // Reports that lag behind the live clock may be refused, but nothing restarts.
        if let Ok(times) = at(clock_ms, ms) {
            assert!(!times.restarted, "{ms}");
        }
    }
}

#[test]
fn reports_between_those_of_a_live_clock_do_not_make_it_gain() {
    let mut time = node_time(TimeUnit::Ns, 64);
    let mut refused = 0;
    for ms in 1_000..20_000u64 {
        let at = ms * 1_000_000;
        time.times(&report(Some(at), Some(at), false), at).unwrap();
        if ms > 3_000 {
            // Forged, and earlier every time.
            let forged = at + (ms - 3_000) * 1_000_000 / 10;
            let times = time.times(&report(Some(forged), Some(forged), false), at);
            refused += u32::from(times.is_err());
        }
    }
    assert!(refused > 15_000, "{refused}");
}

proptest! {
    /// A sender with its own pace, up to five times real time, pauses and goes on: however its
    /// clock is classified, no report is refused.
    #[test]
    fn no_report_of_a_paced_sender_is_refused(
        bursts in prop::collection::vec((1u32..4_000, 0u64..8_000_000_000), 1..6),
        apart_ns in 40_000u64..400_000,
        percent in 20u64..500,
    ) {
        let mut time = node_time(TimeUnit::Ns, 64);
        let (mut at, mut rx_ns) = (5_000_000_000u64, 77_000_000_000u64);
        for (reports, pause_ns) in bursts {
            for _ in 0..reports {
                at += apart_ns * percent / 100;
                rx_ns += apart_ns;
                let times = time.times(&report(Some(at), Some(at), false), rx_ns);
                prop_assert!(times.is_ok(), "{at} {rx_ns}");
            }
            rx_ns += pause_ns;
            time.tell_over(time.max_ns + pause_ns, pause_ns, rx_ns);
        }
    }

    #[test]
    fn the_fast_path_agrees_with_the_slow_path(
        reports in prop::collection::vec(
            (
                prop::option::weighted(0.95, prop_oneof![8 => 0u64..5_000_000_000, 1 => any::<u64>()]),
                prop::option::weighted(0.95, prop_oneof![8 => 0u64..1_000_000, 1 => any::<u64>()]),
                prop::bool::weighted(0.1),
            ),
            1..100,
        ),
        micro in any::<bool>(),
    ) {
        let unit = if micro { TimeUnit::Us } else { TimeUnit::Ns };
        let (mut fast, mut slow) = (node_time(unit, 64), node_time(unit, 64));
        let mut now = 0u64;
        for (ingress, delay, dropped) in reports {
            now += 1_000_000;
            let rx_ns = now + delay.unwrap_or(0) % 3_000_000_000;
            let ingress = ingress.map(|i| i.wrapping_add(now));
            let egress = delay.map(|d| ingress.unwrap_or(now).wrapping_add(d));
            let report = report(ingress, egress, dropped);
            if now.is_multiple_of(7_000_000) {
                let told = Told { floor_ns: now + 1_000_000_000, rx_ns };
                (fast.told, slow.told) = (told.clone(), told);
            }
            prop_assert_eq!(fast.times(&report, rx_ns), slow.times_slow(&report, rx_ns));
            prop_assert_eq!(&fast, &slow);
        }
    }
}

proptest! {
    /// Clocks wrap during pauses of any length in which nothing is received: reception times show
    /// how often they wrapped.
    #[test]
    fn clocks_of_32_bits_are_right_after_any_pause(
        us: bool,
        start_s in 0u64..20_000,
        pauses_ms in prop::collection::vec(prop_oneof![1u64..300, 1_000u64..70_000, 70_000u64..7_200_000], 1..40),
        drift_ppm in 0u64..100,
        late_us in prop::collection::vec(0u64..20_000, 40),
    ) {
        let unit = if us { TimeUnit::Us } else { TimeUnit::Ns };
        let mut time = node_time(unit, 32);
        let (mut node_ns, mut rx_ns) = (start_s * 1_000_000_000, 5 << 50);
        let mut first = None;
        for (pause_ms, late_us) in pauses_ms.into_iter().zip(late_us) {
            let ns = pause_ms * 1_000_000;
            node_ns += ns + ns / 1_000_000 * drift_ppm;
            rx_ns += ns;
            let ticks = |ns: u64| (ns / unit.ns()) & 0xffff_ffff;
            let sent = report(Some(ticks(node_ns)), Some(ticks(node_ns + 20_000)), false);
            let times = time.times(&sent, rx_ns + late_us * 1_000).unwrap();
            prop_assert_eq!(times.egress_ns - times.ingress_ns, 20_000);
            let first = *first.get_or_insert((node_ns, times.ingress_ns));
            let passed = (node_ns - first.0).abs_diff(times.ingress_ns - first.1);
            prop_assert!(passed < 1_000, "{passed}");
            prop_assert!(!times.restarted);
        }
    }
}

#[test]
fn hop_latency_stands_in_for_either_time() {
    let mut time = node_time(TimeUnit::Us, 32);
    let with = |ingress_ts, egress_ts, hop_latency| Report {
        hop_latency,
        ..report(ingress_ts, egress_ts, false)
    };
    let mut seen = |r: &Report<'_>| {
        let t = time.times(r, 9_000_000).unwrap();
        (t.ingress_ns, t.egress_ns, t.absent)
    };
    let nothing = Absent::NOTHING;
    assert_eq!(
        seen(&with(Some(100), None, Some(51))),
        (100_000, 151_000, nothing)
    );
    assert_eq!(
        seen(&with(None, Some(160), Some(51))),
        (109_000, 160_000, nothing)
    );
    // A timestamp takes precedence.
    assert_eq!(
        seen(&with(Some(160), Some(170), Some(51))),
        (160_000, 170_000, nothing)
    );
    assert_eq!(
        seen(&with(Some(180), None, None)),
        (180_000, 180_000, Absent::EGRESS_TIME)
    );
    assert_eq!(
        seen(&with(None, Some(190), None)),
        (190_000, 190_000, Absent::INGRESS_TIME)
    );
}

#[test]
fn a_report_without_any_time_counts_when_it_is_received() {
    let mut time = node_time(TimeUnit::Ns, 64);
    let bare = Report {
        hop_latency: Some(7),
        ..report(None, None, false)
    };
    let times = time.times(&bare, 500).unwrap();
    assert_eq!((times.ingress_ns, times.egress_ns), (493, 500));
    // By the node's clock, once that is known.
    time.times(&report(Some(2_000), Some(2_010), false), 1_010)
        .unwrap();
    let times = time.times(&bare, 1_500).unwrap();
    assert_eq!((times.ingress_ns, times.egress_ns), (2_493, 2_500));
    let times = time.times(&report(None, None, true), 1_500).unwrap();
    assert_eq!((times.ingress_ns, times.egress_ns), (2_500, 0));
}
