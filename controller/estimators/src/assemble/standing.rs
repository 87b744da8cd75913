// SPDX-License-Identifier: Apache-2.0
//! Corrections of flow classes that contradict the queue.
//!
//! A queue that serves whenever it holds a packet, and never empties, has a flow that is limited
//! here (UTB Lemma 2), and the flows limited here fill what the rest leaves. If the flows that
//! losses limit carry little of a full link, flows that react to delay hold its queue
//! ([`Flow::p_by_delay`]); and if no LBP flow is found at all, the likeliest flow becomes one.

use super::flows::Flow;
use crate::classify::LinkContext;
use crate::types::{CongestionControl, FlowClass};

/// Smallest part of the bytes that left with which the LBP flows hold the queue.
const LEAST_OF_LINK: f64 = 0.5;
/// An unprobed window moves if it is at its top for less than this share of the time.
const MOVES: f64 = 0.55;
/// A window that hardly moves reacts to delay with this probability; otherwise it is a receiver's.
const P_STANDS: f64 = 0.3;
/// Smallest part of the mean rate with which a flow can hold the queue.
const LEAST_OF_MEAN: f64 = 0.2;
/// Least probability of a flow for which there is no evidence.
const LEAST_P: f64 = 0.01;

/// Reclassifies flows as LBP if the queue shows that they are limited here.
pub(super) fn heed<'a, 'w>(
    mut flows: Vec<Flow<'a, 'w>>,
    context: &LinkContext,
) -> Vec<Flow<'a, 'w>> {
    if context.filled() {
        heed_full(&mut flows, context);
    }
    flows
}

fn heed_full(flows: &mut [Flow<'_, '_>], context: &LinkContext) {
    let bytes = |f: &Flow<'_, '_>| f.wire_bytes;
    let all: f64 = flows.iter().map(bytes).sum();
    let heeds_loss = |f: &&Flow<'_, '_>| f.is_lbp() && !f.is_model_based();
    let of_lbp: f64 = flows.iter().filter(heeds_loss).map(bytes).sum();
    let shared = of_lbp >= LEAST_OF_LINK * all;
    let least = LEAST_OF_MEAN * mean_rate_bps(flows);
    for f in flows.iter_mut().filter(|f| f.estimate.rate_bps >= least) {
        // Among flows that react to loss, the flow's window must be seen to move.
        if shared && !(f.is_clocked() && f.moves()) {
            if f.is_clocked() && f.p_by_delay.is_some() {
                f.estimate.p_lbp = f.estimate.p_lbp.max(P_STANDS);
            }
            continue;
        }
        if let Some(p) = f.p_by_delay.filter(|&p| p > f.estimate.p_lbp) {
            f.becomes_lbp(p, "its packets wait only here, and flows that react to loss do not fill the link: it reacts to delay");
        }
    }
    if context.never_empties() {
        find_one(flows);
    }
}

/// Mean rate of the flows that may react to delay, weighted by bytes.
fn mean_rate_bps(flows: &[Flow<'_, '_>]) -> f64 {
    let may_react = flows.iter().filter(|f| f.p_by_delay.is_some());
    let (bytes, weighted) = may_react.fold((0.0, 0.0), |(bytes, weighted), f| {
        let of_flow = f.wire_bytes;
        (bytes + of_flow, weighted + of_flow * f.estimate.rate_bps)
    });
    weighted / f64::max(bytes, 1.0)
}

/// Makes the likeliest flows LBP until they add up to one flow: likely by evidence and by their
/// part of the bytes. Flows whose class follows from the definitions are left out.
fn find_one(flows: &mut [Flow<'_, '_>]) {
    let mut found: f64 = flows.iter().filter(|f| f.is_lbp()).map(Flow::weight).sum();
    let chance = |f: &Flow<'_, '_>| f.estimate.p_lbp.max(LEAST_P) * f.wire_bytes;
    let open = flows.iter_mut().filter(|f| f.is_open() && !f.is_lbp());
    let mut open: Vec<_> = open.map(|f| (chance(f), f)).collect();
    // A link can have very many flows: sort them once.
    open.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left: f64 = open.iter().map(|o| o.0).sum();
    for (chance, f) in open {
        if found >= 1.0 {
            return;
        }
        f.chosen = true;
        f.becomes_lbp(
            (chance / left).max(0.5),
            "the queue never empties, so some flow is limited here: most likely this one",
        );
        found += f.weight();
        left -= chance;
    }
}

impl Flow<'_, '_> {
    /// Whether its window follows a model of the path instead of losses.
    fn is_model_based(&self) -> bool {
        self.estimate.congestion_control == CongestionControl::Bbr
    }

    fn moves(&self) -> bool {
        self.window.probed() || self.at_top < MOVES
    }

    /// Whether the flow may be limited here without reacting to loss: on a full link, which presses
    /// on every flow, its window must be seen to move.
    pub(super) fn may_react_to_delay(&self, context: &LinkContext) -> bool {
        let stands = context.signals == 0 && self.is_open() && self.is_clocked();
        self.p_by_delay.is_some() && (!context.filled() || self.moves()) || stands
    }

    fn becomes_lbp(&mut self, p: f64, why: &str) {
        let estimate = &mut self.estimate;
        estimate.class = FlowClass::Lbp;
        estimate.p_lbp = p;
        estimate.confidence = p;
        estimate.why = if estimate.why.is_empty() {
            why.to_owned()
        } else {
            format!("{why}; {}", estimate.why)
        };
    }
}
