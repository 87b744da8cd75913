// SPDX-License-Identifier: Apache-2.0
//! Pooled measurements at one limit under one traffic, over all windows so far.
//!
//! A window of some seconds has only a handful of loss events, and advice based on one window
//! fluctuates with them. Consecutive windows without a change of limit or traffic are therefore
//! pooled: counts add up, means are weighted by time, and the half of a range that is due to
//! sampling narrows with the number of windows. The other half is taken as systematic and stays.

use crate::models::reductions::LEAST_DROPS;
use crate::models::sampling::LOSS_BETWEEN_RUNS;
use serde::{Deserialize, Serialize};
use tidemark_rules::{FlowMix, LossMix, Observed, Occupancy, Range, Synchrony, Traffic};

/// Difference between two loss rates, in standard deviations, that shows different traffic.
const CLEARLY: f64 = 3.5;
/// Longest measured time that counts, s; beyond it older measurements fade.
const MOST_S: f64 = 600.0;
/// Number of points of a pooled distribution.
const POINTS: usize = 100;
/// Part of a range that additional windows do not narrow.
const SYSTEMATIC: f64 = 0.5;

/// The pooled measurements, with the end of the newest window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    traffic: Option<Box<Traffic>>,
    /// Number of pooled windows.
    windows: u32,
    /// End of the newest window, ns on the switch's clock.
    to_ns: u64,
}

impl Pool {
    /// Forgets everything, because limit or traffic changed.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.windows == 0
    }

    /// Adds a window, `[from_ns, to_ns)`, unless it overlaps with earlier ones.
    pub fn take(&mut self, window: &Traffic, from_ns: u64, to_ns: u64) {
        let unusable = window.observed.is_none() || window.two_clocks || window.seconds <= 0.0;
        if from_ns < self.to_ns || unusable {
            return;
        }
        self.traffic = Some(Box::new(match self.traffic.take() {
            Some(known) if known.limit_bytes == window.limit_bytes && alike(&known, window) => {
                merged(*known, window, self.windows)
            }
            _ => {
                self.windows = 0;
                window.clone()
            }
        }));
        self.windows = self.windows.saturating_add(1);
        self.to_ns = to_ns;
    }

    /// Returns everything measured under this traffic, or the window if there is nothing else.
    pub fn with(&self, window: Traffic) -> Traffic {
        match &self.traffic {
            Some(known) if self.windows > 1 && known.limit_bytes == window.limit_bytes => Traffic {
                tried: window.tried,
                two_clocks: window.two_clocks,
                capacity_bps: window.capacity_bps,
                queue_drain_bps: window.queue_drain_bps,
                ..(**known).clone()
            },
            _ => window,
        }
    }
}

/// Whether both may have the same loss rate, by their loss events. Flows that have just started
/// lose their overshoot, but only once.
fn alike(a: &Traffic, b: &Traffic) -> bool {
    let lost = |m: &Traffic| {
        m.observed
            .filter(|o| o.drops >= LEAST_DROPS)
            .map(|o| o.loss_rate)
    };
    let (Some(x), Some(y)) = (lost(a), lost(b)) else {
        return true;
    };
    let variance = |m: &Traffic| 1.0 / m.loss_events() + LOSS_BETWEEN_RUNS * LOSS_BETWEEN_RUNS;
    (x / y).ln().abs() <= CLEARLY * (variance(a) + variance(b)).sqrt()
}

