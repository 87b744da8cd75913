// SPDX-License-Identifier: Apache-2.0
//! The advisor's sentences.

use super::Nearest;
use crate::measured::{Goal, Measured, Regime, Targets};
use crate::observed::{LossScaling, WindowScaling};
use crate::predict::Prediction;
use crate::rule::Rule;
use crate::{bscl, single_flow};

/// Factor between the advised limit and the one in force that is worth a word.
const FAR: f64 = 8.0;

pub(super) fn regime(m: &Measured) -> String {
    let n = m.n_b;
    match m.regime {
        Regime::Transparent => format!(
            "transparent regime: no flow is bottlenecked here, load {:.0} % of capacity",
            m.rho * 100.0
        ),
        Regime::Elastic => format!(
            "elastic regime: N_b = {:.0} ({:.0} to {:.0}) bottlenecked here, using {:.0} % of the capacity",
            n.value,
            n.low,
            n.high,
            m.c_e_share.value * 100.0
        ),
        Regime::Overload => format!(
            "overload: load that does not react to this link is {:.0} % of capacity, or drops persist although windows are at their minimum; a buffer cannot cure it",
            m.rho_other * 100.0
        ),
        Regime::Unknown => "too little traffic was seen to name the regime".into(),
    }
}

/// Lowest windows over their peak that differ by less are the same.
const SAME_SWING: f64 = 0.05;

/// What BSCL would ask for utilisation, and why that is not taken.
pub(super) fn not_bscl_utilisation(m: &Measured, rules: &[Rule]) -> Option<String> {
    let bytes = buffer_of(rules, "bscl_utilisation")?;
    let low = WindowScaling::of(m)?.lowest_over_peak();
    let q = bscl::loss_fraction(m.n_b.value, (m.alpha.value * m.n_b.value).max(1.0)).ok()?;
    let assumed = 1.0 - q * (1.0 - m.beta.unwrap_or(single_flow::BETA_RENO));
    let swing = match low - assumed {
        d if d < -SAME_SWING => "larger than",
        d if d > SAME_SWING => "smaller than",
        _ => "about what",
    };
    Some(format!(
        "BSCL B_ρ would ask for {bytes:.0} bytes; not taken: the distribution of the window was measured (its swing is {swing} BSCL assumes: down to {:.0} % of its peak, assumed {:.0} %)",
        low * 100.0,
        assumed * 100.0
    ))
}

/// What BSCL would ask for loss, and why that is not taken.
pub(super) fn not_bscl_loss(m: &Measured, rules: &[Rule]) -> Option<String> {
    let bytes = buffer_of(rules, "bscl_loss")?;
    let constant = LossScaling::of(m)?.constant();
    Some(format!(
        "BSCL B_p would ask for {bytes:.0} bytes; not taken: its constant is {constant:.2} by measurement instead of {:.2}",
        bscl::SQRT_CONSTANT
    ))
}

fn buffer_of(rules: &[Rule], id: &str) -> Option<f64> {
    rules.iter().find(|r| r.id == id)?.buffer_bytes
}

/// Says so when the advised limit is far from the limit in force.
pub(super) fn far(m: &Measured, bytes: f64) -> Option<String> {
    let now = m.limit_bytes.filter(|&b| b > 0.0)?;
    let ratio = bytes / now;
    (!(1.0 / FAR..=FAR).contains(&ratio)).then(|| {
        format!(
            "far from the limit in force ({now:.0} bytes, more than {FAR:.0} times {}): predictions are extrapolated, measure again after the change",
            if ratio > 1.0 { "larger" } else { "smaller" }
        )
    })
}

/// Why no advice can be given; empty when it can.
pub(super) fn refused(m: &Measured, targets: &Targets) -> Vec<String> {
    let mut why = Vec::new();
    let mut need = |ok: bool, text: String| {
        if !ok {
            why.push(text);
        }
    };
    let positive = |v: f64| v.is_finite() && v > 0.0;
    need(
        positive(m.queue_drain_bps),
        "no advice: the capacity of the link is not known (set capacity_bps of the port)".into(),
    );
    need(
        positive(m.segment_bytes),
        "no advice: the segment size is not known, no data packet was seen".into(),
    );
    need(
        m.regime != Regime::Unknown,
        "no advice: the regime is not known yet, a longer window is needed".into(),
    );
    if m.n_b.value >= 1.0 {
        need(
            positive(m.t_e_s.value) && positive(m.t_mean_s.value),
            "no advice: no base RTT of a bottlenecked flow is known (probe the senders, or let both directions cross the switch)".into(),
        );
    }
    need(
        targets.utilisation > 0.0 && targets.utilisation <= 1.0,
        format!(
            "no advice: target utilisation {} is not in 0..1",
            targets.utilisation
        ),
    );
    if let Some(p) = targets.loss_rate {
        need(
            p > 0.0 && p < 1.0,
            format!("no advice: target loss_rate {p} is not in 0..1"),
        );
    }
    if let Some(d) = targets.delay_ms {
        need(
            positive(d),
            format!("no advice: target delay_ms {d} is not above 0"),
        );
    }
    why
}

pub(super) fn outcome(bytes: f64, m: &Measured, p: &Prediction) -> String {
    format!(
        "advised limit {:.0} bytes = {:.0} packets = {:.1} ms: utilisation {:.1} % ({:.1} to {:.1}), loss {:.3} % ({:.3} to {:.3}), delay up to {:.1} ms expected",
        bytes,
        bytes / m.segment_bytes,
        bytes / m.drain_bytes_per_s() * 1e3,
        p.utilisation.value * 100.0,
        p.utilisation.low * 100.0,
        p.utilisation.high * 100.0,
        p.loss_rate.value * 100.0,
        p.loss_rate.low * 100.0,
        p.loss_rate.high * 100.0,
        p.delay_ms.value
    )
}

pub(super) fn given_up(goals: &[Goal], targets: &Targets, nearest: &Nearest) -> String {
    let names: Vec<&str> = goals.iter().map(|g| g.label()).collect();
    let mut near = Vec::new();
    for goal in goals {
        near.push(match goal {
            Goal::Utilisation => format!(
                "utilisation {:.1} % instead of {:.1} %",
                nearest.utilisation * 100.0,
                targets.utilisation * 100.0
            ),
            Goal::Loss => format!(
                "loss {:.2} % instead of {:.2} %",
                nearest.loss_rate * 100.0,
                targets.loss_rate.unwrap_or(f64::NAN) * 100.0
            ),
            Goal::Delay => format!(
                "delay {:.1} ms instead of {:.1} ms",
                nearest.delay_ms,
                targets.delay_ms.unwrap_or(f64::NAN)
            ),
        });
    }
    format!(
        "the targets cannot hold together: {} given up; nearest feasible: {}",
        names.join(" and "),
        near.join(", ")
    )
}
