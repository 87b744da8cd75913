// SPDX-License-Identifier: Apache-2.0
//! What the advisor decided on its way, in order.

use super::answer::Nearest;
use super::preconditions::Refusal;
use crate::error::RuleError;
use crate::prediction::Prediction;
use crate::range::Range;
use crate::targets::Goal;

/// One decision, with what it rests on. Buffers are in bytes.
#[derive(Clone, Debug)]
pub(super) enum Finding {
    Regime,
    Refused(Refusal),
    /// No flow waits for this link.
    UtilisationIsLoad,
    /// A rule's buffer is taken because of what was measured.
    UtilisationExtrapolated {
        rule: &'static str,
        bytes: f64,
    },
    /// What a model asks for utilisation is not taken; lowest window over its
    /// peak as measured and as assumed.
    UtilisationModelSetAside {
        bytes: f64,
        measured_lowest: f64,
        assumed_lowest: f64,
    },
    /// A rule's buffer is expected to reach the target.
    UtilisationExpected {
        rule: &'static str,
        bytes: f64,
        utilisation: f64,
    },
    /// A rule's buffer is not expected to.
    PassedOver {
        rule: &'static str,
        bytes: f64,
        utilisation: f64,
    },
    RuleOfThumb {
        bytes: f64,
    },
    /// Hardly a loss was seen.
    UtilisationUnobserved {
        bytes: f64,
        drops: u64,
        in_force: bool,
    },
    /// Utilisation is missed, and not because of losses.
    NotLessThanInForce {
        bytes: f64,
        bbr: bool,
    },
    LossUnobserved {
        bytes: f64,
        drops: u64,
        in_force: bool,
    },
    /// Traffic that does not react fills the link.
    NonResponsiveOverload,
    LossBound {
        rule: &'static str,
        bytes: f64,
    },
    /// What a model asks for loss is not taken; its constant as measured.
    LossModelSetAside {
        bytes: f64,
        constant: f64,
    },
    /// No rule applies; BSCL eq. 18 outside its conditions.
    LossOutsideConditions {
        bytes: f64,
    },
    LossUnattainable,
    /// One flow needs more than the measured scaling asks for.
    SingleFlow {
        rule: &'static str,
        bytes: f64,
        measured_bytes: f64,
        /// A smaller limit than the rule's met the target by measurement.
        met: bool,
    },
    /// All flows follow a model of the path; from `cap` on they lose nothing.
    LossByCap {
        bytes: f64,
        cap: Range,
    },
    /// They keep no more in flight than that, whatever a rule asks for utilisation.
    UtilisationByCap {
        bytes: f64,
        asked: f64,
    },
    /// From `bytes` on, more buffer saves less than is uncertain; measured at the
    /// limit in force.
    NoMoreHelps {
        in_force: f64,
        bytes: f64,
        loss_rate: f64,
    },
    /// A smaller limit tried before lost less than the one in force.
    MoreDidNotHelp {
        tried: f64,
        tried_loss_rate: f64,
        loss_rate: f64,
    },
    /// Other limits corrected the law.
    Learned {
        limits: usize,
        exponent: f64,
    },
    /// No flow waits, nothing was measured; bursts of unknown size.
    LossOfBursts {
        bytes: f64,
    },
    /// Nothing was measured; eq. 18 with the constant of today's stacks.
    LossOfStacks {
        bytes: f64,
        constant: f64,
    },
    DelayBound {
        bytes: f64,
    },
    /// The delay bound is below what another goal needs.
    DelayGivenUp {
        bytes: f64,
        for_goal: Goal,
    },
    /// A goal needs more than the delay bound allows.
    AboveDelayBound {
        goal: Goal,
        bytes: f64,
    },
    RaisedToSmallest,
    /// The delay bound allows less than the smallest limit, and nothing asks for
    /// as much as it allows.
    RaisedToDelayBound {
        bytes: f64,
    },
    CutToLargest {
        bytes: f64,
    },
    FarFromLimitInForce {
        in_force: f64,
        factor: f64,
        larger: bool,
    },
    Expected {
        bytes: f64,
        predicted: Prediction,
    },
    NoPrediction(RuleError),
    GivenUp {
        goals: Vec<Goal>,
        nearest: Nearest,
    },
}

/// All decisions, in order.
#[derive(Debug, Default)]
pub(super) struct Record {
    findings: Vec<Finding>,
}

impl Record {
    pub fn note(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter()
    }
}
