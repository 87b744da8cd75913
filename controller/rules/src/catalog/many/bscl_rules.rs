// SPDX-License-Identifier: Apache-2.0
//! The rules of BSCL.

use super::super::build::{need, rule, said};
use super::{BOTH, Context, UTILISATION};
use crate::measured::Goal;
use crate::rule::Rule;
use crate::{bdp, bscl};

pub(super) fn rules(c: &Context<'_>) -> Vec<Rule> {
    let m = c.m;
    let link = c.link(c.n_b);
    let q = c.q.clone().unwrap_or(f64::NAN);
    let p = need(c.loss, "a loss bound");
    let few = format!("N_b below about 80 ({:.1})", c.n_b);
    let at_least_five = format!("N_b at least 5 ({:.1}; below it C_e*T_e is used)", c.n_b);
    let bound_low = c.loss.map(|p| p < 0.05);
    let b_p = p
        .clone()
        .and_then(|p| said(bscl::loss_bytes(c.link(c.n_loss), p)));
    let b_rho =
        c.q.clone()
            .and_then(|q| said(bscl::utilisation_bytes(link, q)));
    let both = c.q.clone().and_then(|q| {
        let rho = if c.n_b < 5.0 {
            said(bdp::product(link.lbp_bytes_per_s, link.t_e_s))?
        } else {
            said(bscl::utilisation_bytes(link, q))?
        };
        let loss = match c.loss {
            Some(p) => said(bscl::loss_bytes(c.link(c.n_loss), p))?,
            None => 0.0,
        };
        Ok(rho.max(loss).max(0.0))
    });
    let (rho_low, both_low) = (c.low_loss(&b_rho), c.low_loss(&both));
    let crossover = p.clone().and_then(|p| {
        match bscl::crossover_flows(link, m.alpha.value, p).map_err(|e| e.to_string())? {
            Some(n) => {
                let q = said(bscl::loss_fraction(n, (m.alpha.value * n).max(1.0)))?;
                Ok((n, said(bscl::utilisation_bytes(c.link(n), q))?))
            }
            None => Err("the loss bound decides for any number of flows".into()),
        }
    });
    vec![
        rule(
            m,
            "bscl_utilisation",
            "BSCL utilisation B_ρ",
            "B = (q*C_e*T_e - 2*M*N_b*(1-q))/(2-q)",
            "BSCL eq. 16",
        )
        .goals(&UTILISATION)
        .input("q", q, "fraction")
        .input("C_e", link.lbp_bytes_per_s, "bytes/s")
        .input("T_e", link.t_e_s, "s")
        .input("M", link.segment_bytes, "bytes")
        .input("N_b", c.n_b, "flows")
        .input("alpha", m.alpha.value, "")
        .assume(c.lbp.0.clone(), c.lbp.1)
        .assume(c.enough_share.0.clone(), c.enough_share.1)
        .assume(at_least_five, Some(c.n_b >= 5.0))
        .assume(few, Some(c.n_b < 80.0))
        .assume(c.heeds_loss.0.clone(), c.heeds_loss.1)
        .assume(rho_low.0, rho_low.1)
        .bytes(b_rho),
        rule(
            m,
            "bscl_loss",
            "BSCL loss B_p",
            "B = 0.87/sqrt(p)*M*N_b - C_e*T_e",
            "BSCL eq. 21-22",
        )
        .goals(&[Goal::Loss])
        .input("p", c.loss.unwrap_or(f64::NAN), "fraction")
        .input("M", link.segment_bytes, "bytes")
        .input("N_b", c.n_loss, "flows")
        .input("C_e", link.lbp_bytes_per_s, "bytes/s")
        .input("T_e", link.t_e_s, "s")
        .assume(c.lbp.0.clone(), c.lbp.1)
        .assume(c.enough_share.0.clone(), c.enough_share.1)
        .assume(c.heeds_loss.0.clone(), c.heeds_loss.1)
        .assume("loss bound below 5 %", bound_low)
        .bytes(b_p),
        rule(
            m,
            "bscl",
            "BSCL",
            "B = max(B_rho, B_p, 0); C_e*T_e for B_rho when N_b < 5",
            "BSCL Fig. 4, eq. 23, §VII",
        )
        .goals(&BOTH)
        .input("q", q, "fraction")
        .input("N_b", c.n_b, "flows")
        .input("C_e", link.lbp_bytes_per_s, "bytes/s")
        .input("T_e", link.t_e_s, "s")
        .input("M", link.segment_bytes, "bytes")
        .assume(c.lbp.0.clone(), c.lbp.1)
        .assume(c.enough_share.0.clone(), c.enough_share.1)
        .assume(c.heeds_loss.0.clone(), c.heeds_loss.1)
        .assume(both_low.0, both_low.1)
        .bytes(both),
        rule(
            m,
            "bscl_crossover",
            "BSCL cross-over Ñ_b",
            "B_rho(N) = B_p(N)",
            "BSCL §IV-B",
        )
        .input(
            "N_crossover",
            crossover.as_ref().map_or(f64::NAN, |x| x.0),
            "flows",
        )
        .assume(c.lbp.0.clone(), c.lbp.1)
        .assume(c.enough_share.0.clone(), c.enough_share.1)
        .bytes(crossover.map(|x| x.1)),
        rule(
            m,
            "fpq",
            "FPQ (six packets per flow)",
            "B = 6*M*N",
            "BSCL §IV-A",
        )
        .input("M", m.segment_bytes, "bytes")
        .input("N", m.n_active, "flows")
        .bytes(said(bscl::fpq_bytes(m.segment_bytes, m.n_active))),
    ]
}
