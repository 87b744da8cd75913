// SPDX-License-Identifier: Apache-2.0
//! Buffer-sizing rules and the advisor; pure, no I/O.
//!
//! One module per paper: [`bscl`] (Dhamdhere, Jiang, Dovrolis, INFOCOM 2005),
//! [`ngi`] (Augé, Roberts, NGI 2006), [`srb`] (Appenzeller, Keslassy, McKeown,
//! SIGCOMM 2004), [`utb`] and [`single_flow`] (Spang, Arslan, McKeown,
//! Performance 2021), [`bdp`] the rule of thumb. [`observed`] scales what was
//! measured and is Tidemark's own. Every formula is a function of
//! a small struct whose fields carry their units; all return [`RuleError`]
//! where an argument makes no sense.
//!
//! [`evaluate`] applies all of them to what was [`Measured`], [`advise`] turns
//! that into a limit with reasons, [`what_if`] gives the predicted outcome over
//! a range of limits.
//!
//! Units: rates are in bits/s where the name says `_bps` and in bytes/s where
//! it says `_bytes_per_s`; sizes in bytes as the queue counts them (frames
//! without FCS on v1model); times in seconds.

pub mod advise;
pub mod bdp;
pub mod bscl;
pub mod catalog;
mod error;
pub mod hysteresis;
mod limit;
pub mod measured;
pub mod ngi;
pub mod observed;
pub mod predict;
mod rule;
pub mod single_flow;
pub mod srb;
pub mod utb;

pub use advise::{Advice, Infeasibility, Nearest, Present, Rejected, advise};
pub use catalog::evaluate;
pub use error::RuleError;
pub use hysteresis::{Change, worth_changing};
pub use limit::Limit;
pub use measured::{
    CongestionControl, Goal, Interval, Measured, Observed, Occupancy, Options, Regime, Synchrony,
    Targets,
};
pub use predict::{FormulaPrediction, Prediction, WhatIfPoint, predict, what_if};
pub use rule::{Assumption, Input, Rule};
