// SPDX-License-Identifier: Apache-2.0
//! Influence of N_b, α and Δ: the advised limit if each is 20 % smaller or larger (BSCL Fig. 9 does
//! the same for N_b, L̄ and Tₑ).

use crate::answer::Advice;
use crate::sensitivity::{Sensitivities, Sensitivity};
use tidemark_rules::range::Range;
use tidemark_rules::rule::RuleId;
use tidemark_rules::traffic::Traffic;

/// Relative change of each quantity.
const MOVED_BY: f64 = 0.2;
/// Relative difference below which limits count as equal.
const UNMOVED: f64 = 0.005;

/// One quantity: its name, its symbol, and how to read and replace it.
struct Quantity {
    name: &'static str,
    symbol: &'static str,
    get: fn(&Traffic) -> Option<Range>,
    set: fn(&mut Traffic, Range),
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        name: "n_b",
        symbol: "N_b",
        get: |m| (m.n_b.value >= 1.0).then_some(m.n_b),
        set: |m, n_b| m.n_b = n_b,
    },
    Quantity {
        name: "alpha",
        symbol: "alpha",
        get: |m| (m.n_b.value >= 1.0).then_some(m.alpha),
        set: |m, alpha| m.alpha = alpha,
    },
    Quantity {
        name: "delta",
        symbol: "delta",
        get: |m| m.delta,
        set: |m, delta| m.delta = Some(delta),
    },
];

/// Returns the influences on `advice`; none without a limit.
pub(crate) fn of(
    advice: &Advice,
    traffic: &Traffic,
    limit: impl Fn(&Traffic) -> Option<u64> + Send + 'static,
) -> Sensitivities {
    let Some(advised_bytes) = advice.limit_bytes else {
        return Sensitivities::default();
    };
    let (rule, traffic) = (advice.rule.clone(), traffic.clone());
    Sensitivities::when_looked_at(move || find(&traffic, advised_bytes, rule.as_ref(), limit))
}

/// Finds the influences; `limit` advises for modified traffic.
fn find(
    traffic: &Traffic,
    advised_bytes: u64,
    rule: Option<&RuleId>,
    limit: impl Fn(&Traffic) -> Option<u64>,
) -> Vec<Sensitivity> {
    let known = QUANTITIES
        .iter()
        .filter_map(|q| Some((q, (q.get)(traffic)?)));
    known
        .map(|(quantity, range)| {
            let with = |factor: f64| {
                let mut other = traffic.clone();
                let moved = Range::new(
                    range.value * factor,
                    range.low * factor,
                    range.high * factor,
                );
                (quantity.set)(&mut other, moved);
                limit(&other)
            };
            let (less, more) = (with(1.0 - MOVED_BY), with(1.0 + MOVED_BY));
            Sensitivity {
                quantity: quantity.name.into(),
                value: range.value,
                limit_bytes_less: less,
                limit_bytes_more: more,
                decides: decides(quantity.symbol, rule, advised_bytes, less, more),
            }
        })
        .collect()
}

fn decides(
    symbol: &str,
    rule: Option<&RuleId>,
    advised: u64,
    less: Option<u64>,
    more: Option<u64>,
) -> String {
    let change = |other: Option<u64>| other.map(|b| b as f64 / advised.max(1) as f64 - 1.0);
    let (less, more) = (change(less), change(more));
    if [less, more]
        .iter()
        .all(|c| c.is_some_and(|c| c.abs() < UNMOVED))
    {
        let rule = rule.map_or("no rule", |r| r.as_str());
        let why = if rule.starts_with("measured_") {
            "what was measured at the limit in force has it in it"
        } else {
            "the rule that decided does not use it"
        };
        return format!("{symbol} does not move the limit ({rule}): {why}");
    }
    let percent = |c: Option<f64>| c.map_or("no advice".into(), |c| format!("{:+.1} %", c * 100.0));
    format!(
        "{symbol} moves the limit: 20 % less of it by {}, 20 % more by {}",
        percent(less),
        percent(more)
    )
}

#[cfg(test)]
mod tests {
    use crate::advise;
    use tidemark_rules::targets::{Options, Targets};
    use tidemark_rules::traffic::{CongestionControl, Observed, Traffic};

    fn likely() -> Targets {
        Targets {
            confidence: 0.5,
            ..Targets::default()
        }
    }

    fn of(m: &Traffic) -> Vec<crate::Sensitivity> {
        let advice = advise(m, &likely(), &Options::default());
        advice.sensitivity.get().to_vec()
    }

    #[test]
    fn by_bscl_n_b_decides_where_loss_does() {
        // B_p = K_p·M·N_b − C_e·T_e: 20 % of N_b changes it by more than 20 %.
        let m = Traffic::described(50e6, 0.06, 100.0, 1500.0);
        let all = of(&m);
        let n_b = &all[0];
        assert_eq!((n_b.quantity.as_str(), n_b.value), ("n_b", 100.0));
        let b = |n: f64| (8.7 * 1500.0 * n - 375_000.0).ceil() as u64;
        let near =
            |found: Option<u64>, n| (found.unwrap() as f64 / b(n) as f64 - 1.0).abs() < 0.005;
        assert!(near(n_b.limit_bytes_less, 80.0) && near(n_b.limit_bytes_more, 120.0));
        assert!(n_b.decides.contains("moves the limit"), "{}", n_b.decides);
        assert!(all[1].decides.contains("does not"), "{}", all[1].decides);
        assert_eq!(all.len(), 2, "no Delta is known");
    }

    #[test]
    fn measured_loss_has_n_b_in_it() {
        let mut m = Traffic::described(50e6, 0.06, 100.0, 1500.0);
        m.congestion_control = CongestionControl::Reno;
        m.limit_bytes = Some(480_000.0);
        m.observed = Some(Observed {
            utilisation: 1.0,
            loss_rate: 0.018,
            drops: 3000,
            delay_mean_ms: 50.0,
            delay_p50_ms: 50.0,
            delay_p99_ms: 77.0,
            delay_max_ms: 77.0,
        });
        let all = of(&m);
        let advised = advise(&m, &likely(), &Options::default());
        let limit = advised.limit_bytes.unwrap() as f64;
        // Only by the timeouts of small windows, a tenth of the change in eq. 21.
        for other in [all[0].limit_bytes_less, all[0].limit_bytes_more] {
            let moved = (other.unwrap() as f64 / limit - 1.0).abs();
            assert!(moved < 0.06, "{moved}");
        }
        assert!(
            all[1].decides.contains("has it in it"),
            "{}",
            all[1].decides
        );
    }
}
