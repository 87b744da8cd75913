// SPDX-License-Identifier: Apache-2.0
//! The advisor's decisions in sentences.

use super::answer::Nearest;
use super::expected::expected;
use super::preconditions::Refusal;
use super::record::{Finding, Record};
use crate::bscl::SQRT_CONSTANT;
use crate::extrapolation::LEAST_DROPS;
use crate::rule::Situation;
use crate::targets::Goal;
use crate::traffic::{Regime, Traffic};

/// Every decision as a sentence, in order.
pub(super) fn sentences(record: &Record, s: &Situation<'_>) -> Vec<String> {
    record.iter().map(|f| sentence(f, s)).collect()
}

fn sentence(finding: &Finding, s: &Situation<'_>) -> String {
    let m = s.traffic;
    let packets = |bytes: f64| bytes / m.segment_bytes;
    let target = s.targets.utilisation * 100.0;
    let loss_bound = s.targets.loss_rate.unwrap_or(f64::NAN) * 100.0;
    match finding {
        Finding::Regime => regime(m),
        Finding::Refused(refusal) => format!("no advice: {}", refused(*refusal)),
        Finding::UtilisationIsLoad => format!(
            "utilisation equals the load ({:.0} %) whatever the buffer: no flow waits for this link",
            m.rho * 100.0
        ),
        Finding::UtilisationExtrapolated { rule, bytes } => format!(
            "utilisation: {rule} asks for {bytes:.0} bytes ({:.0} packets) for {target:.1} %; {:.1} % was measured at {:.0} bytes",
            packets(*bytes),
            m.observed.map_or(0.0, |o| o.utilisation) * 100.0,
            m.limit_bytes.unwrap_or(0.0)
        ),
        Finding::UtilisationModelSetAside {
            bytes,
            measured_lowest,
            assumed_lowest,
        } => format!(
            "BSCL B_ρ would ask for {bytes:.0} bytes; not taken: the distribution of the window was measured (its swing is {} BSCL assumes: down to {:.0} % of its peak, assumed {:.0} %)",
            compared(*measured_lowest, *assumed_lowest),
            measured_lowest * 100.0,
            assumed_lowest * 100.0
        ),
        Finding::UtilisationExpected {
            rule,
            bytes,
            utilisation,
        } => format!(
            "utilisation: {rule} asks for {bytes:.0} bytes ({:.0} packets); expected utilisation {:.1} %",
            packets(*bytes),
            utilisation * 100.0
        ),
        Finding::PassedOver {
            rule,
            bytes,
            utilisation,
        } => format!(
            "{rule} ({bytes:.0} bytes) is passed over: the expected utilisation is {:.1} %, below {target:.1} %",
            utilisation * 100.0
        ),
        Finding::RuleOfThumb { bytes } => format!(
            "utilisation: no rule that applies is expected to reach {target:.1} %; the rule of thumb C*T_mean, {bytes:.0} bytes, is taken"
        ),
        Finding::UtilisationUnobserved {
            bytes,
            drops,
            in_force,
        } => format!(
            "utilisation: fewer than {LEAST_DROPS} drops at the limit in force ({drops}), so that it is not known how many flows lose together; {bytes:.0} bytes ({:.0} packets) {}",
            packets(*bytes),
            if *in_force {
                "are in force and enough"
            } else {
                "are enough although all lose at once"
            }
        ),
        Finding::NotLessThanInForce { bytes, bbr } => format!(
            "utilisation is missed at the limit in force {}: something else than losses keeps the link from being full, and not less than {bytes:.0} bytes are asked for",
            if *bbr {
                "and its flows follow a model of the path (BBR)".to_owned()
            } else {
                format!("although fewer than {LEAST_DROPS} drops were seen there")
            }
        ),
        Finding::LossUnobserved {
            bytes,
            drops,
            in_force,
        } => format!(
            "loss: fewer than {LEAST_DROPS} drops at the limit in force ({drops}); {bytes:.0} bytes keep {loss_bound:.2} % {}",
            if *in_force {
                "by measurement"
            } else {
                "at the upper end of what to expect (BSCL eq. 18)"
            }
        ),
        Finding::NonResponsiveOverload => format!(
            "loss: traffic that does not react to this link fills it ({:.0} % of capacity); no buffer keeps the loss bound",
            m.rho_other * 100.0
        ),
        Finding::LossBound { rule, bytes } if *bytes > 0.0 => format!(
            "loss: {rule} asks for at least {bytes:.0} bytes for {loss_bound:.2} %{}",
            if s.options.conservative {
                " (upper end of what is uncertain)"
            } else {
                ""
            }
        ),
        Finding::LossBound { rule, .. } => format!(
            "loss: {rule} asks for no buffer: the packets in flight on the path already keep loss below {loss_bound:.2} %"
        ),
        Finding::LossModelSetAside { bytes, constant } => format!(
            "BSCL B_p would ask for {bytes:.0} bytes; not taken: its constant is {constant:.2} by measurement instead of {SQRT_CONSTANT:.2}"
        ),
        Finding::LossOutsideConditions { bytes } => format!(
            "loss: no rule's conditions hold; outside them eq. 18 of BSCL asks for {bytes:.0} bytes"
        ),
        Finding::SingleFlow {
            rule,
            bytes,
            measured_bytes,
            met,
        } => format!(
            "one flow: {rule} asks for {bytes:.0} bytes{}; the {measured_bytes:.0} bytes of the measured scaling are not taken: no other flow evens out its swing",
            if *met {
                " at most, which met the target by measurement"
            } else {
                ""
            }
        ),
        Finding::UtilisationByCap { bytes, asked } => format!(
            "utilisation: not the {asked:.0} bytes of the rule: {bytes:.0} bytes serve as well (BBR keeps no more in flight, or they meet the target by measurement)"
        ),
        Finding::LossByCap { bytes, cap } => format!(
            "loss: flows of BBR lose what exceeds their cap in flight, and nothing from {:.0} bytes on ({:.0} to {:.0}); {bytes:.0} bytes for {loss_bound:.2} %",
            cap.value, cap.low, cap.high
        ),
        Finding::LossUnattainable => "loss: no buffer of a reasonable size keeps the bound".into(),
        Finding::DelayBound { bytes } => format!("delay: the bound allows {bytes:.0} bytes"),
        Finding::DelayGivenUp { bytes, for_goal } => format!(
            "delay: the bound allows {bytes:.0} bytes, less than {} needs; it is given up, having lower priority",
            for_goal.label()
        ),
        Finding::AboveDelayBound { goal, bytes } => format!(
            "{}: {bytes:.0} bytes are more than the delay bound allows; it is given up, having lower priority",
            goal.label()
        ),
        Finding::RaisedToSmallest => format!(
            "raised to the smallest limit, {:.0} packets: below it bursts are lost whatever the load",
            s.options.min_packets
        ),
        Finding::RaisedToDelayBound { bytes } => format!(
            "raised to what the delay bound allows, {bytes:.0} bytes: fewer than {:.0} packets, below which bursts are lost whatever the load",
            s.options.min_packets
        ),
        Finding::CutToLargest { bytes } if s.options.max_bytes.is_some() => {
            format!("cut to the largest limit of the target, {bytes:.0} bytes")
        }
        Finding::CutToLargest { bytes } => format!(
            "cut to the largest limit without one configured, {bytes:.0} bytes: four times C*T_mean, at least 1 s of queueing"
        ),
        Finding::NoMoreHelps {
            in_force,
            bytes,
            loss_rate,
        } if in_force == bytes => format!(
            "loss: no limit is sure to meet {loss_bound:.2} %: beyond the {in_force:.0} bytes in force ({:.2} % measured) more buffer is expected to save less than its law is uncertain by; the limit stays",
            loss_rate * 100.0
        ),
        Finding::NoMoreHelps {
            in_force,
            bytes,
            loss_rate,
        } => format!(
            "loss: no limit is sure to meet {loss_bound:.2} % ({:.2} % measured at {in_force:.0} bytes); up to {bytes:.0} bytes more buffer helps, beyond it is expected to save less than its law is uncertain by",
            loss_rate * 100.0
        ),
        Finding::MoreDidNotHelp {
            tried,
            tried_loss_rate,
            loss_rate,
        } => format!(
            "loss: {:.2} % was measured at {tried:.0} bytes under this traffic, less than the {:.2} % at the limit in force: more buffer did not help, and {tried:.0} bytes are taken",
            tried_loss_rate * 100.0,
            loss_rate * 100.0
        ),
        Finding::Learned { limits, exponent } => format!(
            "what {limits} other limits did under this traffic is taken into account: loss goes with the power {exponent:.2} of its law"
        ),
        Finding::LossOfBursts { bytes } => format!(
            "loss: the bursts are not known; with three packets in each, as a mix of single packets and initial windows of ten has, M/M/1/K asks for {bytes:.0} bytes"
        ),
        Finding::LossOfStacks { bytes, constant } => format!(
            "loss: with the constant of today's stacks ({constant:.2}; BSCL has {SQRT_CONSTANT:.2}, of delayed acknowledgements and one drop per reduction) eq. 18 asks for {bytes:.0} bytes"
        ),
        Finding::FarFromLimitInForce {
            in_force,
            factor,
            larger,
        } => format!(
            "far from the limit in force ({in_force:.0} bytes, more than {factor:.0} times {}): predictions are extrapolated, measure again after the change",
            if *larger { "larger" } else { "smaller" }
        ),
        Finding::Expected { bytes, predicted } => expected(*bytes, s, predicted),
        Finding::NoPrediction(e) => format!("no prediction: {e}"),
        Finding::GivenUp { goals, nearest } => given_up(goals, s, nearest),
    }
}

