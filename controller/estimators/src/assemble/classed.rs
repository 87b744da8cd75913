// SPDX-License-Identifier: Apache-2.0
//! Classifies all flows of a window.

use crate::classify::{Classified, LinkContext, Past, classify};
use crate::config::EstimatorConfig;
use crate::echo::{Echo, Echoes};
use crate::rtt::{BaseRtt, base_rtt};
use crate::window::{FlowWindow, LinkWindow};

/// A flow with its class and its base RTT, if known.
pub(super) struct Classed<'a, 'w> {
    pub flow: &'w FlowWindow<'a>,
    pub echo: Option<Echo>,
    pub base_rtt: Option<BaseRtt>,
    pub class: Classified,
}

/// Facts from a window that also hold for a part of it: the flow's base RTT and its past.
pub(crate) struct Known {
    pub flow: u64,
    pub echo: Option<Echo>,
    pub base_rtt: Option<BaseRtt>,
    pub past: Option<Past>,
}

/// Classifies the flows of a window. `known` holds their facts in the same order if the window was
/// narrowed from a larger one.
pub(super) fn classed<'a, 'w>(
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

/// Mean transmission time of the flow's packets; 0 without a capacity.
fn transmission_s(window: &LinkWindow<'_>, flow: &FlowWindow<'_>) -> f64 {
    let (bytes, packets) = flow.window().iter().fold((0.0, 0.0), |(b, n), r| {
        (b + r.wire_bytes as f64, n + f64::from(r.packets))
    });
    let capacity = window.capacity_bytes_per_s().filter(|_| packets > 0.0);
    capacity.map_or(0.0, |c| bytes / packets / c)
}

/// The flows that sent or lost a packet in the window.
fn active<'a, 'w>(window: &'w LinkWindow<'a>) -> impl Iterator<Item = &'w FlowWindow<'a>> {
    window
        .flows
        .iter()
        .filter(|f| f.window().iter().any(|r| r.packets + r.drops > 0))
}