/// Merges two measurements: `a` of `windows` windows, and another one.
fn merged(mut a: Traffic, b: &Traffic, windows: u32) -> Traffic {
    let kept_s = a.seconds.min(MOST_S - b.seconds.min(0.5 * MOST_S));
    let mut batches = a.batches;
    batches.fade(kept_s / a.seconds);
    batches.add(b.batches);
    a.seconds = kept_s;
    let (sa, sb) = (a.seconds, b.seconds);
    let w = sb / (sa + sb);
    let mean = |x: f64, y: f64| x + (y - x) * w;
    // The sampling errors of windows are independent.
    let n = f64::from(windows.max(1));
    let part = |k: f64| SYSTEMATIC + (1.0 - SYSTEMATIC) / k.sqrt();
    let narrowed = part(n + 1.0) / part(n);
    let range = |x: Range, y: Range| {
        let value = mean(x.value, y.value);
        // The first window has the full width, a pooled one part of it.
        let side = |pooled: f64, whole: f64| mean(pooled / part(n), whole) * part(n) * narrowed;
        let (low, high) = (x.value - x.low, x.high - x.value);
        Range::new(
            value,
            value - side(low, y.value - y.low),
            value + side(high, y.high - y.value),
        )
    };
    let either = |x: Option<Range>, y: Option<Range>| match (x, y) {
        (Some(x), Some(y)) => Some(range(x, y)),
        (x, y) => y.or(x),
    };
    let share = |x: Option<f64>, y: Option<f64>| match (x, y) {
        (Some(x), Some(y)) => Some(mean(x, y)),
        (x, y) => y.or(x),
    };
    let known = |x: Range, y: Range| {
        if y.value > 0.0 && x.value > 0.0 {
            range(x, y)
        } else if y.value > 0.0 {
            y
        } else {
            x
        }
    };
    let drops = (
        a.observed.map_or(0, |o| o.drops),
        b.observed.map_or(0, |o| o.drops),
    );
    let by_drops = drops.1 as f64 / (drops.0 + drops.1).max(1) as f64;
    Traffic {
        n_b: range(a.n_b, b.n_b),
        n_active: mean(a.n_active, b.n_active),
        alpha: if a.alpha_measured == b.alpha_measured {
            range(a.alpha, b.alpha)
        } else if a.alpha_measured {
            a.alpha
        } else {
            b.alpha
        },
        alpha_measured: a.alpha_measured || b.alpha_measured,
        q_observed: either(a.q_observed, b.q_observed),
        delta: either(a.delta, b.delta),
        window_p01_pkts: share(a.window_p01_pkts, b.window_p01_pkts),
        synchrony: match (a.synchrony, b.synchrony) {
            (Some(x), Some(y)) => Some(Synchrony {
                d_mean: mean(x.d_mean, y.d_mean),
                s_mean: mean(x.s_mean, y.s_mean),
                s_max: x.s_max.max(y.s_max),
                condition_fraction: mean(x.condition_fraction, y.condition_fraction),
            }),
            (x, y) => y.or(x),
        },
        t_e_s: known(a.t_e_s, b.t_e_s),
        t_mean_s: known(a.t_mean_s, b.t_mean_s),
        base_rtts_s: if b.base_rtts_s.len() >= a.base_rtts_s.len() {
            b.base_rtts_s.clone()
        } else {
            a.base_rtts_s
        },
        c_e_share: range(a.c_e_share, b.c_e_share),
        rho: mean(a.rho, b.rho),
        rho_other: mean(a.rho_other, b.rho_other),
        // The longer measurement is more reliable.
        regime: if sa >= sb { a.regime } else { b.regime },
        saturable: a.saturable.or(b.saturable),
        congestion_control: if sa >= sb {
            a.congestion_control
        } else {
            b.congestion_control
        },
        beta: share(a.beta, b.beta),
        observed: observed(a.observed, b.observed, w),
        overshoot_drops: a.overshoot_drops + b.overshoot_drops,
        model_based_share: mean(a.model_based_share, b.model_based_share),
        model_based_drops: a.model_based_drops + b.model_based_drops,
        loss_based_share: mean(a.loss_based_share, b.loss_based_share),
        loss_mix: match (a.loss_mix, b.loss_mix) {
            (Some(x), Some(y)) => {
                let mean = |x: f64, y: f64| x + (y - x) * by_drops;
                Some(LossMix {
                    cubic: mean(x.cubic, y.cubic),
                    scalable: mean(x.scalable, y.scalable),
                    unknown: mean(x.unknown, y.unknown),
                })
            }
            (x, y) => y.or(x),
        },
        flow_mix: match (a.flow_mix, b.flow_mix) {
            (Some(x), Some(y)) => Some(FlowMix {
                model_based: mean(x.model_based, y.model_based),
                cubic: mean(x.cubic, y.cubic),
                unknown: mean(x.unknown, y.unknown),
            }),
            (x, y) => y.or(x),
        },
        occupancy: match (a.occupancy, &b.occupancy) {
            (Some(x), Some(y)) => Some(occupancy(&x, y)),
            (x, y) => y.clone().or(x),
        },
        batches,
        seconds: sa + sb,
        understood: share(a.understood, b.understood),
        reports_lost: share(a.reports_lost, b.reports_lost),
        ..b.clone()
    }
}

