// SPDX-License-Identifier: Apache-2.0
//! Class of a flow with confidence and reason (BSCL §II, §VI).
//!
//! SHORT and WL follow from their definitions. LBP is told from the rest by adding up evidence as
//! log-odds ([`log_odds`]): where the reductions come from, where the packets wait, and how large
//! the window is compared with what the loss here allows.

mod context;
mod facts;
mod fills_link;
mod heeds_loss;
mod log_odds;
mod observation;
mod other_limit;
mod past;
mod receiver_window;
mod timeouts;
mod waits_here;
mod weights;

use crate::config::EstimatorConfig;
use crate::congestion_control::Recognised;
use crate::echo::Echo;
use crate::reductions::Reduction;
use crate::rtt::BaseRtt;
use crate::types::{CongestionControl, Evidence, FlowClass};
use crate::window::FlowWindow;
pub(crate) use context::LinkContext;
use facts::{Facts, with_window};
use fills_link::{fills_link, reduces_without_loss};
use heeds_loss::{defies_loss, falls_on_loss};
use log_odds::LogOdds;
pub use log_odds::log_odds;
pub use observation::Observation;
use other_limit::window_limited;
pub(crate) use past::Past;
use waits_here::p_by_delay;
pub use weights::{WeightKind, Weights};

pub(crate) struct Classified {
    pub class: FlowClass,
    pub confidence: f64,
    pub p_lbp: f64,
    pub why: String,
    pub evidence: Evidence,
    pub recognised: Recognised,
    /// Facts from the flow's history; `None` if its class needs none of them.
    pub past: Option<Past>,
    /// Observations behind the log-odds; `None` if the class follows from the definitions.
    pub observed: Option<Observation>,
    /// Probability that the flow is LBP if flows that react to delay hold the queue.
    pub p_by_delay: Option<f64>,
}

/// A flow idle for longer than this has ended, closed or not.
const IDLE_NS: u64 = 2_000_000_000;
/// A flow of few packets is persistent all the same if it lasts this long.
const PERSISTENT_S: f64 = 5.0;

/// Packets of a connection that is only being opened, retransmissions included.
const OPENING_PACKETS: u64 = 4;

struct Verdict {
    class: FlowClass,
    confidence: f64,
    p_lbp: f64,
    why: String,
}

fn verdict(class: FlowClass, confidence: f64, p_lbp: f64, why: impl Into<String>) -> Verdict {
    Verdict {
        class,
        confidence,
        p_lbp,
        why: why.into(),
    }
}

/// Classifies one flow by its history up to the end of the window. `past` is given if it is known
/// from another window with the same history.
pub(crate) fn classify(
    flow: &FlowWindow<'_>,
    echo: Option<Echo>,
    base: Option<BaseRtt>,
    past: Option<Past>,
    link: &LinkContext,
    config: &EstimatorConfig,
) -> Classified {
    let is_probed = flow.probed();
    let classified = |v: Verdict| Classified {
        class: v.class,
        confidence: v.confidence.clamp(0.0, 1.0),
        p_lbp: v.p_lbp.clamp(0.0, 1.0),
        why: v.why,
        evidence: if is_probed {
            Evidence::Probed
        } else {
            Evidence::Passive
        },
        recognised: Recognised {
            cc: CongestionControl::Unknown,
            beta: None,
        },
        past: None,
        observed: None,
        p_by_delay: None,
    };
    if let Some(v) = at_a_glance(flow, link, config).or_else(|| unclocked(flow, base, link)) {
        return classified(v);
    }
    let past = past.unwrap_or_else(|| Past::of(flow, echo, base, config));
    let f = with_window(past.facts, flow, base, config);
    let (reductions, events) = (&past.reductions, past.events);
    let mut recognised = past.recognised;
    let fills_link = fills_link(flow, base, link, &f);
    if (defies_loss(flow, &f, events) && !(is_probed && falls_on_loss(reductions, events)))
        || (is_probed && fills_link && reduces_without_loss(reductions))
    {
        recognised.cc = CongestionControl::Bbr;
    }
    let mut observed = None;
    let v = by_definition(flow, link, config, reductions, &f).unwrap_or_else(|| {
        let observed = observed.insert(Observation {
            fills_link,
            ..Observation::of(flow, link, config, reductions, &recognised, &f)
        });
        by_log_odds(&f, observed)
    });
    let by_delay = observed.as_ref().and_then(|_| p_by_delay(flow, &f));
    Classified {
        recognised,
        p_by_delay: by_delay,
        past: Some(past),
        observed,
        ..classified(v)
    }
}

