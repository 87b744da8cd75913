// SPDX-License-Identifier: Apache-2.0
//! One bottlenecked flow: what its congestion control needs (UTB §3.5) goes before
//! what a larger limit's window, scaled, would ask for.
//!
//! The swing of one flow is that of the link: nothing evens it out, and a second loss
//! right after the first takes it below what was measured. With the limit that the
//! scaling asks for at 98 %, one Reno flow had 96.4 % on a real link and 93 to 95 % on
//! simulated ones.

use super::bound::{Bound, UTILISATION_TOLERANCE};
use super::candidate::{Evaluated, candidates};
use crate::extrapolation::others;
use crate::rule::{Basis, RuleId, Situation};
use crate::targets::Goal;

/// N_b below which one flow sets the swing.
const ONE: f64 = 1.5;

/// Not less than a single flow needs; where a smaller limit met the target by
/// measurement, not less than that.
pub(super) fn not_less(
    measured: Bound,
    s: &Situation<'_>,
    rules: &[Evaluated],
    reasons: &mut Vec<String>,
) -> Bound {
    if s.n_b() >= ONE {
        return measured;
    }
    let single = candidates(rules, Goal::Utilisation, Basis::Model)
        .filter(|c| c.rule.id.starts_with("single_"))
        .max_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let Some(single) = single.filter(|c| c.bytes > measured.bytes) else {
        return measured;
    };
    let met = smallest_that_met(s).filter(|&b| b < single.bytes);
    let bytes = met.unwrap_or(single.bytes);
    if bytes <= measured.bytes {
        return measured;
    }
    reasons.push(format!(
        "one flow: {} asks for {bytes:.0} bytes{}; the {:.0} bytes of the measured scaling are not taken: no other flow evens out its swing",
        single.rule.name,
        met.map_or("", |_| " at most, which met the target by measurement"),
        measured.bytes
    ));
    Bound {
        bytes,
        rule: match met {
            Some(b) if Some(b) == s.traffic.limit_bytes => RuleId::LimitInForce,
            Some(_) => RuleId::LimitTried,
            None => single.rule.id(),
        },
    }
}

/// The smallest limit, in force or tried, with the target's utilisation.
fn smallest_that_met(s: &Situation<'_>) -> Option<f64> {
    let m = s.traffic;
    let least = s.targets.utilisation - UTILISATION_TOLERANCE;
    let here = m.observed.zip(m.limit_bytes);
    let here = here.map(|(o, limit)| (limit, o.utilisation));
    let tried = others(m).map(|t| (t.limit_bytes, t.utilisation));
    let met = here.into_iter().chain(tried).filter(|l| l.1 >= least);
    met.map(|l| l.0).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use crate::advice::advise;
    use crate::prediction::predict;
    use crate::range::Range;
    use crate::targets::{Options, Targets};
    use crate::traffic::{CongestionControl, Observed, Occupancy, Traffic, TriedLimit};

    /// A Reno flow of 10 ms at 2.5 C·T, as on a real link.
    fn one_flow() -> Traffic {
        let mut m = Traffic::described(100e6, 0.01, 1.0, 1514.0);
        m.congestion_control = CongestionControl::Reno;
        m.limit_bytes = Some(312_500.0);
        m.observed = Some(Observed {
            utilisation: 1.0,
            loss_rate: 0.0006,
            drops: 90,
            delay_mean_ms: 16.2,
            delay_p50_ms: 16.8,
            delay_p99_ms: 25.0,
            delay_max_ms: 25.5,
        });
        m.occupancy = Some(Occupancy {
            arrivals: 100_000,
            met_empty: 0.0,
            bytes: (0..100).map(|i| 93e3 + 2.2e3 * f64::from(i)).collect(),
        });
        m
    }

    fn advised(m: &Traffic) -> (f64, String) {
        let a = advise(m, &Targets::default(), &Options::default());
        (a.limit_bytes.unwrap() as f64, a.rule.unwrap().to_string())
    }

    #[test]
    fn one_flow_gets_what_its_congestion_control_needs() {
        // γ/β − 1 of C·T.
        let (bytes, rule) = advised(&one_flow());
        assert!(
            (bytes - 0.96 * 125e3).abs() < 2.0 && rule == "single_reno",
            "{bytes} {rule}"
        );
        // Of several flows the measured scaling decides.
        let mut four = one_flow();
        four.n_b = Range::exact(4.0);
        let (bytes, rule) = advised(&four);
        assert!(
            bytes < 119e3 && rule == "measured_utilisation",
            "{bytes} {rule}"
        );
    }

    #[test]
    fn a_smaller_limit_that_met_the_target_is_enough() {
        let mut m = one_flow();
        let mut smaller = one_flow();
        smaller.limit_bytes = Some(100e3);
        smaller.observed.as_mut().unwrap().utilisation = 0.981;
        m.tried = vec![TriedLimit::of(&smaller, 0).unwrap()];
        let (bytes, rule) = advised(&m);
        assert!(bytes <= 100e3, "{bytes} {rule}");
        m.tried[0].utilisation = 0.97;
        assert_eq!(advised(&m).1, "single_reno");
    }

    /// One Reno flow of 20 ms on 50 Mb/s at 124.5 kB, as simulated with five seeds: the
    /// range of each run holds the utilisation of all; with a target of 98 % the advice
    /// says that it may be missed. The occupancy is a sawtooth's, from none to the limit.
    #[test]
    fn few_sawteeth_foretell_little() {
        let runs = [0.9851, 0.9705, 0.9705, 0.9996, 0.9850];
        for utilisation in runs {
            let mut m = Traffic::described(50e6, 0.02, 1.0, 1514.0);
            m.congestion_control = CongestionControl::Reno;
            m.limit_bytes = Some(124_500.0);
            let mut observed = one_flow().observed.unwrap();
            (observed.utilisation, observed.drops) = (utilisation, 27);
            m.observed = Some(observed);
            // Ten sawteeth: a window that grows from 82 to 165 packets takes 2.5 s.
            m.alpha = Range::exact(2.7);
            m.alpha_measured = true;
            m.occupancy = Some(Occupancy {
                arrivals: 100_000,
                met_empty: 0.0,
                bytes: (0..100).map(|i| 1_245.0 * f64::from(i)).collect(),
            });
            let p = predict(&m, 124_500.0).unwrap().utilisation;
            let held = runs.iter().filter(|&&u| p.low <= u && u <= p.high).count();
            let p = predict(&m, 79_500.0).unwrap().utilisation;
            assert!(p.low <= 0.9475 && 0.9475 <= p.high, "{utilisation}: {p:?}");
            let targets = Targets {
                utilisation: 0.98,
                ..Targets::default()
            };
            let a = advise(&m, &targets, &Options::default());
            assert_eq!(held, runs.len(), "{utilisation}");
            assert!(
                a.reasons.iter().any(|r| r.contains("may be missed")),
                "{:#?}",
                a.reasons
            );
        }
    }
}
