// SPDX-License-Identifier: Apache-2.0
//! Rules for one flow, few flows, no bottlenecked flow, and the delay bound.

use super::build::{need, rule, said};
use crate::measured::{CongestionControl, Goal, Measured, Regime, Targets};
use crate::rule::Rule;
use crate::{bscl, ngi, single_flow, srb};

/// Length of a short flow assumed for its slow-start bursts, packets: 2+4+8.
const SHORT_FLOW_PKTS: f64 = 14.0;

pub(super) fn rules(m: &Measured, targets: &Targets) -> Vec<Rule> {
    let mut all = single(m, targets);
    all.extend(no_bottleneck(m, targets));
    all.push(elastic(m));
    all.push(delay(m, targets));
    all
}

fn single(m: &Measured, targets: &Targets) -> Vec<Rule> {
    let bdp = m.drain_bytes_per_s() * m.t_e_s.value;
    let n = m.n_b.value;
    let alone = (
        format!("one flow is bottlenecked here ({n:.1})"),
        match m.regime {
            Regime::Unknown => None,
            _ => Some((0.5..1.5).contains(&n) && m.saturable != Some(false)),
        },
    );
    let mut all = Vec::new();
    for (id, name, cc, beta) in [
        (
            "single_reno",
            "single flow, Reno",
            CongestionControl::Reno,
            single_flow::BETA_RENO,
        ),
        (
            "single_cubic",
            "single flow, CUBIC",
            CongestionControl::Cubic,
            single_flow::BETA_CUBIC,
        ),
        (
            "single_scalable",
            "single flow, Scalable",
            CongestionControl::Scalable,
            single_flow::BETA_SCALABLE,
        ),
    ] {
        all.push(
            rule(m, id, name, "B = max(0, gamma/beta - 1)*BDP", "UTB §3.5")
                .goals(&[Goal::Utilisation])
                .input("BDP", bdp, "bytes")
                .input("beta", beta, "")
                .input("gamma", targets.utilisation, "fraction")
                .assume(alone.0.clone(), alone.1)
                .assume(format!("it runs {cc:?}"), runs(m, cc))
                .bytes(said(single_flow::buffer_bytes(
                    bdp,
                    beta,
                    targets.utilisation,
                ))),
        );
    }
    all.push(
        rule(
            m,
            "single_bbr",
            "single flow, BBR v1",
            "B = max(0, gamma - 3/4)*BDP",
            "UTB §3.5",
        )
        .goals(&[Goal::Utilisation])
        .input("BDP", bdp, "bytes")
        .input("gamma", targets.utilisation, "fraction")
        .assume(alone.0, alone.1)
        .assume(
            "it runs BBR v1 in its probe-bandwidth phase",
            runs(m, CongestionControl::Bbr),
        )
        .bytes(said(single_flow::bbr_buffer_bytes(
            bdp,
            targets.utilisation,
        ))),
    );
    all
}

fn runs(m: &Measured, cc: CongestionControl) -> Option<bool> {
    match m.congestion_control {
        // Reno's β needs the most, so it is safe for a flow not recognised.
        CongestionControl::Unknown if cc == CongestionControl::Reno => None,
        CongestionControl::Unknown => Some(false),
        known => Some(known == cc),
    }
}

fn no_bottleneck(m: &Measured, targets: &Targets) -> Vec<Rule> {
    let none = (
        format!("no flow is bottlenecked here (N_b = {:.1})", m.n_b.value),
        match m.regime {
            Regime::Unknown => None,
            _ => Some(m.n_b.value < 1.0 || m.saturable == Some(false)),
        },
    );
    let below = (
        format!("load below capacity ({:.2})", m.rho),
        Some(m.rho < 1.0),
    );
    let goals = [Goal::Utilisation, Goal::Loss];
    let bound = need(targets.loss_rate, "a loss bound");
    let transparent = bound
        .clone()
        .and_then(|p| said(ngi::transparent_packets(m.rho, p)));
    let short = bound.and_then(|p| {
        let bursts = srb::slow_start_bursts(SHORT_FLOW_PKTS).map_err(|e| e.to_string())?;
        said(srb::short_flow_packets(m.rho, bursts, p))
    });
    vec![
        rule(
            m,
            "ngi_transparent",
            "transparent regime",
            "b = ln(p)/ln(rho) packets",
            "NGI §IV-A",
        )
        .goals(&goals)
        .input("rho", m.rho, "fraction")
        .input("p", targets.loss_rate.unwrap_or(f64::NAN), "fraction")
        .assume(none.0.clone(), none.1)
        .assume(below.0.clone(), below.1)
        .assume("packets arrive nearly as a Poisson process", None)
        .bytes(transparent.map(|b| b * m.segment_bytes)),
        rule(
            m,
            "srb_short",
            "short flows only",
            "b = -ln(p)*rho/(2(1-rho))*E[X²]/E[X] packets",
            "SRB §4",
        )
        .goals(&goals)
        .input("rho", m.rho, "fraction")
        .input("flow length", SHORT_FLOW_PKTS, "packets")
        .assume(none.0, none.1)
        .assume(below.0, below.1)
        .assume("flows send slow-start bursts of 2, 4, 8, … packets", None)
        .bytes(short.map(|b| b * m.segment_bytes)),
    ]
}

fn elastic(m: &Measured) -> Rule {
    let n = m.n_b.value;
    let (low, high) = ngi::ELASTIC_FEW_FLOWS_PKTS;
    rule(
        m,
        "ngi_elastic",
        "elastic, few flows",
        "100-200 packets as a starting point (the middle is shown)",
        "NGI §IV-B, §VI",
    )
    .input("from", low, "packets")
    .input("to", high, "packets")
    .assume(
        format!("one to four flows are bottlenecked ({n:.1})"),
        Some((0.5..4.5).contains(&n)),
    )
    .assume(
        format!(
            "about half of the load is background ({:.0} %)",
            m.rho_other * 100.0
        ),
        Some((0.25..0.75).contains(&m.rho_other)),
    )
    .bytes(Ok(0.5 * (low + high) * m.segment_bytes))
}

fn delay(m: &Measured, targets: &Targets) -> Rule {
    let bound = need(targets.delay_ms, "a delay bound");
    rule(m, "delay", "delay bound", "B <= C*d", "BSCL eq. 24-25")
        .goals(&[Goal::Delay])
        .input("C", m.drain_bytes_per_s(), "bytes/s")
        .input("d", targets.delay_ms.unwrap_or(f64::NAN) / 1e3, "s")
        .bytes(bound.and_then(|d| said(bscl::delay_bytes(m.drain_bytes_per_s(), d / 1e3))))
}
