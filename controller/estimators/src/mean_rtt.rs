// SPDX-License-Identifier: Apache-2.0
//! Tₑ and T̄, the means of the base RTTs of the bottlenecked flows (BSCL eq. 12).

use crate::rtt::BaseRtt;
use crate::types::{Estimate, Evidence};
use tidemark_rules::quantiles::Z90;

/// Fewer base RTTs than this, of less than half of the flows, do not represent all flows: the
/// shortest dominates Tₑ.
const LEAST_BASE_RTTS: usize = 5;
/// Whether base RTTs of `known` flows, whose weight is `weight` of `all`, represent all flows.
fn enough(known: usize, weight: f64, all: f64) -> bool {
    known > 0 && (known >= LEAST_BASE_RTTS || 2.0 * weight >= all)
}

/// Relative error of the mean of 1/T over flows of weight `all` if only a part of them is known.
fn error_of_a_part(rtts: &[(BaseRtt, f64)], weight: f64, mean_rate: f64, all: f64) -> f64 {
    let known = rtts.len() as f64;
    let part = (1.0 - weight / all).max(0.0);
    let square = rtts
        .iter()
        .map(|(r, w)| w * (1.0 / r.seconds - mean_rate).powi(2))
        .sum::<f64>()
        / weight;
    let variance = square * known / (known - 1.0).max(1.0);
    Z90 * variance.sqrt() / mean_rate * (part / known).sqrt()
}

/// Ends of the ranges of Tₑ and T̄, relative to their values, from doubtful classes alone: these
/// decide over which flows the means are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClassDoubt {
    pub t_e: (f64, f64),
    pub t_mean: (f64, f64),
}

/// Tₑ and T̄ in ms over the flows with a known base RTT, each weighted by the part of the window in
/// which it was active, as in N_b. `all` is the weight of all flows to average over. `None` if too
/// few base RTTs are known to represent the rest.
pub(crate) fn t_e_and_mean_ms(
    rtts: &[(BaseRtt, f64)],
    all: f64,
    classes: ClassDoubt,
) -> Option<(Estimate, Estimate)> {
    let known = rtts.iter().filter(|(r, _)| r.seconds > 0.0);
    let (mut weight, mut rate, mut length) = (0.0, 0.0, 0.0);
    // Each error weighted by the flow's part of the mean.
    let (mut rate_error, mut length_error) = (0.0, 0.0);
    for (r, w) in known {
        weight += w;
        rate += w / r.seconds;
        length += w * r.seconds;
        rate_error += w / r.seconds * r.error;
        length_error += w * r.seconds * r.error;
    }
    if weight <= 0.0 || !enough(rtts.len(), weight, all) {
        return None;
    }
    let (rate_error, length_error) = (rate_error / rate, length_error / length);
    let (rate, t_mean) = (rate / weight, length / weight);
    let t_e = 1.0 / rate;
    let part = error_of_a_part(rtts, weight, rate, all.max(weight));
    let evidence = Evidence::of(rtts.iter().map(|r| r.0.evidence));
    // Errors of the base RTTs and errors of the classes are independent: their factors combine in
    // quadrature.
    let factor = |of_rtts: f64, of_classes: f64| of_rtts.ln().hypot(of_classes.ln()).exp();
    let around = |s: f64, error: f64, (least, most): (f64, f64)| {
        let shorter = factor((1.0 - error) / (1.0 + part), least);
        let longer = factor((1.0 + error) * (1.0 + part), most);
        let (value, n) = (s * 1e3, rtts.len() as u64);
        Estimate::new(value, value / shorter, value * longer, evidence, n)
    };
    Some((
        around(t_e, rate_error, classes.t_e),
        around(t_mean, length_error, classes.t_mean),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURE: ClassDoubt = ClassDoubt {
        t_e: (1.0, 1.0),
        t_mean: (1.0, 1.0),
    };

    fn rtt(seconds: f64, error: f64) -> BaseRtt {
        BaseRtt {
            seconds,
            transmission_s: 0.0,
            error,
            evidence: Evidence::Probed,
        }
    }

    #[test]
    fn harmonic_and_arithmetic() {
        let rtts = [0.01, 0.02, 0.03, 0.04].map(|seconds| (rtt(seconds, 0.05), 1.0));
        let (t_e, t_mean) = t_e_and_mean_ms(&rtts, 4.0, SURE).unwrap();
        assert!((t_e.value - 19.2).abs() < 1e-9);
        assert!((t_mean.value - 25.0).abs() < 1e-9);
        assert!((t_e.low - 18.24).abs() < 1e-9 && (t_e.high - 20.16).abs() < 1e-9);
        assert!(t_e_and_mean_ms(&[], 0.0, SURE).is_none());
        // Half of the flows known: the same value, a wider range. A few of many known: none.
        let (of_part, _) = t_e_and_mean_ms(&rtts, 8.0, SURE).unwrap();
        assert_eq!(of_part.value, t_e.value);
        assert!(of_part.low < 0.8 * t_e.low && of_part.high > 1.2 * t_e.high);
        assert!(t_e_and_mean_ms(&rtts, 9.0, SURE).is_none());
        // A flow active for a tenth of the time counts a tenth.
        let seldom = [(rtts[0].0, 0.1), (rtts[3].0, 0.9)];
        let (t_e, t_mean) = t_e_and_mean_ms(&seldom, 1.0, SURE).unwrap();
        assert!((t_e.value - 1e3 / (0.1 / 0.01 + 0.9 / 0.04)).abs() < 1e-9);
        assert!((t_mean.value - 37.0).abs() < 1e-9);
    }

    /// The shortest base RTT makes up four fifths of 1/Tₑ and of its error, a fifth of T̄'s.
    #[test]
    fn errors_count_by_what_a_flow_has_to_do_with_the_mean() {
        let rtts = [(rtt(0.01, 0.1), 1.0), (rtt(0.04, 0.0), 1.0)];
        let (t_e, t_mean) = t_e_and_mean_ms(&rtts, 2.0, SURE).unwrap();
        assert!((t_e.high / t_e.value - 1.08).abs() < 1e-9);
        assert!((t_mean.high / t_mean.value - 1.02).abs() < 1e-9);
    }

    #[test]
    fn doubtful_classes_widen_both_ranges() {
        let rtts = [(rtt(0.02, 0.05), 1.0), (rtt(0.02, 0.05), 1.0)];
        let doubt = ClassDoubt {
            t_e: (0.9, 1.0),
            t_mean: (1.0, 1.2),
        };
        let (t_e, t_mean) = t_e_and_mean_ms(&rtts, 2.0, doubt).unwrap();
        let below = 0.95f64.ln().hypot(0.9f64.ln());
        assert!(((t_e.value / t_e.low).ln() - below).abs() < 1e-9);
        assert!((t_e.high - 21.0).abs() < 1e-9 && (t_mean.low - 19.0).abs() < 1e-9);
        let above = 1.05f64.ln().hypot(1.2f64.ln());
        assert!(((t_mean.high / t_mean.value).ln() - above).abs() < 1e-9);
    }
}
