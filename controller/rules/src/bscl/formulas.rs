// SPDX-License-Identifier: Apache-2.0
//! Formulas of BSCL, and helpers of its rules.

use crate::bisection::smallest_between;
use crate::error::{RuleError, at_least_one, fraction, not_negative, open_fraction, positive};
use crate::range::Range;
use crate::rule::{Assumption, Condition, Paper, Situation};

/// The paper.
pub static PAPER: Paper = Paper {
    name: "BSCL",
    citation: "A. Dhamdhere, H. Jiang, C. Dovrolis: Buffer Sizing for Congested Internet Links. IEEE INFOCOM 2005",
};

/// α assumed until a drop has been seen; BSCL §III-C finds 0.4 to 0.7.
pub const DEFAULT_ALPHA: f64 = 0.55;

/// Constant of the square-root formula with delayed acknowledgements (BSCL eq. 2).
pub const SQRT_CONSTANT: f64 = 0.87;

/// Constant in place of [`SQRT_CONSTANT`] for today's stacks: Linux acknowledges often enough to
/// grow by a segment per RTT (1.22) and loses two to three packets per reduction. Eq. 18 needs 1.8
/// to 2.2 in the lab, and 0.87 to 1.2 with ns-3's NewReno, which grows half as fast.
pub const TODAYS_CONSTANT: Range = Range {
    value: 2.2,
    low: SQRT_CONSTANT,
    high: 2.5,
};

/// Number of flows below which the probabilistic model yields too small a buffer (§VII).
pub const FEW_FLOWS: f64 = 5.0;

/// Parameters of the link in BSCL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Cₑ, the part of the capacity that LBP flows carry, bytes/s.
    pub lbp_bytes_per_s: f64,
    /// Tₑ, s.
    pub t_e_s: f64,
    /// M, bytes.
    pub segment_bytes: f64,
    /// N_b.
    pub n_b: f64,
}

impl Link {
    /// Returns the parameters of the measured link with `n_b` flows.
    pub fn of(s: &Situation<'_>, n_b: f64) -> Self {
        Self {
            lbp_bytes_per_s: s.drain_bytes_per_s() * s.traffic.c_e_share.value.min(1.0),
            t_e_s: s.traffic.t_e_s.value,
            segment_bytes: s.traffic.segment_bytes,
            n_b,
        }
    }

    fn checked(self) -> Result<Self, RuleError> {
        positive("C_e (bytes/s)", self.lbp_bytes_per_s)?;
        positive("T_e (s)", self.t_e_s)?;
        positive("M (bytes)", self.segment_bytes)?;
        at_least_one("N_b", self.n_b)?;
        Ok(self)
    }

    /// Cₑ·Tₑ, bytes.
    pub fn bdp_bytes(self) -> f64 {
        self.lbp_bytes_per_s * self.t_e_s
    }
}

/// q(N_b) = 1 − (1 − 1/N_b)^L̄ (eq. 13): expected fraction of the flows that lose a packet in a
/// loss event of L̄ drops. L̄ may be fractional; N_b = 1 gives 1.
///
/// # Errors
/// N_b below 1, or L̄ not above 0.
pub fn loss_fraction(n_b: f64, mean_loss_burst: f64) -> Result<f64, RuleError> {
    at_least_one("N_b", n_b)?;
    positive("L (drops per event)", mean_loss_burst)?;
    Ok(1.0 - (1.0 - 1.0 / n_b).powf(mean_loss_burst))
}

/// q(N_b) of the measured traffic: as observed if there were losses, else by eq. 13 with L̄ = α·N_b
/// (eq. 17). Eq. 13 draws a flow independently for every drop of an event, but flows lose several
/// packets at once, so the result is up to twice the measured value.
///
/// # Errors
/// N_b below 1.
pub fn loss_fraction_of(s: &Situation<'_>) -> Result<f64, RuleError> {
    let n_b = s.n_b();
    let expected = loss_fraction(n_b, (s.traffic.alpha.value * n_b).max(1.0))?;
    let observed = s.traffic.q_observed.map(|q| q.value.clamp(0.0, 1.0));
    Ok(observed.unwrap_or(expected))
}

/// B = C·T, bytes. With the arithmetic mean T̄, the rule of thumb, always sufficient for flows that
/// halve their window (§I, UTB §3.1); with the effective RTT Tₑ, the requirement of globally
/// synchronised flows of different RTTs (eq. 11).
pub fn product_bytes(capacity_bytes_per_s: f64, rtt_s: f64) -> Result<f64, RuleError> {
    Ok(positive("C (bytes/s)", capacity_bytes_per_s)? * positive("T (s)", rtt_s)?)
}

/// B_ρ (eq. 16), bytes; negative when the flows need no buffer at all.
/// Holds for N_b up to about 80 and loss below 4-5 %.
///
/// # Errors
/// Arguments out of range (see [`Link`]), q outside 0..=1.
pub fn utilisation_bytes(link: Link, q: f64) -> Result<f64, RuleError> {
    let link = link.checked()?;
    fraction("q", q)?;
    Ok((q * link.bdp_bytes() - 2.0 * link.segment_bytes * link.n_b * (1.0 - q)) / (2.0 - q))
}

