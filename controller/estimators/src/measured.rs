// SPDX-License-Identifier: Apache-2.0
//! From an estimate to what the advisor is given.

use crate::types::{CongestionControl, Estimate, FlowClass, FlowEstimate, LinkEstimate};
use tidemark_rules::bscl::DEFAULT_ALPHA;
use tidemark_rules::{Observed, Range, Synchrony, Traffic};

impl From<Estimate> for Range {
    fn from(e: Estimate) -> Self {
        Range::new(e.value, e.low, e.high)
    }
}

impl LinkEstimate {
    /// What the advisor of `tidemark-rules` needs of this estimate. RTTs that
    /// are not known are 0, which the advisor refuses in words.
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
                condition_fraction: fraction.value,
            }),
            _ => None,
        };
        let lbp: Vec<&FlowEstimate> = self
            .flows
            .iter()
            .filter(|f| f.class == FlowClass::Lbp)
            .collect();
        let model_based = ModelBased::of(&lbp);
        Traffic {
            capacity_bps: self.capacity_bps as f64,
            queue_drain_bps: self.queue_drain_bps,
            segment_bytes: self.segment_bytes,
            limit_bytes: self.limit_bytes.map(|b| b as f64),
            n_b: e.n_b.into(),
            n_active: self.flows.len() as f64,
            alpha: if e.mean_loss_burst.is_some() {
                drawn_alpha(e.alpha, self.loss_events)
            } else {
                e.alpha.into()
            },
            alpha_measured: e.mean_loss_burst.is_some(),
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
            congestion_control: common(&lbp, model_based.share),
            beta: mean_beta(&lbp),
            observed: self.utilisation.mean.map(|utilisation| Observed {
                utilisation,
                loss_rate: self.loss_rate,
                drops: self.drops,
                delay_mean_ms: self.delay_ms.mean.unwrap_or(0.0),
                delay_p50_ms: self.delay_ms.p50.unwrap_or(0.0),
                delay_p99_ms: self.delay_ms.p99.unwrap_or(0.0),
                delay_max_ms: self.delay_ms.max.unwrap_or(0.0),
            }),
            overshoot_drops: self.overshoot_drops,
            model_based_share: model_based.share,
            model_based_drops: model_based.drops,
            occupancy: self.occupancy.clone(),
        }
    }
}

/// Base RTTs enough to tell how those of all flows are spread.
const BASE_RTTS: usize = 100;

/// Base RTTs of the LBP flows; of many, quantiles.
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

/// Loss events of the literature's α that count with those seen: a handful of
/// events says less than all that was ever measured of others.
const PRIOR_EVENTS: f64 = 4.0;

/// α for the advisor, drawn towards the literature's by as many events.
fn drawn_alpha(alpha: Estimate, events: u64) -> Range {
    let toward = |v: f64, prior: f64| {
        (v * events as f64 + prior * PRIOR_EVENTS) / (events as f64 + PRIOR_EVENTS)
    };
    Range::new(
        toward(alpha.value, DEFAULT_ALPHA),
        toward(alpha.low, 0.4),
        toward(alpha.high, 0.7),
    )
}

/// The LBP flows whose window follows a model of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ModelBased {
    /// Part of the bytes of all LBP flows.
    share: f64,
    drops: u64,
}

impl ModelBased {
    fn of(lbp: &[&FlowEstimate]) -> Self {
        let (mut all, mut part, mut drops) = (0.0, 0.0, 0);
        for f in lbp {
            let sent = f.rate_bps * f.active_fraction;
            all += sent;
            if f.congestion_control == CongestionControl::Bbr {
                part += sent;
                drops += f.drops;
            }
        }
        let share = if all > 0.0 { part / all } else { 0.0 };
        Self { share, drops }
    }
}

/// BBR flows that carry this part of the bytes are all that matter.
const ALL_MODEL_BASED: f64 = 0.98;

/// The congestion control of all LBP flows when they agree; where they differ
/// or none was recognised, unknown (which the rules take for Reno).
fn common(lbp: &[&FlowEstimate], model_based_share: f64) -> CongestionControl {
    if model_based_share >= ALL_MODEL_BASED {
        return CongestionControl::Bbr;
    }
    let mut known = lbp
        .iter()
        .map(|f| f.congestion_control)
        .filter(|&cc| cc != CongestionControl::Unknown);
    match known.next() {
        // Those that were not recognised carry a part of the bytes.
        None | Some(CongestionControl::Bbr) => CongestionControl::Unknown,
        Some(first) if known.all(|cc| cc == first) => first,
        Some(_) => CongestionControl::Unknown,
    }
}

fn mean_beta(lbp: &[&FlowEstimate]) -> Option<f64> {
    let betas: Vec<f64> = lbp.iter().filter_map(|f| f.beta).collect();
    crate::stats::mean(&betas).map(|b| b.clamp(0.1, 0.95))
}
