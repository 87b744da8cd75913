// SPDX-License-Identifier: Apache-2.0
//! Converts an estimate to the advisor's input.

use crate::types::{CongestionControl, Estimate, Evidence, FlowClass, FlowEstimate, LinkEstimate};
use tidemark_rules::bscl::DEFAULT_ALPHA;
use tidemark_rules::{FlowMix, LossMix, Observed, Range, Synchrony, Traffic};

impl From<Estimate> for Range {
    fn from(e: Estimate) -> Self {
        Range::new(e.value, e.low, e.high)
    }
}

impl LinkEstimate {
    /// Input of the advisor of `tidemark-rules`, from this estimate. Unknown RTTs are 0; the
    /// advisor refuses them with a message.
    pub fn measured(&self) -> Traffic {
        let e = &self.estimates;
        let seconds = |ms: Option<Estimate>| {
            ms.map_or(Range::exact(0.0), |t| {
                Range::new(t.value / 1e3, t.low / 1e3, t.high / 1e3)
            })
        };
        let synchrony = match (e.d_mean, e.s, e.condition_fraction) {
            (Some(d), Some(s), Some(fraction)) => Some(Synchrony {
                d_mean: d.value,
                s_mean: s.value,
                s_max: s.high,
                condition_fraction: fraction.value,
            }),
            _ => None,
        };
        let lbp: Vec<&FlowEstimate> = self
            .flows
            .iter()
            .filter(|f| f.class == FlowClass::Lbp)
            .collect();
        let model_based_share = share(&lbp, is_model_based);
        let model_based = lbp.iter().filter(|f| is_model_based(f.congestion_control));
        Traffic {
            capacity_bps: self.capacity_bps as f64,
            shares_port: self.shares_port,
            two_clocks: self.two_clocks,
            queue_drain_bps: self.queue_drain_bps,
            segment_bytes: self.segment_bytes,
            limit_bytes: self.limit_bytes.map(|b| b as f64),
            n_b: e.n_b.into(),
            n_active: self.classes.total() as f64,
            alpha: if e.alpha.evidence != Evidence::Assumed {
                drawn_alpha(e.alpha, self.loss_events)
            } else {
                // Its range shows what could not be measured here, not what is typical.
                literature_alpha()
            },
            alpha_measured: e.alpha.evidence != Evidence::Assumed,
            q_observed: e.q.map(Into::into),
            delta: e.delta.map(Into::into),
            window_p01_pkts: e.window_p01_pkts,
            synchrony,
            t_e_s: seconds(e.t_e_ms),
            t_mean_s: seconds(e.t_mean_ms),
            base_rtts_s: base_rtts_s(&lbp),
            c_e_share: e.c_e_share.into(),
            rho: e.rho.value,
            rho_other: e.rho_other.value,
            regime: e.regime.value,
            saturable: e.saturable.value,
            congestion_control: common(&lbp, model_based_share),
            beta: mean_beta(&lbp),
            observed: self
                .utilisation
                .mean
                .filter(|_| !self.is_loss_untold())
                .map(|utilisation| Observed {
                    utilisation,
                    loss_rate: self.loss_rate.unwrap_or(0.0),
                    drops: self.drops.unwrap_or(0),
                    delay_mean_ms: self.delay_ms.mean.unwrap_or(0.0),
                    delay_p50_ms: self.delay_ms.p50.unwrap_or(0.0),
                    delay_p99_ms: self.delay_ms.p99.unwrap_or(0.0),
                    delay_max_ms: self.delay_ms.max.unwrap_or(0.0),
                }),
            overshoot_drops: self.overshoot_drops,
            model_based_share,
            model_based_drops: model_based.filter_map(|f| f.drops).sum(),
            loss_based_share: share(&lbp, reduces_on_loss),
            loss_mix: LossMix::of_drops(
                lbp.iter()
                    .filter_map(|f| Some((f.congestion_control, f.drops?))),
            ),
            flow_mix: Some(FlowMix::of(lbp.iter().map(|f| f.congestion_control))),
            seconds: self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9 - self.unrecorded_s,
            understood: self.understood(),
            reports_lost: self.lost_share(),
            occupancy: self.occupancy.clone(),
            batches: self.batches,
            ..Traffic::default()
        }
    }
}

