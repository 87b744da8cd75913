// SPDX-License-Identifier: Apache-2.0
//! Reductions seen in the sender's window.

use super::attribution::{Attribution, Cause, Reduction, rtt_ns};
use super::level::Level;
use crate::config::EstimatorConfig;
use crate::rtt::BaseRtt;
use crate::window::FlowWindow;
use tidemark_proto::telemetry::{CongestionState, flow_event};

/// Linux congestion states.
const CWR: u32 = 2;
const LOSS: u32 = 4;

/// `ssthresh` of a socket that never reduced.
pub(crate) const SSTHRESH_UNSET: u32 = 0x7fff_ffff;

/// A fall below this part of the level counts if the slow-start threshold was set at the same time:
/// only a reduction sets it below the window. Includes mild reductions (Scalable TCP: 7/8).
const WITH_THRESHOLD: f64 = 0.95;

/// Least RTTs between two separate reductions.
const APART_RTTS: u64 = 3;

/// Longest time for the level before to count as restored: this many RTTs (at most a second), plus
/// slightly more than the 200 ms for which BBR probes for the base RTT.
const RESTORED_RTTS: u64 = 3;
const PROBE_RTT_NS: u64 = 250_000_000;

/// Returns every significant reduction of a probed flow over its history, ordered by time.
///
/// The level is the largest window of the last one and a half RTTs, or the last one seen if samples
/// are rarer. A reduction lasts until the window has not fallen for an RTT (proportional rate
/// reduction spreads it over one).
pub(crate) fn probed(
    flow: &FlowWindow<'_>,
    base: Option<BaseRtt>,
    config: &EstimatorConfig,
) -> Vec<Reduction> {
    let mut found: Vec<Reduction> = Vec::new();
    let mut recent = Level::default();
    let mut threshold = SSTHRESH_UNSET;
    let mut threshold_at = None::<u64>;
    let mut quiet_until = 0u64;
    let mut attribution = Attribution::new(&flow.signals_ns);
    for record in &flow.history {
        let Some(p) = &record.probe else { continue };
        let rtt = rtt_ns(flow, base, record, config);
        let at = record.start_ns;
        // Leaves the recent values, which give the level.
        recent.forget(at, rtt + rtt / 2 + record.duration_ns);
        let smallest = p.cwnd_min.max(1);
        let low = f64::from(smallest);
        let threshold_set = p.ssthresh_last != threshold && p.ssthresh_last != SSTHRESH_UNSET;
        if threshold_set {
            threshold_at = Some(at);
        }
        let ratio_of =
            |level: f64| (threshold_set && level > 0.0).then(|| f64::from(p.ssthresh_last) / level);
        if at < quiet_until {
            if let Some(last) = found.last_mut() {
                if low < last.after {
                    last.after = low;
                    quiet_until = at + record.duration_ns + rtt;
                }
                if last.threshold_ratio.is_none() {
                    last.threshold_ratio = ratio_of(last.before);
                }
            }
        } else if let highest = p.cwnd_first.max(recent.largest().unwrap_or(0))
            && highest > smallest
        {
            // The interval's own first sample precedes its smallest.
            let level = f64::from(highest);
            let fell = low <= config.reduction_ratio * level && level - low >= 1.0;
            let mild = low <= WITH_THRESHOLD * level && level - low >= 1.0;
            let ratio = ratio_of(level);
            // A regular sawtooth sets the same threshold each time; a dip soon after
            // a reduction is the end of its recovery.
            let is_apart = |r: &Reduction| at > r.time_ns + APART_RTTS * rtt;
            let apart = (fell || mild) && found.last().is_none_or(is_apart);
            // A regular sawtooth falls to the same threshold each time.
            let again = apart && p.ssthresh_last != SSTHRESH_UNSET && {
                let threshold = f64::from(p.ssthresh_last);
                threshold <= WITH_THRESHOLD * level && (low - threshold).abs() <= 1.0
            };
            let confirmed = mild && (again || ratio.is_some_and(|r| r <= WITH_THRESHOLD));
            if fell || confirmed {
                // Possibly a timeout, also from two packets to one: a window this small brings too
                // few duplicate ACKs for a fast retransmit.
                let timeout = low <= 2.0;
                // Proportional rate reduction lags behind the threshold by up to an RTT.
                let lasts = 2 * rtt + 2 * record.duration_ns;
                let lately = threshold_at.is_some_and(|t| t + lasts >= at);
                let to_threshold = f64::from(p.cwnd_min) <= 1.25 * f64::from(p.ssthresh_last);
                let cause = if lately || timeout || (apart && to_threshold) {
                    attribution.cause(at, record.duration_ns, rtt, timeout)
                } else {
                    Cause::SameEvent
                };
                found.push(Reduction {
                    time_ns: at,
                    rtt_ns: rtt,
                    before: level,
                    after: low,
                    threshold_ratio: ratio,
                    restored: false,
                    local: cause == Cause::Signal,
                    counts: cause != Cause::SameEvent,
                });
                recent.clear();
                quiet_until = at + record.duration_ns + rtt;
            }
        }
        note_restored(&mut found, at, rtt, f64::from(p.cwnd_max));
        threshold = p.ssthresh_last;
        let is_whole = found.last().is_none_or(|r| r.time_ns != at);
        let (last, largest) = (p.cwnd_last.max(1), p.cwnd_max.max(1));
        // After the last value, the largest would replace it anyway, unless it were smaller.
        if !is_whole || largest < last {
            recent.push(at, last);
        }
        if is_whole {
            recent.push(at, largest);
        }
    }
    add_state_changes(flow, base, config, &mut found);
    found
}

