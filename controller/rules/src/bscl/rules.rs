// SPDX-License-Identifier: Apache-2.0
//! The rules of BSCL, and the rules with which the paper compares them.

use super::formulas::*;
use crate::rule::{
    Assumption, Basis, Condition, HEEDS_LOSS, Input, LBP_FLOWS, LBP_SHARE, Missing, Rule, Situation,
};
use crate::targets::Goal;

/// B = C·T̄ (BSCL §I, UTB §3.1): always sufficient for flows that halve their windows.
pub static BDP: Rule = Rule {
    id: "bdp",
    name: "BDP (rule of thumb)",
    paper: &PAPER,
    equation: "§I, UTB §3.1",
    formula: "B = C*T_mean",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    assumptions: &[&LBP_FLOWS, &HALVED_AT_MOST],
    inputs: |s| {
        vec![
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("T_mean", s.traffic.t_mean_s.value, "s"),
        ]
    },
    size_bytes: |s| {
        let t_mean_s = s.traffic.t_mean_s.value;
        Ok(product_bytes(s.drain_bytes_per_s(), t_mean_s)?)
    },
};

static HALVED_AT_MOST: Assumption = Assumption {
    statement: "windows at most halved on loss",
    check: |s, _| {
        Some(Condition::new(
            "windows are at most halved on loss (always sufficient then)",
            s.traffic.heeds_loss(),
        ))
    },
};

/// B = C·Tₑ (BSCL eq. 11-12): sufficient for globally synchronised flows of different RTTs.
pub static C_TE: Rule = Rule {
    id: "c_te",
    name: "C·T_e",
    paper: &PAPER,
    equation: "eq. 11-12",
    formula: "B = C*T_e",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    assumptions: &[&LBP_FLOWS, &LOSE_TOGETHER],
    inputs: |s| {
        vec![
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("T_e", s.traffic.t_e_s.value, "s"),
        ]
    },
    size_bytes: |s| Ok(product_bytes(s.drain_bytes_per_s(), s.traffic.t_e_s.value)?),
};

static LOSE_TOGETHER: Assumption = Assumption {
    statement: "flows lose together (q ≥ 0.9), or N_b < 5",
    check: |s, _| {
        let q = loss_fraction_of(s).ok();
        let text = match q {
            Some(q) => format!("flows lose together: q near 1 (q = {q:.2}), or fewer than 5 flows"),
            None => "flows lose together: q near 1, or fewer than 5 flows".into(),
        };
        let holds = if s.n_b() < 5.0 {
            Some(true)
        } else {
            q.map(|q| q >= 0.9)
        };
        Some(Condition::new(text, holds))
    },
};

/// B_ρ of BSCL eq. 16: [`utilisation_bytes`] with the measured q, else q of eq. 13.
pub static UTILISATION: Rule = Rule {
    id: "bscl_utilisation",
    name: "BSCL utilisation B_ρ",
    paper: &PAPER,
    equation: "eq. 13, 16",
    formula: "B = (q*C_e*T_e - 2*M*N_b*(1-q))/(2-q), q as measured, else 1 - (1 - 1/N_b)^(alpha*N_b)",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    assumptions: &[
        &LBP_FLOWS,
        &LBP_SHARE,
        &AT_LEAST_FIVE,
        &BELOW_EIGHTY,
        &HEEDS_LOSS,
        &LOW_LOSS,
    ],
    inputs: |s| {
        let link = Link::of(s, s.n_b());
        vec![
            Input::maybe("q", loss_fraction_of(s).ok(), "fraction"),
            Input::new("C_e", link.lbp_bytes_per_s, "bytes/s"),
            Input::new("T_e", link.t_e_s, "s"),
            Input::new("M", link.segment_bytes, "bytes"),
            Input::new("N_b", link.n_b, "flows"),
            Input::new("alpha", s.traffic.alpha.value, ""),
        ]
    },
    size_bytes: |s| {
        let q = loss_fraction_of(s)?;
        Ok(utilisation_bytes(Link::of(s, s.n_b()), q)?)
    },
};

static AT_LEAST_FIVE: Assumption = Assumption {
    statement: "N_b ≥ 5",
    check: |s, _| {
        let n = s.n_b();
        Some(Condition::new(
            format!("N_b at least 5 ({n:.1}; below it C*T_e is used)"),
            Some(n >= 5.0),
        ))
    },
};

static BELOW_EIGHTY: Assumption = Assumption {
    statement: "N_b < 80",
    check: |s, _| {
        let n = s.n_b();
        Some(Condition::new(
            format!("N_b below about 80 ({n:.1})"),
            Some(n < 80.0),
        ))
    },
};