/// K_p = 0.87/√p̂ (eq. 22), segments per flow.
///
/// # Errors
/// p̂ not between 0 and 1.
pub fn k_p(loss_bound: f64) -> Result<f64, RuleError> {
    Ok(SQRT_CONSTANT / open_fraction("p (loss bound)", loss_bound)?.sqrt())
}

/// B_p = K_p·M·N_b − Cₑ·Tₑ (eq. 21), bytes; negative when the propagation delay
/// alone keeps the loss rate below p̂. Holds for p̂ up to 3-5 %.
pub fn loss_bytes(link: Link, loss_bound: f64) -> Result<f64, RuleError> {
    let link = link.checked()?;
    Ok(k_p(loss_bound)? * link.segment_bytes * link.n_b - link.bdp_bytes())
}

/// The BSCL formula: max(B_ρ, B_p, 0), with C·Tₑ in place of B_ρ below five flows, for which the
/// probabilistic model is too low (§VII): the whole capacity, not the share of the LBP flows.
/// Without a loss bound only B_ρ counts.
pub fn buffer_bytes(
    link: Link,
    capacity_bytes_per_s: f64,
    q: f64,
    loss_bound: Option<f64>,
) -> Result<f64, RuleError> {
    let for_utilisation = if link.n_b < FEW_FLOWS {
        product_bytes(capacity_bytes_per_s, link.checked()?.t_e_s)?
    } else {
        utilisation_bytes(link, q)?
    };
    let for_loss = match loss_bound {
        Some(p) => loss_bytes(link, p)?,
        None => 0.0,
    };
    Ok(for_utilisation.max(for_loss).max(0.0))
}

/// Ñ_b, the number of flows at which B_ρ = B_p (§IV-B), with L̄ = α·N_b. Below it utilisation
/// determines the buffer, above it loss. `None` if B_p is already larger at one flow.
///
/// # Errors
/// Arguments out of range; `link.n_b` is not used.
pub fn crossover_flows(link: Link, alpha: f64, loss_bound: f64) -> Result<Option<f64>, RuleError> {
    positive("alpha", alpha)?;
    let excess = |n_b: f64| -> Result<f64, RuleError> {
        let at = Link { n_b, ..link };
        let q = loss_fraction(n_b, alpha * n_b)?;
        Ok(loss_bytes(at, loss_bound)? - utilisation_bytes(at, q)?)
    };
    if excess(1.0)? >= 0.0 {
        return Ok(None);
    }
    let (mut low, mut high) = (1.0, 2.0);
    while excess(high)? < 0.0 {
        low = high;
        high *= 2.0;
    }
    let loss_decides = |n_b: f64| excess(n_b).is_ok_and(|e| e >= 0.0);
    Ok(Some(smallest_between((low, high), 80, loss_decides)))
}

/// FPQ: six packets for every active flow (§IV-A), bytes. For comparison only.
///
/// # Errors
/// M not above 0, N below 0.
pub fn fpq_bytes(segment_bytes: f64, flows: f64) -> Result<f64, RuleError> {
    Ok(6.0 * positive("M (bytes)", segment_bytes)? * not_negative("N", flows)?)
}

/// B = C·d̂ (eq. 24), bytes: the largest buffer whose queueing delay, when full, is d̂.
///
/// # Errors
/// C not above 0, d̂ below 0.
pub fn delay_bytes(drain_bytes_per_s: f64, delay_bound_s: f64) -> Result<f64, RuleError> {
    Ok(positive("C (bytes/s)", drain_bytes_per_s)? * not_negative("d (s)", delay_bound_s)?)
}

/// Loss rate of N_b flows that saturate the link with a buffer of B bytes:
/// p = (0.87·N_b·M/(Cₑ·Tₑ + B))² (eq. 18; OI eq. 3), at most 1.
/// Holds below about 5 %.
pub fn loss_rate_at(link: Link, buffer_bytes: f64) -> Result<f64, RuleError> {
    let link = link.checked()?;
    not_negative("B (bytes)", buffer_bytes)?;
    let window_sum = link.bdp_bytes() + buffer_bytes;
    let p = (SQRT_CONSTANT * link.n_b * link.segment_bytes / window_sum).powi(2);
    Ok(p.min(1.0))
}

/// BSCL's models hold below about 5 % loss, with the buffer in question and not at the limit in
/// force.
pub(crate) static LOW_LOSS: Assumption = Assumption {
    statement: "loss < 5 % with this buffer",
    check: |s, buffer_bytes| {
        let link = Link::of(s, s.n_b());
        let expected = buffer_bytes.and_then(|b| loss_rate_at(link, b.max(0.0)).ok());
        // The constant of today's stacks, as for every other prediction.
        let constant = s
            .traffic
            .assumed_constant
            .map_or(SQRT_CONSTANT, |k| k.value);
        let expected = expected.map(|p| (p * (constant / SQRT_CONSTANT).powi(2)).min(1.0));
        Some(match expected {
            Some(p) => Condition::new(
                format!(
                    "loss below 5 % with this buffer ({:.2} % by eq. 18)",
                    p * 100.0
                ),
                Some(p < 0.05),
            ),
            None => Condition::new("loss below 5 % with this buffer", None),
        })
    },
};