/// Adds the entries into CWR, Recovery or Loss that the window does not show because it is too
/// small to fall far.
fn add_state_changes(
    flow: &FlowWindow<'_>,
    base: Option<BaseRtt>,
    config: &EstimatorConfig,
    found: &mut Vec<Reduction>,
) {
    let mut extra: Vec<Reduction> = Vec::new();
    let mut until = 0u64;
    for event in &flow.events {
        let Some(flow_event::Event::CongestionState(CongestionState { state })) = event.event
        else {
            continue;
        };
        if state < CWR || event.time_ns < until {
            continue;
        }
        let i = flow
            .history
            .partition_point(|r| r.start_ns <= event.time_ns)
            .saturating_sub(1);
        let Some(record) = flow.history.get(i) else {
            continue;
        };
        let rtt = rtt_ns(flow, base, record, config);
        until = event.time_ns + rtt;
        let near =
            |r: &Reduction| r.time_ns.abs_diff(event.time_ns) <= 2 * rtt + record.duration_ns;
        if found.iter().any(|r| r.counts && near(r)) {
            continue;
        }
        let cause = Attribution::new(&flow.signals_ns).cause(
            event.time_ns,
            record.duration_ns,
            rtt,
            state == LOSS,
        );
        extra.push(Reduction {
            time_ns: event.time_ns,
            rtt_ns: rtt,
            before: f64::NAN,
            after: f64::NAN,
            threshold_ratio: None,
            restored: false,
            local: cause == Cause::Signal,
            counts: true,
        });
    }
    if !extra.is_empty() {
        found.extend(extra);
        found.sort_unstable_by_key(|r| r.time_ns);
    }
}

/// Marks the last reduction as restored if the window grew back by more than two segments per RTT:
/// congestion was not its cause.
fn note_restored(found: &mut [Reduction], at: u64, rtt: u64, window: f64) {
    let Some(last) = found.last_mut() else { return };
    let elapsed = at.saturating_sub(last.time_ns);
    let rtts = || elapsed as f64 / rtt.max(1) as f64;
    if elapsed > 0
        && elapsed <= (RESTORED_RTTS * rtt).min(1_000_000_000) + PROBE_RTT_NS
        && window >= 0.95 * last.before
        && last.before - last.after >= 2.0 * rtts() + 4.0
    {
        last.restored = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::{FlowInterval, ProbeInterval};

    const MS: u64 = 1_000_000;

    fn record(at_ms: u64, cwnd: u32, ssthresh: u32) -> FlowInterval {
        FlowInterval {
            start_ns: at_ms * MS,
            duration_ns: 10 * MS,
            packets: 1,
            probe: Some(ProbeInterval {
                samples: 1,
                cwnd_first: cwnd,
                cwnd_last: cwnd,
                cwnd_min: cwnd,
                cwnd_max: cwnd,
                ssthresh_last: ssthresh,
                srtt_last_us: 30_000,
                ..ProbeInterval::default()
            }),
            ..FlowInterval::default()
        }
    }

    /// A window of two packets is too small for duplicate ACKs: a timeout detects its loss here
    /// 300 ms later.
    #[test]
    fn a_timeout_of_two_packets_is_of_the_drop_before_it() {
        let records = [
            record(0, 2, 2),
            record(100, 2, 2),
            record(450, 1, 2),
            record(500, 2, 2),
        ];
        let reductions = |drop_ms: Option<u64>| {
            let mut flow = FlowWindow::of_records(records.iter().collect());
            flow.signals_ns.extend(drop_ms.map(|ms| ms * MS));
            probed(&flow, None, &EstimatorConfig::default())
        };
        let told = |drop_ms| {
            let found = reductions(drop_ms);
            assert_eq!(found.len(), 1, "{found:?}");
            found.first().map(|r| (r.local, r.counts))
        };
        assert_eq!(told(Some(120)), Some((true, true)));
        assert_eq!(told(None), Some((false, true)));
    }

    /// The sawtooth is Scalable TCP's, between the same two windows throughout.
    #[test]
    fn a_regular_sawtooth_of_one_threshold_is_seen_each_time() {
        let window = |i: u64| 652 + (i % 13) as u32 * 8;
        let records: Vec<_> = (0..260).map(|i| record(i * 100, window(i), 652)).collect();
        let mut flow = FlowWindow::of_records(records.iter().collect());
        flow.signals_ns
            .extend((1..20).map(|k| (k * 1300 - 20) * MS));
        let found = probed(&flow, None, &EstimatorConfig::default());
        assert_eq!(found.len(), 19);
        assert!(found.iter().all(|r| r.local && r.counts && !r.restored));
        let cc = crate::congestion_control::recognise(&found, None).cc;
        assert_eq!(cc, crate::types::CongestionControl::Scalable);
    }
}
