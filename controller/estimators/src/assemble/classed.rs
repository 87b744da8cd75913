// SPDX-License-Identifier: Apache-2.0
//! Classes of all flows of a window: first of those whose base RTT is known, then,
//! with what those have in flight, of the others.

use crate::classify::{Classified, LinkContext, Past, classify};
use crate::config::EstimatorConfig;
use crate::echo::{Echo, Echoes};
use crate::rtt::{BaseRtt, base_rtt};
use crate::stats::quantile;
use crate::types::{Evidence, FlowClass};
use crate::window::{FlowWindow, LinkWindow};
use tidemark_rules::bscl::SQRT_CONSTANT;

/// A flow with its class and what is known of its base RTT.
pub(super) struct Classed<'a, 'w> {
    pub flow: &'w FlowWindow<'a>,
    pub echo: Option<Echo>,
    pub base_rtt: Option<BaseRtt>,
    pub class: Classified,
}

pub(super) fn classed<'a, 'w>(
    window: &'w LinkWindow<'a>,
    context: &LinkContext,
    config: &EstimatorConfig,
) -> Vec<Classed<'a, 'w>> {
    let mut echoes = Echoes::default();
    let mut all: Vec<Classed<'a, 'w>> = active(window)
        .map(|flow| {
            let echo = echoes.of(flow);
            let base_rtt = base_rtt(flow, echo, transmission_s(window, flow));
            let class = classify(flow, echo, base_rtt, None, context, config);
            Classed {
                flow,
                echo,
                base_rtt,
                class,
            }
        })
        .collect();
    if let Some(window_law) = WindowLaw::of(&all, context) {
        for c in all.iter_mut().filter(|c| needs_a_guess(c)) {
            if let Some(base) = window_law.base_rtt(c.flow) {
                c.class = classify(c.flow, c.echo, Some(base), None, context, config);
                c.base_rtt = Some(base);
            }
        }
    }
    all
}

/// What a class over one window tells for a part of it: the flow's base RTT and its past.
pub(crate) struct Known {
    pub flow: u64,
    pub echo: Option<Echo>,
    pub base_rtt: Option<BaseRtt>,
    pub past: Option<Past>,
}

/// Classes of the flows of a window that was narrowed, by what is `known` of those of the
/// whole, in the same order.
pub(super) fn classed_again<'a, 'w>(
    window: &'w LinkWindow<'a>,
    known: Vec<Known>,
    context: &LinkContext,
    config: &EstimatorConfig,
) -> Vec<Classed<'a, 'w>> {
    let mut known = known.into_iter().peekable();
    let mut echoes = Echoes::default();
    active(window)
        .map(|flow| {
            while known.next_if(|k| k.flow < flow.id).is_some() {}
            let (echo, base_rtt, past) = match known.next_if(|k| k.flow == flow.id) {
                Some(k) => (k.echo, k.base_rtt, k.past),
                None => {
                    let echo = echoes.of(flow);
                    let base_rtt = base_rtt(flow, echo, transmission_s(window, flow));
                    (echo, base_rtt, None)
                }
            };
            let class = classify(flow, echo, base_rtt, past, context, config);
            Classed {
                flow,
                echo,
                base_rtt,
                class,
            }
        })
        .collect()
}

/// Time on the wire of a packet of the flow, mean; 0 without a capacity.
fn transmission_s(window: &LinkWindow<'_>, flow: &FlowWindow<'_>) -> f64 {
    let (bytes, packets) = flow.window().iter().fold((0.0, 0.0), |(b, n), r| {
        (b + r.wire_bytes as f64, n + f64::from(r.packets))
    });
    let capacity = window.capacity_bytes_per_s().filter(|_| packets > 0.0);
    capacity.map_or(0.0, |c| bytes / packets / c)
}

/// The flows that sent or lost something in the window.
fn active<'a, 'w>(window: &'w LinkWindow<'a>) -> impl Iterator<Item = &'w FlowWindow<'a>> {
    window
        .flows
        .iter()
        .filter(|f| f.window().iter().any(|r| r.packets + r.drops > 0))
}

/// An unprobed flow, weighed without knowing its window.
fn needs_a_guess(c: &Classed<'_, '_>) -> bool {
    c.base_rtt.is_none()
        && c.flow.is_tcp()
        && c.class.observed.is_some()
        && c.class.evidence == Evidence::Passive
        && c.flow.sampling <= 1.0
}

/// Flows whose windows are known, needed to stand for the others.
const KNOWN: usize = 3;
/// Drops and marked round trips from which on their rate tells the window.
const SIGNALS: u64 = 20;
/// Longest and, where none is known, shortest base RTT that is guessed, s.
const LONGEST_S: f64 = 0.6;
const SHORTEST_S: f64 = 0.01;
/// Relative error of a guess.
const ERROR: f64 = 0.5;

/// Flows that share a bottleneck have about the same window whatever their RTT
/// (BSCL eq. 8): what one of them sends in a second then tells its RTT.
struct WindowLaw {
    window_pkts: f64,
    shortest_s: f64,
}

impl WindowLaw {
    /// From the flows whose windows are known, else from the loss here (eq. 2).
    fn of(all: &[Classed<'_, '_>], context: &LinkContext) -> Option<Self> {
        let known: Vec<(f64, f64)> = all
            .iter()
            .filter(|c| c.class.class == FlowClass::Lbp)
            .filter_map(|c| {
                let in_flight = c.class.observed.as_ref()?.in_flight_pkts?;
                Some((in_flight, c.base_rtt?.seconds))
            })
            .collect();
        if known.len() >= KNOWN {
            let windows: Vec<f64> = known.iter().map(|k| k.0).collect();
            return Some(Self {
                window_pkts: quantile(&windows, 0.5)?,
                shortest_s: known.iter().map(|k| k.1).fold(LONGEST_S, f64::min),
            });
        }
        (context.signals >= SIGNALS).then(|| Self {
            window_pkts: SQRT_CONSTANT / context.signal_rate.sqrt(),
            shortest_s: SHORTEST_S,
        })
    }

    fn base_rtt(&self, flow: &FlowWindow<'_>) -> Option<BaseRtt> {
        let records = flow.window();
        let (first, last) = (records.first()?, records.last()?);
        let span_s = (last.start_ns + last.duration_ns - first.start_ns) as f64 / 1e9;
        let (packets, delay_ns) = records.iter().fold((0.0, 0.0), |(n, d), r| {
            (n + f64::from(r.packets), d + r.delay_sum_ns as f64)
        });
        (packets > 0.0).then(|| BaseRtt {
            seconds: (self.window_pkts * span_s / packets - delay_ns / packets / 1e9)
                .clamp(self.shortest_s, LONGEST_S),
            transmission_s: 0.0,
            error: ERROR,
            evidence: Evidence::Passive,
            guessed: true,
        })
    }
}