/// Classes that need only the packets of the history.
fn at_a_glance(
    flow: &FlowWindow<'_>,
    link: &LinkContext,
    config: &EstimatorConfig,
) -> Option<Verdict> {
    if flow.life.packets <= OPENING_PACKETS && flow.history.iter().all(|r| r.syn) {
        let why = "opened, nothing sent yet";
        Some(verdict(FlowClass::Short, 0.7, 0.0, why))
    } else if flow.history.iter().all(|r| r.payload_bytes == 0)
        && flow.is_tcp()
        && flow.signals_ns.is_empty()
        && !is_sender(flow)
    {
        let why = "acknowledgements only, no data";
        Some(verdict(FlowClass::Other, 0.95, 0.0, why))
    } else {
        few_packets(flow, link, config)
    }
}

/// Whether the flow sent data before its kept history: the packets that are left only close it.
fn is_sender(flow: &FlowWindow<'_>) -> bool {
    flow.info.is_some_and(|i| i.mss_bytes > 0 || i.probed)
}

/// Confidence that a datagram flow whose packets follow no earlier ones is not limited here: round
/// trips shorter than two bins of the echo's series cannot be seen. If the larger part of a full
/// link is such flows, N_b's range has room for each of them.
const UNCLOCKED: f64 = 0.9;
/// Probability that a sampled datagram flow is limited here: nothing shows it.
const P_SAMPLED: f64 = 0.2;
/// Probability for datagrams that take more than half of a busy link.
const P_FILLS: f64 = 0.4;
const HALF: f64 = 0.5;

/// Class of a datagram flow that no acknowledgements clock, as far as is seen: a transport that
/// keeps a window (QUIC) sends a base round trip after its earlier packets left.
fn unclocked(flow: &FlowWindow<'_>, base: Option<BaseRtt>, link: &LinkContext) -> Option<Verdict> {
    if flow.is_tcp() || base.is_some() {
        return None;
    }
    Some(if flow.sampling > 1.0 {
        let why = "not TCP; sampled packets do not show whether they follow earlier ones";
        verdict(FlowClass::Other, 1.0 - P_SAMPLED, P_SAMPLED, why)
    } else {
        // A flow that fills a link arrives as evenly as it leaves, ACK-clocked or not.
        let p_lbp = if link.busy() && link.share_of(flow) > HALF {
            P_FILLS
        } else {
            0.0
        };
        let why = "not TCP, and its packets do not follow its own that left earlier";
        verdict(FlowClass::Other, UNCLOCKED.min(1.0 - p_lbp), p_lbp, why)
    })
}

/// Class of a flow of few packets that is over or has only just begun.
fn few_packets(
    flow: &FlowWindow<'_>,
    link: &LinkContext,
    config: &EstimatorConfig,
) -> Option<Verdict> {
    let life = flow.life;
    if life.packets > config.short_packets {
        return None;
    }
    let ended = ended(flow, link);
    (ended || life.span_s() < PERSISTENT_S).then(|| {
        verdict(
            brief(flow),
            if ended { 0.97 } else { 0.8 },
            if ended { 0.0 } else { 0.05 },
            format!(
                "{} packets{}",
                life.packets,
                if ended { ", ended" } else { " so far" }
            ),
        )
    })
}

/// Class of a flow that is over before anything limits it. A few datagrams do not show whether
/// anything ever would.
fn brief(flow: &FlowWindow<'_>) -> FlowClass {
    if flow.is_tcp() {
        FlowClass::Short
    } else {
        FlowClass::Other
    }
}

