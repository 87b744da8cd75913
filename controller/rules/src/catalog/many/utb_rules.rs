// SPDX-License-Identifier: Apache-2.0
//! The rules of UTB for several flows.

use super::super::build::{need, rule, said};
use super::{Context, UTILISATION};
use crate::measured::{CongestionControl, Options};
use crate::rule::Rule;
use crate::{single_flow, utb};

pub(super) fn rules(c: &Context<'_>, options: &Options) -> Vec<Rule> {
    let m = c.m;
    let delta = m.delta.map_or(f64::NAN, |d| d.value);
    let beta = single_flow::beta_of(m.congestion_control).unwrap_or(single_flow::BETA_RENO);
    let smallest = utb::smallest_window_pkts(1.0, beta).unwrap_or(2.0);
    let not_bbr = c.heeds_loss.clone();
    let condition = (
        match m.synchrony {
            Some(s) => format!(
                "D <= n²/(delta*BDP) + √n in the RTTs with loss (holds in {:.0} % of them)",
                s.condition_fraction * 100.0
            ),
            None => "D <= n²/(delta*BDP) + √n in the RTTs with loss".into(),
        },
        m.synchrony.map(|s| s.condition_fraction >= 0.95),
    );
    let windows = (
        match m.window_p01_pkts {
            Some(w) => {
                format!("windows of at least {smallest:.1} segments (1st percentile {w:.1})")
            }
            None => format!("windows of at least {smallest:.1} segments"),
        },
        m.window_p01_pkts.map(|w| w >= smallest - 1e-9),
    );
    let several = format!("several flows ({:.1})", c.n_b);
    let s = m.synchrony.map(|s| s.s_mean);
    let full = c.share();
    let sqrt_n = full.clone().and_then(|x| said(utb::sqrt_n_bytes(x)));
    let desynchronised = full.clone().and_then(|x| {
        said(utb::desynchronised_bytes(
            x,
            need(s, "s (reductions per RTT)")?,
        ))
    });
    let bbr = full.and_then(|x| said(utb::bbr_bytes(x, options.bbr_delta)));
    vec![
        rule(
            m,
            "utb_sqrt_n",
            "UTB √n",
            "B = delta*BDP/sqrt(n)",
            "UTB Thm 5-6",
        )
        .goals(&UTILISATION)
        .input("delta", delta, "")
        .input("BDP", c.drain * m.t_e_s.value, "bytes")
        .input("n", c.n_b, "flows")
        .assume(c.lbp.0.clone(), c.lbp.1)
        .assume(several.clone(), Some(c.n_b >= 2.0))
        .assume(not_bbr.0.clone(), not_bbr.1)
        .assume(condition.0, condition.1)
        .assume(windows.0.clone(), windows.1)
        .bytes(sqrt_n),
        rule(
            m,
            "utb_desynchronised",
            "UTB desynchronised",
            "B = s*delta*BDP/n",
            "UTB eq. 3, §4.6",
        )
        .goals(&UTILISATION)
        .input("s", s.unwrap_or(f64::NAN), "flows per RTT")
        .input("delta", delta, "")
        .input("BDP", c.drain * m.t_e_s.value, "bytes")
        .input("n", c.n_b, "flows")
        .assume(c.lbp.0.clone(), c.lbp.1)
        .assume(several.clone(), Some(c.n_b >= 2.0))
        .assume(not_bbr.0.clone(), not_bbr.1)
        .assume(windows.0, windows.1)
        .bytes(desynchronised),
        rule(
            m,
            "utb_bbr",
            "UTB BBR",
            "B = delta*BDP/sqrt(2n)*sqrt(ln(1/delta_p))",
            "UTB Thm 8",
        )
        .goals(&UTILISATION)
        .input("delta", delta, "")
        .input("BDP", c.drain * m.t_e_s.value, "bytes")
        .input("n", c.n_b, "flows")
        .input("delta_p", options.bbr_delta, "probability")
        .assume(c.lbp.0.clone(), c.lbp.1)
        .assume(several, Some(c.n_b >= 2.0))
        .assume(
            "all flows run BBR v1 in its probe-bandwidth phase",
            match m.congestion_control {
                CongestionControl::Unknown => None,
                cc => Some(cc == CongestionControl::Bbr),
            },
        )
        .bytes(bbr),
    ]
}