impl LinkEstimate {
    /// Share of the bytes carried by flows with a class; `None` without flows.
    fn understood(&self) -> Option<f64> {
        let bytes = |f: &FlowEstimate| f.rate_bps * f.active_fraction;
        let all: f64 = self.flows.iter().map(bytes).sum();
        let classed = self.flows.iter().filter(|f| f.class != FlowClass::Other);
        (all > 0.0).then(|| classed.map(bytes).sum::<f64>() / all)
    }

    /// Whether packets were seen whose drops no report can show.
    fn is_loss_untold(&self) -> bool {
        self.loss_rate.is_none() && self.arrivals > 0
    }

    /// Share of the reports that did not reach the collector.
    fn lost_share(&self) -> Option<f64> {
        let all = self.arrivals + self.reports_lost;
        (all > 0).then(|| self.reports_lost as f64 / all as f64)
    }
}

/// Number of base RTTs that is enough to show their distribution.
const BASE_RTTS: usize = 100;

/// Base RTTs of the LBP flows; quantiles if there are many.
fn base_rtts_s(lbp: &[&FlowEstimate]) -> Vec<f64> {
    let mut all: Vec<f64> = lbp
        .iter()
        .filter_map(|f| f.base_rtt_ms)
        .map(|ms| ms / 1e3)
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    if all.len() <= BASE_RTTS {
        return all;
    }
    (0..BASE_RTTS)
        .filter_map(|i| all.get((2 * i + 1) * all.len() / (2 * BASE_RTTS)).copied())
        .collect()
}

/// Weight of the literature's α, in loss events: a handful of observed events says less than all
/// previous measurements together.
const PRIOR_EVENTS: f64 = 4.0;

/// Range of the literature's α.
const LITERATURE: (f64, f64) = (0.4, 0.7);

fn literature_alpha() -> Range {
    Range::new(DEFAULT_ALPHA, LITERATURE.0, LITERATURE.1)
}

/// α for the advisor: the measured α averaged with the literature's, weighted by events.
fn drawn_alpha(alpha: Estimate, events: u64) -> Range {
    let toward = |v: f64, prior: f64| {
        (v * events as f64 + prior * PRIOR_EVENTS) / (events as f64 + PRIOR_EVENTS)
    };
    Range::new(
        toward(alpha.value, DEFAULT_ALPHA),
        toward(alpha.low, LITERATURE.0),
        toward(alpha.high, LITERATURE.1),
    )
}

/// Whether the window follows a model of the path.
fn is_model_based(cc: CongestionControl) -> bool {
    cc == CongestionControl::Bbr
}

/// Whether the control was recognised as reducing on loss.
fn reduces_on_loss(cc: CongestionControl) -> bool {
    use CongestionControl::{Bbr, Dctcp, Unknown};
    !matches!(cc, Bbr | Dctcp | Unknown)
}

/// Share of the LBP flows' bytes carried by flows whose congestion control meets `is_such`.
fn share(lbp: &[&FlowEstimate], is_such: impl Fn(CongestionControl) -> bool) -> f64 {
    let (mut all, mut part) = (0.0, 0.0);
    for f in lbp {
        let sent = f.rate_bps * f.active_fraction;
        all += sent;
        if is_such(f.congestion_control) {
            part += sent;
        }
    }
    if all > 0.0 { part / all } else { 0.0 }
}

/// Share of the bytes with which BBR flows are the only ones that matter.
const ALL_MODEL_BASED: f64 = 0.98;

/// Share of the bytes of recognised flows with which one congestion control determines the link: a
/// few other or misrecognised flows change little.
const MOST: f64 = 0.8;