fn regime(m: &Traffic) -> String {
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

fn refused(refusal: Refusal) -> String {
    match refusal {
        Refusal::NoCapacity => {
            "the capacity of the link is not known (set capacity_bps of the port)".into()
        }
        Refusal::NoSegmentSize => "the segment size is not known, no data packet was seen".into(),
        Refusal::NoRegime => "the regime is not known yet, a longer window is needed".into(),
        Refusal::NoBaseRtt => {
            "no base RTT of a bottlenecked flow is known (probe the senders, or let both directions cross the switch)".into()
        }
        Refusal::Utilisation(u) => format!("target utilisation {u} is not in 0..1"),
        Refusal::LossRate(p) => format!("target loss_rate {p} is not in 0..1"),
        Refusal::DelayMs(d) => format!("target delay_ms {d} is not above 0"),
    }
}

/// Lowest windows over their peak that differ by less are the same.
const SAME_SWING: f64 = 0.05;

fn compared(measured_lowest: f64, assumed_lowest: f64) -> &'static str {
    match measured_lowest - assumed_lowest {
        d if d < -SAME_SWING => "larger than",
        d if d > SAME_SWING => "smaller than",
        _ => "about what",
    }
}

fn given_up(goals: &[Goal], s: &Situation<'_>, nearest: &Nearest) -> String {
    let names: Vec<&str> = goals.iter().map(|g| g.label()).collect();
    let near = goals.iter().map(|goal| match goal {
        Goal::Utilisation => format!(
            "utilisation {:.1} % instead of {:.1} %",
            nearest.utilisation * 100.0,
            s.targets.utilisation * 100.0
        ),
        Goal::Loss => format!(
            "loss {:.2} % instead of {:.2} %",
            nearest.loss_rate * 100.0,
            s.targets.loss_rate.unwrap_or(f64::NAN) * 100.0
        ),
        Goal::Delay => format!(
            "delay {:.1} ms instead of {:.1} ms",
            nearest.delay_ms,
            s.targets.delay_ms.unwrap_or(f64::NAN)
        ),
    });
    format!(
        "the targets cannot hold together: {} given up; nearest feasible: {}",
        names.join(" and "),
        near.collect::<Vec<_>>().join(", ")
    )
}