/// B_p of BSCL eq. 21-22: [`loss_bytes`].
pub static LOSS: Rule = Rule {
    id: "bscl_loss",
    name: "BSCL loss B_p",
    paper: &PAPER,
    equation: "eq. 21-22",
    formula: "B = 0.87/sqrt(p)*M*N_b - C_e*T_e",
    goals: &[Goal::Loss],
    basis: Basis::Model,
    assumptions: &[&LBP_FLOWS, &LBP_SHARE, &HEEDS_LOSS, &LOW_BOUND],
    inputs: |s| {
        let link = Link::of(s, s.n_b());
        vec![
            Input::maybe("p", s.targets.loss_rate, "fraction"),
            Input::new("M", link.segment_bytes, "bytes"),
            Input::new("N_b", link.n_b, "flows"),
            Input::new("C_e", link.lbp_bytes_per_s, "bytes/s"),
            Input::new("T_e", link.t_e_s, "s"),
        ]
    },
    size_bytes: |s| {
        let bound = s.loss_bound()?;
        Ok(loss_bytes(Link::of(s, s.n_b()), bound)?)
    },
};

static LOW_BOUND: Assumption = Assumption {
    statement: "loss bound < 5 %",
    check: |s, _| {
        let holds = s.targets.loss_rate.map(|p| p < 0.05);
        Some(Condition::new("loss bound below 5 %", holds))
    },
};

/// max(B_ρ, B_p, 0) (BSCL Fig. 4, eq. 23), with C·Tₑ for B_ρ below five flows, for which the
/// probabilistic model is too low (§VII).
pub static COMBINED: Rule = Rule {
    id: "bscl",
    name: "BSCL",
    paper: &PAPER,
    equation: "Fig. 4, eq. 23, §VII",
    formula: "B = max(B_rho, B_p, 0); C*T_e for B_rho when N_b < 5",
    goals: &[Goal::Utilisation, Goal::Loss],
    basis: Basis::Combination,
    assumptions: &[&LBP_FLOWS, &LBP_SHARE, &HEEDS_LOSS, &LOW_LOSS],
    inputs: |s| {
        let link = Link::of(s, s.n_b());
        vec![
            Input::maybe("q", loss_fraction_of(s).ok(), "fraction"),
            Input::new("N_b", link.n_b, "flows"),
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("C_e", link.lbp_bytes_per_s, "bytes/s"),
            Input::new("T_e", link.t_e_s, "s"),
            Input::new("M", link.segment_bytes, "bytes"),
        ]
    },
    size_bytes: |s| {
        let q = loss_fraction_of(s)?;
        let link = Link::of(s, s.n_b());
        let for_utilisation = buffer_bytes(link, s.drain_bytes_per_s(), q, None)?;
        let for_loss = match s.targets.loss_rate {
            Some(bound) => loss_bytes(Link::of(s, s.n_b()), bound)?,
            None => 0.0,
        };
        Ok(for_utilisation.max(for_loss).max(0.0))
    },
};

/// B_ρ = B_p at Ñ_b (BSCL §IV-B): [`crossover_flows`]. For comparison.
pub static CROSSOVER: Rule = Rule {
    id: "bscl_crossover",
    name: "BSCL cross-over Ñ_b",
    paper: &PAPER,
    equation: "§IV-B",
    formula: "B_rho(N) = B_p(N)",
    goals: &[],
    basis: Basis::Model,
    assumptions: &[&LBP_FLOWS, &LBP_SHARE],
    inputs: |s| {
        let at = crossover(s).ok();
        vec![Input::maybe("N_crossover", at.map(|at| at.0), "flows")]
    },
    size_bytes: |s| crossover(s).map(|at| at.1),
};

/// Returns Ñ_b and the buffer at Ñ_b, bytes.
fn crossover(s: &Situation<'_>) -> Result<(f64, f64), Missing> {
    let alpha = s.traffic.alpha.value;
    let bound = s.loss_bound()?;
    let Some(flows) = crossover_flows(Link::of(s, s.n_b()), alpha, bound)? else {
        return Err(Missing::NoBuffer(
            "the loss bound decides for any number of flows".into(),
        ));
    };
    let q = loss_fraction(flows, (alpha * flows).max(1.0))?;
    Ok((flows, utilisation_bytes(Link::of(s, flows), q)?))
}

/// B = 6·M·N (BSCL §IV-A): [`fpq_bytes`]. For comparison.
pub static FPQ: Rule = Rule {
    id: "fpq",
    name: "FPQ (six packets per flow)",
    paper: &PAPER,
    equation: "§IV-A",
    formula: "B = 6*M*N",
    goals: &[],
    basis: Basis::Model,
    assumptions: &[],
    inputs: |s| {
        vec![
            Input::new("M", s.traffic.segment_bytes, "bytes"),
            Input::new("N", s.traffic.n_active, "flows"),
        ]
    },
    size_bytes: |s| Ok(fpq_bytes(s.traffic.segment_bytes, s.traffic.n_active)?),
};

/// B ≤ C·d̂ (BSCL eq. 24-25): [`delay_bytes`].
pub static DELAY: Rule = Rule {
    id: "delay",
    name: "delay bound",
    paper: &PAPER,
    equation: "eq. 24-25",
    formula: "B <= C*d",
    goals: &[Goal::Delay],
    basis: Basis::Model,
    assumptions: &[],
    inputs: |s| {
        vec![
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::maybe("d", s.delay_bound_s().ok(), "s"),
        ]
    },
    size_bytes: |s| Ok(delay_bytes(s.drain_bytes_per_s(), s.delay_bound_s()?)?),
};
