// SPDX-License-Identifier: Apache-2.0
//! The simulated link: a model of utilisation, loss and delay over the limit.
//!
//! `n` long flows with one RTT share a drop-tail queue. Utilisation falls if the buffer is below
//! BDP/√n, loss follows the square of the flows' windows, and the delay is that of the full queue.
//! All are functions of the limit only, so the loop can be followed by hand.

use tidemark_control::{Limit, Telemetry};
use tidemark_estimators::{
    Estimate, Estimator, EstimatorConfig, Evidence, LinkEstimate, LinkId, Regime,
};

pub(crate) const LINK: LinkId = LinkId {
    node_id: 10,
    port: 5,
    queue: 0,
};
const CAPACITY_BPS: f64 = 100e6;
const RTT_S: f64 = 0.02;
const SEGMENT_BYTES: f64 = 1500.0;
const SECOND_NS: u64 = 1_000_000_000;
pub(crate) const START_BYTES: u64 = 250_000;

/// One second of the link.
#[derive(Clone, Copy)]
struct Second {
    limit_bytes: u64,
    flows: f64,
    /// Factor on loss, for a limit that does not follow the model.
    loss_factor: f64,
    reports_lost: u64,
    /// Whether this second has no record.
    unrecorded: bool,
}

/// The link and what is known about it.
pub(crate) struct SimulatedLink {
    pub limit: Limit,
    pub flows: f64,
    pub loss_factor: f64,
    /// Fraction of the reports that are lost.
    pub report_loss: f64,
    /// Whether the connection to the collector is cut: no record comes, now or later.
    pub cut: bool,
    /// Time that packets wait outside the counted queue, ms.
    pub elsewhere_ms: f64,
    /// Whether no telemetry arrives.
    pub silent: bool,
    /// Whether no report arrives although the collector's clock says that the time is over.
    pub unheard: bool,
    seconds: Vec<Second>,
    complete: usize,
}

impl SimulatedLink {
    pub(crate) fn new() -> Self {
        Self {
            limit: Limit::DropTail {
                limit_bytes: START_BYTES,
            },
            flows: 6.0,
            loss_factor: 1.0,
            report_loss: 0.0,
            cut: false,
            elsewhere_ms: 0.0,
            silent: false,
            unheard: false,
            seconds: Vec::new(),
            complete: 0,
        }
    }

    pub(crate) fn clock_ns(&self) -> u64 {
        self.seconds.len() as u64 * SECOND_NS
    }

    /// Advances by one second.
    pub(crate) fn pass(&mut self) {
        let limit_bytes = self.limit.bytes().unwrap_or(16 << 20);
        self.seconds.push(Second {
            limit_bytes,
            flows: self.flows,
            loss_factor: self.loss_factor,
            reports_lost: (8000.0 * self.report_loss) as u64,
            unrecorded: self.cut,
        });
        if !self.silent && !self.cut {
            self.complete = self.seconds.len();
        }
    }
}

/// Returns utilisation, loss rate and delay of the full queue, ms.
fn model(s: &Second) -> (f64, f64, f64) {
    let bdp_bytes = CAPACITY_BPS / 8.0 * RTT_S;
    let enough_bytes = bdp_bytes / s.flows.max(1.0).sqrt();
    let utilisation = 1.0 - 0.1 * (1.0 - s.limit_bytes as f64 / enough_bytes).max(0.0);
    let window_pkts = (bdp_bytes + s.limit_bytes as f64) / SEGMENT_BYTES / s.flows.max(1.0);
    let loss_rate = (s.loss_factor * 1.5 / window_pkts.max(1.0).powi(2)).min(0.5);
    let delay_ms = s.limit_bytes as f64 * 8.0 / CAPACITY_BPS * 1e3;
    (utilisation, loss_rate, delay_ms)
}

fn estimate(value: f64) -> Estimate {
    Estimate {
        value,
        low: value * 0.95,
        high: value * 1.05,
        evidence: Evidence::Probed,
        samples: 100,
    }
}

impl Telemetry for SimulatedLink {
    fn first_ns(&self) -> Option<u64> {
        (self.complete > 0).then_some(0)
    }

    fn complete_ns(&self) -> u64 {
        self.complete as u64 * SECOND_NS
    }

    fn reported_limit_bytes(&self) -> u64 {
        let seen = &self.seconds[..self.complete];
        seen.last().map_or(0, |s| s.limit_bytes)
    }

    fn estimate(&self, from_ns: u64, to_ns: u64) -> LinkEstimate {
        let second = |ns: u64| ((ns / SECOND_NS) as usize).min(self.complete);
        let seen = &self.seconds[second(from_ns)..second(to_ns)];
        // An estimator's result for a link without records, then filled in.
        let mut e = Estimator::new(EstimatorConfig::default()).estimate(LINK, from_ns, to_ns);
        let Some(last) = seen.last() else { return e };
        let count = seen.len() as f64;
        let mean = |f: fn(&Second) -> f64| seen.iter().map(f).sum::<f64>() / count;
        e.capacity_bps = CAPACITY_BPS as u64;
        e.queue_drain_bps = CAPACITY_BPS;
        e.segment_bytes = SEGMENT_BYTES;
        e.limit_bytes = Some(last.limit_bytes);
        e.utilisation.mean = Some(mean(|s| model(s).0));
        let loss_rate = mean(|s| model(s).1);
        e.loss_rate = Some(loss_rate);
        e.arrivals = 8000 * seen.len() as u64;
        e.drops = Some((e.arrivals as f64 * loss_rate) as u64);
        e.loss_events = seen.iter().filter(|s| 8000.0 * model(s).1 >= 1.0).count() as u64;
        e.reports_lost = seen.iter().map(|s| s.reports_lost).sum();
        e.unrecorded_s = seen.iter().filter(|s| s.unrecorded).count() as f64;
        let in_queue_ms = mean(|s| model(s).2);
        e.occupancy_bytes.mean = Some(0.75 * in_queue_ms * CAPACITY_BPS / 8e3);
        let delay_ms = in_queue_ms + self.elsewhere_ms;
        e.delay_ms.mean = Some(0.75 * delay_ms);
        e.delay_ms.p50 = Some(0.75 * delay_ms);
        e.delay_ms.p99 = Some(delay_ms);
        e.delay_ms.max = Some(delay_ms);
        let flows = mean(|s| s.flows);
        e.classes.lbp = flows as u64;
        e.estimates.n_b = estimate(flows);
        e.estimates.t_e_ms = Some(estimate(RTT_S * 1e3));
        e.estimates.t_mean_ms = Some(estimate(RTT_S * 1e3));
        e.estimates.c_e_share = estimate(1.0);
        e.estimates.rho = estimate(1.0);
        e.estimates.regime.value = Regime::Elastic;
        e
    }
}
