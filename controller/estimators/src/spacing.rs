// SPDX-License-Identifier: Apache-2.0
//! How a flow's packets follow one another: what has passed a slower link comes
//! singly.

use crate::window::FlowWindow;

/// How a flow's packets follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spacing {
    /// Times half as long as the mean spacing that hold more than one packet.
    pub several: f64,
    /// The same expected if packets came at random.
    pub several_if_random: f64,
}

impl Spacing {
    /// Whether packets come singly where chance alone would bring some together.
    pub fn evenly(self) -> bool {
        self.several_if_random >= 4.0 && self.several < 0.25 * self.several_if_random
    }
}

/// Spacing of the packets over the history.
pub(crate) fn spacing(flow: &FlowWindow<'_>) -> Option<Spacing> {
    let records = || flow.history.iter().filter(|r| r.packets > 0);
    let first = records().next()?;
    let span_ns = flow.life.last_ns.saturating_sub(first.start_ns) as f64;
    let packets: f64 = records().map(|r| f64::from(r.packets)).sum();
    // Not shorter than a record, within which nothing is known.
    let length_ns = (0.5 * span_ns / packets).max(first.duration_ns as f64);
    if span_ns < length_ns || length_ns <= 0.0 {
        return None;
    }
    let (mut several, mut bin, mut inside) = (0.0, 0, 0u32);
    for r in records() {
        let this = (r.start_ns.saturating_sub(first.start_ns) as f64 / length_ns) as u64;
        if this != bin {
            several += f64::from(u8::from(inside > 1));
            (bin, inside) = (this, 0);
        }
        inside = inside.saturating_add(r.packets);
    }
    several += f64::from(u8::from(inside > 1));
    let bins = span_ns / length_ns;
    let rate = packets / bins;
    let none = (-rate).exp();
    Some(Spacing {
        several,
        several_if_random: bins * (1.0 - none - rate * none),
    })
}