fn ended(flow: &FlowWindow<'_>, link: &LinkContext) -> bool {
    flow.life.closed || flow.life.last_ns + IDLE_NS < link.to_ns
}

/// WL and SHORT if the observations meet their definitions.
fn by_definition(
    flow: &FlowWindow<'_>,
    link: &LinkContext,
    config: &EstimatorConfig,
    reductions: &[Reduction],
    facts: &Facts,
) -> Option<Verdict> {
    let window = facts.receiver_window;
    if window.limits() {
        let p_lbp = window.p_hardly_there();
        return Some(verdict(FlowClass::Wl, 1.0 - p_lbp, p_lbp, window.why()));
    }
    let reduced = reductions.iter().any(|r| r.counts);
    let slow_start = facts.initial_slow_start.unwrap_or(!reduced) && !reduced;
    let young = ended(flow, link) || flow.life.span_s() < PERSISTENT_S;
    if slow_start
        && young
        && flow.life.packets <= 10 * config.short_packets
        && flow.signals_ns.is_empty()
    {
        return Some(verdict(
            brief(flow),
            0.7,
            0.1,
            "ended or began in slow start, no loss response",
        ));
    }
    None
}

/// LBP or not by the evidence; if not, the other limit by how its packets arrive.
fn by_log_odds(facts: &Facts, observed: &Observation) -> Verdict {
    let odds = LogOdds::weigh(observed, &Weights::IN_FORCE);
    let p = odds.p_lbp().min(facts.receiver_window.p_hardly_there());
    if p >= 0.5 {
        return verdict(FlowClass::Lbp, p, p, odds.why());
    }
    if window_limited(facts) {
        verdict(FlowClass::Wl, 0.8 * (1.0 - p), p, odds.why())
    } else {
        verdict(FlowClass::Rbp, 1.0 - p, p, odds.why())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::{FlowInfo, FlowInterval, FlowKey};

    const UDP: u32 = 17;

    fn base(seconds: f64) -> BaseRtt {
        BaseRtt {
            seconds,
            transmission_s: 0.0,
            error: 0.03,
            evidence: Evidence::Passive,
        }
    }

    fn idle() -> LinkContext {
        LinkContext {
            non_empty: 0.0,
            utilisation: None,
            capacity_bytes_per_s: Some(1e6),
            drop_rate: 0.0,
            signals: 0,
            signal_rate: 0.0,
            to_ns: 1,
            unreported: 0.0,
            missing: Vec::new(),
        }
    }

    fn of_datagrams(base: Option<BaseRtt>, sampling: f64) -> Option<(FlowClass, f64)> {
        let info = FlowInfo {
            key: Some(FlowKey {
                protocol: UDP,
                ..FlowKey::default()
            }),
            ..FlowInfo::default()
        };
        let record = FlowInterval {
            packets: 5,
            ..FlowInterval::default()
        };
        let flow = FlowWindow {
            info: Some(&info),
            sampling,
            ..FlowWindow::of_records(vec![&record])
        };
        unclocked(&flow, base, &idle()).map(|v| (v.class, v.p_lbp))
    }

    #[test]
    fn datagrams_with_a_clock_are_weighed_as_tcp_is() {
        assert_eq!(of_datagrams(Some(base(0.04)), 1.0), None);
        assert_eq!(of_datagrams(None, 1.0), Some((FlowClass::Other, 0.0)));
        let (class, p) = of_datagrams(None, 8.0).unwrap();
        assert!(class == FlowClass::Other && p > 0.0 && p < 0.5);
    }

    #[test]
    fn a_full_link_that_loses_little_is_filled_by_what_reacts() {
        let link = |utilisation, drop_rate| LinkContext {
            utilisation,
            drop_rate,
            ..idle()
        };
        assert!(link(Some(0.995), 0.01).filled());
        assert!(!link(Some(0.9), 0.01).filled());
        assert!(!link(Some(1.0), 0.3).filled());
        assert!(!link(None, 0.01).filled());
    }
}
