// SPDX-License-Identifier: Apache-2.0
//! Rules for several bottlenecked flows.

mod bscl_rules;
mod products;
mod utb_rules;

use super::build::{need, said};
use crate::bscl::{self, Link};
use crate::measured::{Goal, Measured, Options, Regime, Targets};
use crate::rule::Rule;
use crate::utb::Share;

const BOTH: [Goal; 2] = [Goal::Utilisation, Goal::Loss];
const UTILISATION: [Goal; 1] = [Goal::Utilisation];

struct Context<'a> {
    m: &'a Measured,
    drain: f64,
    n_b: f64,
    /// N_b for the loss bound.
    n_loss: f64,
    q: Result<f64, String>,
    loss: Option<f64>,
    lbp: (String, Option<bool>),
    enough_share: (String, Option<bool>),
    heeds_loss: (String, Option<bool>),
}

impl Context<'_> {
    fn link(&self, n_b: f64) -> Link {
        Link {
            lbp_bytes_per_s: self.drain * self.m.c_e_share.value.min(1.0),
            t_e_s: self.m.t_e_s.value,
            segment_bytes: self.m.segment_bytes,
            n_b,
        }
    }

    /// BSCL's models hold below some 5 % loss: at the buffer in question, not at
    /// the limit in force.
    fn low_loss(&self, buffer: &Result<f64, String>) -> (String, Option<bool>) {
        let expected = buffer
            .as_ref()
            .ok()
            .and_then(|b| bscl::loss_rate_at(self.link(self.n_b), b.max(0.0)).ok());
        match expected {
            Some(p) => (
                format!(
                    "loss below 5 % with this buffer ({:.2} % by eq. 18)",
                    p * 100.0
                ),
                Some(p < 0.05),
            ),
            None => ("loss below 5 % with this buffer".into(), None),
        }
    }

    fn share(&self) -> Result<Share, String> {
        Ok(Share {
            bdp_bytes: self.drain * self.m.t_e_s.value,
            flows: self.n_b,
            delta: need(self.m.delta, "delta (windows of the flows)")?.value,
        })
    }
}

pub(super) fn rules(m: &Measured, targets: &Targets, options: &Options) -> Vec<Rule> {
    let n_b = m.n_b.value;
    let share = m.c_e_share.value;
    let context = Context {
        m,
        drain: m.drain_bytes_per_s(),
        n_b,
        n_loss: if options.conservative {
            m.n_b.high
        } else {
            n_b
        },
        q: said(bscl::loss_fraction(n_b, (m.alpha.value * n_b).max(1.0))),
        loss: targets.loss_rate,
        lbp: (
            format!(
                "flows are bottlenecked at this link (N_b = {n_b:.1}, regime {})",
                regime_label(m.regime)
            ),
            match m.regime {
                Regime::Unknown => None,
                _ => Some(n_b >= 1.0 && m.saturable != Some(false)),
            },
        ),
        enough_share: (
            format!(
                "LBP flows carry at least 80 % of the capacity ({:.0} %)",
                share * 100.0
            ),
            Some(m.c_e_share.high >= 0.8),
        ),
        heeds_loss: heeds_loss(m),
    };
    let mut all = products::rules(&context);
    all.extend(bscl_rules::rules(&context));
    all.extend(utb_rules::rules(&context, options));
    all
}

/// Whether flows reduce on loss, in words.
pub(super) fn heeds_loss(m: &Measured) -> (String, Option<bool>) {
    let share = m.model_based_share * 100.0;
    (
        format!(
            "windows are multiplied down on loss (BBR carries {share:.0} % of what LBP flows send)"
        ),
        m.heeds_loss(),
    )
}

fn regime_label(regime: Regime) -> &'static str {
    match regime {
        Regime::Transparent => "transparent",
        Regime::Elastic => "elastic",
        Regime::Overload => "overload",
        Regime::Unknown => "unknown",
    }
}
