// SPDX-License-Identifier: Apache-2.0
//! Rules that scale what was measured at the limit in force.

use super::build::{Builder, need, rule};
use crate::measured::{Goal, Measured, Options, Targets};
use crate::observed::{Condition, LossScaling, WindowScaling, conditions, enough_arrivals};
use crate::rule::Rule;

/// Largest buffer looked at, in C*T_mean.
const LARGEST_BDP: f64 = 100.0;

pub(super) fn rules(m: &Measured, targets: &Targets, options: &Options) -> Vec<Rule> {
    vec![loss(m, targets, options), utilisation(m, targets)]
}

fn loss(m: &Measured, targets: &Targets, options: &Options) -> Rule {
    let scaling = LossScaling::of(m);
    let bytes = need(targets.loss_rate, "a loss bound").and_then(|bound| {
        let scaling = scaling.as_ref().ok_or_else(|| missing(m))?;
        let buffer = scaling.buffer_for(bound, options.conservative);
        buffer.map_err(|e| e.to_string())?.ok_or_else(|| {
            format!(
                "no buffer: flows that follow a model of the path (BBR) lose {:.2} % whatever it is",
                scaling.model_based_rate() * 100.0
            )
        })
    });
    let built = rule(
        m,
        "measured_loss",
        "loss, measured scaling",
        "B = K*M*N_b/sqrt(p - p_o - p_m) - C*T_e, K = sqrt(p_now - p_o - p_m)*(C*T_e + B_now)/(M*N_b), p_o: overshoots of slow start (0 where p < p_now), p_m: drops of BBR",
        "Tidemark; BSCL eq. 21 with its constant measured",
    )
    .goals(&[Goal::Loss])
    .input("p", targets.loss_rate.unwrap_or(f64::NAN), "fraction")
    .input(
        "p_now",
        m.observed.map_or(f64::NAN, |o| o.loss_rate),
        "fraction",
    )
    .input(
        "p_o",
        scaling
            .as_ref()
            .map_or(f64::NAN, LossScaling::overshoot_rate),
        "fraction",
    )
    .input(
        "p_m",
        scaling
            .as_ref()
            .map_or(f64::NAN, LossScaling::model_based_rate),
        "fraction",
    )
    .input("B_now", m.limit_bytes.unwrap_or(f64::NAN), "bytes")
    .input(
        "K",
        scaling.as_ref().map_or(f64::NAN, LossScaling::constant),
        "",
    )
    .input("C", m.drain_bytes_per_s(), "bytes/s")
    .input("T_e", m.t_e_s.value, "s");
    assumed(built, conditions(m)).bytes(bytes)
}

fn utilisation(m: &Measured, targets: &Targets) -> Rule {
    let scaling = WindowScaling::of(m);
    let largest = LARGEST_BDP * m.drain_bytes_per_s() * m.t_mean_s.value.max(m.t_e_s.value);
    let bytes = scaling.as_ref().ok_or_else(|| missing(m)).and_then(|s| {
        s.buffer_for(targets.utilisation, largest)
            .ok_or_else(|| format!("no buffer up to {LARGEST_BDP:.0} C*T reaches the target"))
    });
    let built = rule(
        m,
        "measured_utilisation",
        "utilisation, measured scaling",
        "smallest B with u*mean(min(1, W*k)) + (1 - u)*synchronised(B) >= target, k = (C*T_e + B)/(C*T_e + B_now), u = k^(2*(1 + 4/events))",
        "Tidemark",
    )
    .goals(&[Goal::Utilisation])
    .input("target", targets.utilisation, "fraction")
    .input(
        "utilisation_now",
        m.observed.map_or(f64::NAN, |o| o.utilisation),
        "fraction",
    )
    .input(
        "W_low/W_peak",
        scaling
            .as_ref()
            .map_or(f64::NAN, WindowScaling::lowest_over_peak),
        "fraction",
    )
    .input("B_now", m.limit_bytes.unwrap_or(f64::NAN), "bytes")
    .input("C", m.drain_bytes_per_s(), "bytes/s")
    .input("T_e", m.t_e_s.value, "s");
    let mut all = conditions(m);
    all.push(enough_arrivals(m));
    assumed(built, all).bytes(bytes)
}

fn assumed(mut built: Builder<'_>, conditions: Vec<Condition>) -> Builder<'_> {
    for (text, holds) in conditions {
        built = built.assume(text, holds);
    }
    built
}

fn missing(m: &Measured) -> String {
    if m.observed.is_none() {
        "nothing was measured at the limit in force".into()
    } else if m.limit_bytes.is_none() {
        "the limit in force is not known, or there is none".into()
    } else if m.t_e_s.value <= 0.0 {
        "T_e is not known".into()
    } else {
        "a condition does not hold".into()
    }
}
