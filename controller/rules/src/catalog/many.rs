// SPDX-License-Identifier: Apache-2.0
//! Rules for several bottlenecked flows.

use super::build::{need, rule, said};
use crate::bscl::{self, Link};
use crate::measured::{CongestionControl, Goal, Measured, Options, Regime, Targets};
use crate::rule::Rule;
use crate::utb::{self, Share};
use crate::{bdp, single_flow, srb};

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
    };
    let mut all = products(&context);
    all.extend(bscl_rules(&context));
    all.extend(utb_rules(&context, options));
    all
}

fn regime_label(regime: Regime) -> &'static str {
    match regime {
        Regime::Transparent => "transparent",
        Regime::Elastic => "elastic",
        Regime::Overload => "overload",
        Regime::Unknown => "unknown",
    }
}

fn products(c: &Context<'_>) -> Vec<Rule> {
    let m = c.m;
    let mean = said(bdp::product(c.drain, m.t_mean_s.value));
    let reno_like = match m.congestion_control {
        CongestionControl::Unknown => None,
        CongestionControl::Bbr => Some(false),
        _ => Some(true),
    };
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

fn bscl_rules(c: &Context<'_>) -> Vec<Rule> {
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

fn utb_rules(c: &Context<'_>, options: &Options) -> Vec<Rule> {
    let m = c.m;
    let delta = m.delta.map_or(f64::NAN, |d| d.value);
    let beta = single_flow::beta_of(m.congestion_control).unwrap_or(single_flow::BETA_RENO);
    let smallest = utb::smallest_window_pkts(1.0, beta).unwrap_or(2.0);
    let not_bbr = (
        "flows reduce on loss (not BBR)".to_owned(),
        match m.congestion_control {
            CongestionControl::Unknown => None,
            cc => Some(cc != CongestionControl::Bbr),
        },
    );
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