/// The congestion control of most LBP flows by bytes; unknown if they differ or none was recognised
/// (the rules then assume Reno).
fn common(lbp: &[&FlowEstimate], model_based_share: f64) -> CongestionControl {
    if model_based_share >= ALL_MODEL_BASED {
        return CongestionControl::Bbr;
    }
    let bytes_of = |cc: CongestionControl| -> f64 {
        let of = lbp.iter().filter(|f| f.congestion_control == cc);
        of.map(|f| f.rate_bps * f.active_fraction).sum()
    };
    // BBR with less than nearly all bytes is judged by its share, not as a loss law.
    let known = [
        CongestionControl::Reno,
        CongestionControl::Cubic,
        CongestionControl::Scalable,
        CongestionControl::Dctcp,
    ]
    .map(|cc| (cc, bytes_of(cc)));
    let all = bytes_of(CongestionControl::Bbr) + known.iter().map(|k| k.1).sum::<f64>();
    known
        .into_iter()
        .find(|&(_, bytes)| bytes > 0.0 && bytes >= MOST * all)
        .map_or(CongestionControl::Unknown, |(cc, _)| cc)
}

fn mean_beta(lbp: &[&FlowEstimate]) -> Option<f64> {
    let betas: Vec<f64> = lbp.iter().filter_map(|f| f.beta).collect();
    crate::stats::mean(&betas).map(|b| b.clamp(0.1, 0.95))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(congestion_control: CongestionControl, rate_bps: f64) -> FlowEstimate {
        FlowEstimate {
            flow: 1,
            key: None,
            class: FlowClass::Lbp,
            confidence: 1.0,
            p_lbp: 1.0,
            why: String::new(),
            evidence: Evidence::Probed,
            rate_bps,
            packets: 100,
            drops: Some(0),
            active_fraction: 1.0,
            cwnd: None,
            srtt_ms: None,
            base_rtt_ms: None,
            congestion_control,
            beta: None,
            reductions_local: 0,
            reductions_remote: 0,
        }
    }

    #[test]
    fn one_odd_flow_in_a_hundred_does_not_hide_the_others() {
        use CongestionControl::{Bbr, Cubic, Reno, Scalable, Unknown};
        let common = |parts: &[(CongestionControl, f64)]| {
            let flows: Vec<FlowEstimate> = parts.iter().map(|&(cc, r)| flow(cc, r)).collect();
            let lbp: Vec<&FlowEstimate> = flows.iter().collect();
            super::common(&lbp, super::share(&lbp, is_model_based))
        };
        assert_eq!(common(&[(Cubic, 99.0), (Scalable, 1.0)]), Cubic);
        // Flows that were not recognised count neither for nor against.
        assert_eq!(common(&[(Reno, 10.0), (Unknown, 80.0)]), Reno);
        assert_eq!(common(&[(Reno, 50.0), (Cubic, 50.0)]), Unknown);
        assert_eq!(common(&[(Bbr, 99.0), (Reno, 1.0)]), Bbr);
        assert_eq!(common(&[(Bbr, 60.0), (Reno, 40.0)]), Unknown);
        assert_eq!(common(&[]), Unknown);
    }

    #[test]
    fn a_mix_that_was_recognised_is_told_from_flows_that_were_not() {
        use CongestionControl::{Bbr, Cubic, Reno, Scalable, Unknown};
        let share = |parts: &[(CongestionControl, f64)]| {
            let flows: Vec<FlowEstimate> = parts.iter().map(|&(cc, r)| flow(cc, r)).collect();
            let lbp: Vec<&FlowEstimate> = flows.iter().collect();
            super::share(&lbp, reduces_on_loss)
        };
        assert_eq!(share(&[(Reno, 50.0), (Cubic, 50.0)]), 1.0);
        assert_eq!(share(&[(Bbr, 60.0), (Scalable, 40.0)]), 0.4);
        assert_eq!(share(&[(Cubic, 25.0), (Unknown, 75.0)]), 0.25);
        assert_eq!(share(&[(Unknown, 1.0)]), 0.0);
        assert_eq!(share(&[]), 0.0);
    }
}
