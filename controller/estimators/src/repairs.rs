// SPDX-License-Identifier: Apache-2.0
//! Base RTT of a flow from the repairs of its drops here, where no handshake was
//! seen.
//!
//! The packet that was dropped is missed when those after it arrive: the sender
//! retransmits on the third acknowledgement that tells of them (RFC 5681, RFC
//! 6675). So the retransmission comes here one base RTT after the third packet
//! that follows the drop has left.
//!
//! Of a flow that is marked only retransmissions are dropped, which are not
//! ECN-capable (RFC 3168 §6.1.5): those are repaired by timeouts and tell nothing.

use crate::stats::quantile;
use crate::window::FlowWindow;
use tidemark_proto::telemetry::FlowInterval;

/// Packets that must arrive for a loss to be seen.
const DUPLICATES: f64 = 3.0;
/// A drop that has been alone for this long is repaired by the next
/// retransmission, s: the longest of these with enough repairs is taken.
const ALONE_S: [f64; 4] = [1.6, 0.8, 0.4, 0.2];
/// Repairs that are enough.
const ENOUGH: usize = 6;
/// Repairs needed: a single one may have been made by a timeout.
const LEAST: usize = 2;
/// Repairs by timeouts, and of retransmissions that were lost again, take longer:
/// the middle of the faster ones stands for the base RTT.
const QUANTILE: f64 = 0.35;

/// Base RTT (s) and its relative error.
pub(crate) fn repairs(flow: &FlowWindow<'_>) -> Option<(f64, f64)> {
    if flow.history.iter().any(|r| r.ce_marked > 0) {
        return None;
    }
    let mut best: Vec<f64> = Vec::new();
    for alone_s in ALONE_S {
        let found = after_drops_alone(flow, alone_s);
        // Within the time that a repair takes there may be another drop's.
        let consistent = quantile(&found, 0.5).is_some_and(|t| t < alone_s / 2.0);
        if found.len() > best.len() && (consistent || best.is_empty()) {
            best = found;
        }
        if best.len() >= ENOUGH {
            break;
        }
    }
    if best.len() < LEAST {
        return None;
    }
    let seconds = quantile(&best, QUANTILE)?;
    let record_s = flow.history.first()?.duration_ns as f64 / 1e9;
    // Both ends are known to a record.
    let error = record_s / seconds / (best.len() as f64).sqrt();
    (seconds > record_s / 2.0).then_some((seconds, (0.1 + error).min(0.6)))
}

/// Times from the third packet after a drop to the next retransmission, s.
fn after_drops_alone(flow: &FlowWindow<'_>, alone_s: f64) -> Vec<f64> {
    let alone_ns = (alone_s * 1e9) as u64;
    let mut found = Vec::new();
    let mut last_drop = None::<u64>;
    let mut next = 0;
    for &drop in &flow.drops_ns {
        let quiet = last_drop.is_none_or(|l| drop.saturating_sub(l) > alone_ns);
        last_drop = Some(drop);
        if !quiet {
            continue;
        }
        while flow.history.get(next).is_some_and(|r| end_ns(r) <= drop) {
            next += 1;
        }
        let later = flow.history.get(next..).unwrap_or_default();
        let before = flow.history.get(..next).unwrap_or_default();
        let repaired_before = before
            .iter()
            .rev()
            .take_while(|r| end_ns(r) + alone_ns > drop)
            .any(|r| r.retransmitted_packets > 0);
        if let Some(seconds) = repair_s(drop, later).filter(|_| !repaired_before) {
            found.push(seconds);
        }
    }
    found
}

fn end_ns(r: &FlowInterval) -> u64 {
    r.start_ns + r.duration_ns
}

/// Mean queueing delay of a record's packets, ns.
fn delay_ns(r: &FlowInterval) -> f64 {
    r.delay_sum_ns as f64 / f64::from(r.packets.max(1))
}

/// Time from the third packet that leaves after the drop's place in the queue to
/// the first retransmission's coming, s.
fn repair_s(drop_ns: u64, later: &[&FlowInterval]) -> Option<f64> {
    let sent = later.iter().find(|r| r.packets > 0)?;
    // When the dropped packet would have left.
    let place_ns = drop_ns as f64 + delay_ns(sent);
    let mut left = 0.0;
    let mut third_ns = None;
    for r in later.iter().filter(|r| end_ns(r) as f64 > place_ns) {
        if r.retransmitted_packets > 0 {
            let middle_ns = r.start_ns as f64 + r.duration_ns as f64 / 2.0;
            return Some((middle_ns - delay_ns(r) - third_ns?) / 1e9).filter(|&s| s > 0.0);
        }
        if third_ns.is_none() && r.packets > 0 {
            // Packets are spread over what is left of their record.
            let begin_ns = (r.start_ns as f64).max(place_ns);
            let rest_ns = end_ns(r) as f64 - begin_ns;
            let here = f64::from(r.packets) * rest_ns / r.duration_ns.max(1) as f64;
            if left + here >= DUPLICATES {
                third_ns = Some(begin_ns + rest_ns * (DUPLICATES - left) / here);
            }
            left += here;
        }
    }
    None
}