fn observed(a: Option<Observed>, b: Option<Observed>, w: f64) -> Option<Observed> {
    let (Some(a), Some(b)) = (a, b) else {
        return b.or(a);
    };
    let mean = |x: f64, y: f64| x + (y - x) * w;
    Some(Observed {
        utilisation: mean(a.utilisation, b.utilisation),
        loss_rate: mean(a.loss_rate, b.loss_rate),
        drops: a.drops + b.drops,
        delay_mean_ms: mean(a.delay_mean_ms, b.delay_mean_ms),
        delay_p50_ms: mean(a.delay_p50_ms, b.delay_p50_ms),
        delay_p99_ms: mean(a.delay_p99_ms, b.delay_p99_ms),
        delay_max_ms: a.delay_max_ms.max(b.delay_max_ms),
    })
}

/// Merges two distributions, weighted by their arrivals.
fn occupancy(a: &Occupancy, b: &Occupancy) -> Occupancy {
    let (na, nb) = (a.arrivals as f64, b.arrivals as f64);
    let w = nb / (na + nb).max(1.0);
    let each = |o: &Occupancy, weight: f64| {
        let part = weight * (1.0 - o.met_empty) / o.bytes.len().max(1) as f64;
        o.bytes.iter().map(|&b| (b, part)).collect::<Vec<_>>()
    };
    let mut all = each(a, 1.0 - w);
    all.extend(each(b, w));
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let total: f64 = all.iter().map(|p| p.1).sum();
    let (mut bytes, mut before) = (Vec::with_capacity(POINTS), 0.0);
    for (value, part) in &all {
        before += part;
        while bytes.len() < POINTS && before >= (bytes.len() as f64 + 0.5) / POINTS as f64 * total {
            bytes.push(*value);
        }
    }
    Occupancy {
        arrivals: a.arrivals + b.arrivals,
        met_empty: a.met_empty + (b.met_empty - a.met_empty) * w,
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(drops: u64, n_b: f64) -> Traffic {
        let mut m = Traffic::described(100e6, 0.02, n_b, 1514.0);
        m.n_b = Range::new(n_b, n_b - 2.0, n_b + 2.0);
        m.limit_bytes = Some(2e5);
        m.seconds = 10.0;
        m.alpha_measured = true;
        m.observed = Some(Observed {
            utilisation: 0.99,
            loss_rate: drops as f64 / 80_000.0,
            drops,
            delay_mean_ms: 5.0,
            delay_p50_ms: 5.0,
            delay_p99_ms: 9.0,
            delay_max_ms: 10.0,
        });
        m.occupancy = Some(Occupancy {
            arrivals: 80_000,
            met_empty: 0.01,
            bytes: (0..100).map(|i| 2e3 * f64::from(i)).collect(),
        });
        m
    }

    #[test]
    fn counts_add_up_and_ranges_narrow() {
        let mut pool = Pool::default();
        for (i, drops) in [800, 700, 900, 800].into_iter().enumerate() {
            let from_ns = 10_000 * i as u64;
            pool.take(&window(drops, 12.0), from_ns, from_ns + 10_000);
            // Overlaps with the previous window.
            pool.take(&window(9_999, 12.0), from_ns + 5_000, from_ns + 15_000);
        }
        let all = pool.with(window(1, 12.0));
        let o = all.observed.unwrap();
        assert_eq!((o.drops, all.seconds), (3_200, 40.0));
        assert!((o.loss_rate - 0.01).abs() < 1e-12);
        let half = all.n_b.high - all.n_b.value;
        assert!((half - 2.0 * (0.5 + 0.25)).abs() < 1e-9, "{half}");
        let occupancy = all.occupancy.unwrap();
        assert_eq!((occupancy.arrivals, occupancy.bytes.len()), (320_000, 100));
        assert!((occupancy.bytes[50] - 1e5).abs() < 5e3);
    }

    #[test]
    fn the_start_of_flows_is_not_pooled_with_what_follows() {
        let mut pool = Pool::default();
        pool.take(&window(4_000, 12.0), 0, 10);
        pool.take(&window(800, 12.0), 10, 20);
        pool.take(&window(900, 12.0), 20, 30);
        let all = pool.with(window(850, 12.0));
        assert_eq!(all.observed.unwrap().drops, 1_700);
    }

    #[test]
    fn another_limit_begins_anew() {
        let mut pool = Pool::default();
        pool.take(&window(800, 12.0), 0, 10);
        pool.take(&window(800, 12.0), 10, 20);
        let mut other = window(100, 12.0);
        other.limit_bytes = Some(1e5);
        assert_eq!(pool.with(other.clone()), other);
        pool.take(&other, 20, 30);
        assert_eq!(pool.with(other.clone()), other);
    }
}
