// SPDX-License-Identifier: Apache-2.0
//! Limits for flows that all follow a model of the path (BBR): what they keep in
//! flight decides.

use super::bound::{Bound, LossBound, UTILISATION_TOLERANCE};
use crate::extrapolation::{InFlightCap, others};
use crate::rule::{RuleId, Situation};

/// The limit from which they lose nothing, or a smaller one that kept the bound by
/// measurement; `None` where not all flows are of BBR.
pub(super) fn for_loss(
    s: &Situation<'_>,
    bound: f64,
    reasons: &mut Vec<String>,
) -> Option<LossBound> {
    let m = s.traffic;
    let cap = InFlightCap::of(m)?.bytes;
    let here = m.observed.zip(m.limit_bytes);
    let here = here.map(|(o, limit)| (limit, o.loss_rate, RuleId::LimitInForce));
    let tried = others(m).map(|t| (t.limit_bytes, t.loss_rate, RuleId::LimitTried));
    let kept = here.into_iter().chain(tried).filter(|k| k.1 <= bound);
    let least = kept.min_by(|a, b| a.0.total_cmp(&b.0));
    let (bytes, rule) = match least.filter(|k| k.0 < cap.value) {
        Some((bytes, _, rule)) => (bytes, rule),
        None => (cap.value, RuleId::InFlightCap),
    };
    reasons.push(format!(
        "loss: flows of BBR lose what exceeds their cap in flight, and nothing from {:.0} bytes on ({:.0} to {:.0}); {bytes:.0} bytes for {:.2} %",
        cap.value,
        cap.low,
        cap.high,
        bound * 100.0
    ));
    Some(LossBound::at(Bound { bytes, rule }))
}

/// For utilisation not more than they keep in flight, nor than what meets the target
/// by measurement.
pub(super) fn not_more(bound: Bound, s: &Situation<'_>, reasons: &mut Vec<String>) -> Bound {
    let m = s.traffic;
    let Some(cap) = InFlightCap::of(m) else {
        return bound;
    };
    let least = s.targets.utilisation - UTILISATION_TOLERANCE;
    let met = m.observed.is_some_and(|o| o.utilisation >= least);
    let in_force = m.limit_bytes.filter(|_| met);
    let serves = [
        (Some(cap.bytes.value), RuleId::InFlightCap),
        (in_force, RuleId::LimitInForce),
    ];
    let serves = serves.into_iter().filter_map(|(b, rule)| Some((b?, rule)));
    match serves.min_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((bytes, rule)) if bytes < bound.bytes => {
            let asked = bound.bytes;
            reasons.push(format!(
                "utilisation: not the {asked:.0} bytes of the rule: {bytes:.0} bytes serve as well (BBR keeps no more in flight, or they meet the target by measurement)"
            ));
            Bound { bytes, rule }
        }
        _ => bound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::{Advice, advise};
    use crate::range::Range;
    use crate::targets::{Options, Targets};
    use crate::traffic::{CongestionControl, Observed, Traffic};

    /// Four flows of BBR of 10 to 40 ms on 100 Mb/s, as in the lab.
    fn four(limit: f64, loss_rate: f64, delay_max_ms: f64) -> Traffic {
        let mut m = Traffic::described(100e6, 0.0192, 4.0, 1514.0);
        m.base_rtts_s = vec![0.01, 0.02, 0.03, 0.04];
        m.t_mean_s = Range::exact(0.025);
        m.delta = Some(Range::exact(25.0));
        m.congestion_control = CongestionControl::Bbr;
        m.model_based_share = 1.0;
        m.limit_bytes = Some(limit);
        let (drops, mean_ms) = ((loss_rate * 1e5) as u64, delay_max_ms * 0.7);
        m.observed = Some(Observed::standing(
            0.982,
            loss_rate,
            drops,
            mean_ms,
            delay_max_ms,
        ));
        m
    }

    fn advised(m: &Traffic) -> Advice {
        advise(m, &Targets::default(), &Options::default())
    }

    #[test]
    fn losses_of_bbr_end_where_its_cap_fits() {
        let a = advised(&four(312.5e3, 0.09, 25.0));
        let bytes = a.limit_bytes.unwrap() as f64;
        // 1.5 C·T of the longest, and a little for each flow.
        assert!((750e3..800e3).contains(&bytes), "{bytes} {:#?}", a.reasons);
        assert_eq!(a.rule, Some(RuleId::InFlightCap));
        let p = a.predicted.unwrap();
        assert!(p.loss_rate.value < 0.01 && p.loss_rate.high > 0.01, "{p:?}");
    }

    #[test]
    fn at_a_limit_beyond_the_cap_less_is_enough_but_not_less_than_the_queue() {
        let a = advised(&four(4.7e6, 0.0, 65.0));
        let bytes = a.limit_bytes.unwrap() as f64;
        assert!((800e3..900e3).contains(&bytes), "{bytes} {:#?}", a.reasons);
    }
}
