// SPDX-License-Identifier: Apache-2.0
//! The queue's own word stands above what is concluded of single flows.
//!
//! A queue that serves whenever it holds a packet, and never empties, has a flow that is
//! limited here (UTB Lemma 2), and who is limited here fills what the others leave. If the
//! flows that losses limit have little of a full link, others hold its queue: those that react
//! to delay ([`Flow::p_by_delay`]); and if no flow is found at all, the likeliest is one.

use super::flows::Flow;
use crate::classify::LinkContext;
use crate::types::{CongestionControl, FlowClass};

/// With less of what left, the LBP flows do not hold the queue.
const LEAST_OF_LINK: f64 = 0.5;
/// An unprobed window that moves is at its top for less than this share of the time.
const MOVES: f64 = 0.55;
/// One that hardly moves is a receiver's, or reacts to delay with this probability.
const P_STANDS: f64 = 0.3;
/// Nor does a flow with less than this part of the mean rate hold it.
const LEAST_OF_MEAN: f64 = 0.2;
/// Chance of a flow of which nothing speaks for this link.
const LEAST_P: f64 = 0.01;

/// The flows, of which those that the queue says are limited here are LBP flows.
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
        // Among flows that react to loss its window has to be seen to move.
        if shared && !(f.is_clocked() && f.moves()) {
            if f.is_clocked() && f.p_by_delay.is_some() {
                f.estimate.p_lbp = f.estimate.p_lbp.max(P_STANDS);
            }
            continue;
        }
        if let Some(p) = f.p_by_delay.filter(|&p| p > f.estimate.p_lbp) {
            f.becomes_lbp(p, "its packets wait here alone, and flows that react to loss do not fill the link: it reacts to delay");
        }
    }
    if context.never_empties() {
        find_one(flows);
    }
}

/// Mean rate of the bytes of the flows that may react to delay.
fn mean_rate_bps(flows: &[Flow<'_, '_>]) -> f64 {
    let may_react = flows.iter().filter(|f| f.p_by_delay.is_some());
    let (bytes, weighted) = may_react.fold((0.0, 0.0), |(bytes, weighted), f| {
        let of_flow = f.wire_bytes;
        (bytes + of_flow, weighted + of_flow * f.estimate.rate_bps)
    });
    weighted / f64::max(bytes, 1.0)
}

/// Makes the likeliest flows LBP flows until one is in progress: likely by its evidence, and
/// by its part of what left. Flows whose class follows from the definitions are none.
fn find_one(flows: &mut [Flow<'_, '_>]) {
    let mut found: f64 = flows.iter().filter(|f| f.is_lbp()).map(Flow::weight).sum();
    let chance = |f: &Flow<'_, '_>| f.estimate.p_lbp.max(LEAST_P) * f.wire_bytes;
    let open = flows.iter_mut().filter(|f| f.is_open() && !f.is_lbp());
    let mut open: Vec<_> = open.map(|f| (chance(f), f)).collect();
    // A link can have very many flows: they are put in order once.
    open.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left: f64 = open.iter().map(|o| o.0).sum();
    for (chance, f) in open {
        if found >= 1.0 {
            return;
        }
        f.chosen = true;
        f.becomes_lbp(
            (chance / left).max(0.5),
            "the queue never empties, so that a flow is limited here: this one most likely",
        );
        found += f.weight();
        left -= chance;
    }
}

impl Flow<'_, '_> {
    /// Its window follows a model of the path, and no loss.
    fn is_model_based(&self) -> bool {
        self.estimate.congestion_control == CongestionControl::Bbr
    }

    fn moves(&self) -> bool {
        self.window.probed() || self.at_top < MOVES
    }

    /// True of a flow that may be limited here though it does not react to loss: on a full
    /// link, which presses on each, its window is seen to move.
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
