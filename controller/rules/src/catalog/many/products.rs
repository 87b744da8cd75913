// SPDX-License-Identifier: Apache-2.0
//! C·T̄, C·Tₑ and C·T̄/√N.

use super::super::build::{rule, said};
use super::{Context, UTILISATION};
use crate::rule::Rule;
use crate::{bdp, srb};

pub(super) fn rules(c: &Context<'_>) -> Vec<Rule> {
    let m = c.m;
    let mean = said(bdp::product(c.drain, m.t_mean_s.value));
    let reno_like = m.heeds_loss();
    let q = m.q_observed.map(|q| q.value).or(c.q.clone().ok());
    vec![
        rule(
            m,
            "bdp",
            "BDP (rule of thumb)",
            "B = C*T_mean",
            "BSCL §I, UTB §3.1",
        )
        .goals(&UTILISATION)
        .input("C", c.drain, "bytes/s")
        .input("T_mean", m.t_mean_s.value, "s")
        .assume(c.lbp.0.clone(), c.lbp.1)
        .assume(
            "windows are at most halved on loss (always sufficient then)",
            reno_like,
        )
        .bytes(mean),
        rule(m, "c_te", "C·T_e", "B = C*T_e", "BSCL eq. 11-12")
            .goals(&UTILISATION)
            .input("C", c.drain, "bytes/s")
            .input("T_e", m.t_e_s.value, "s")
            .assume(c.lbp.0.clone(), c.lbp.1)
            .assume(
                match q {
                    Some(q) => {
                        format!("flows lose together: q near 1 (q = {q:.2}), or fewer than 5 flows")
                    }
                    None => "flows lose together: q near 1, or fewer than 5 flows".into(),
                },
                if c.n_b < 5.0 {
                    Some(true)
                } else {
                    q.map(|q| q >= 0.9)
                },
            )
            .bytes(said(bdp::product(c.drain, m.t_e_s.value))),
        rule(
            m,
            "stanford",
            "Stanford √n",
            "B = C*T_mean/sqrt(N)",
            "SRB; BSCL eq. 1",
        )
        .goals(&UTILISATION)
        .input("C", c.drain, "bytes/s")
        .input("T_mean", m.t_mean_s.value, "s")
        .input("N", c.n_b, "flows")
        .assume(
            format!("hundreds of flows ({:.0})", c.n_b),
            Some(c.n_b >= 100.0),
        )
        .assume("flows are not synchronised", q.map(|q| q < 0.5))
        .bytes(said(srb::stanford_bytes(c.drain, m.t_mean_s.value, c.n_b))),
    ]
}
