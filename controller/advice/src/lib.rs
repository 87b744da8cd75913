// SPDX-License-Identifier: Apache-2.0
//! Advice on the limit of a link; pure, no I/O.
//!
//! | module | what |
//! |---|---|
//! | [`models`] | models of utilisation, loss and delay as functions of the limit |
//! | [`outlook`] | predictions for a limit: measurements, and a model between and beyond |
//! | [`search`] | the smallest limit that meets each target with the requested confidence |
//! | [`advise()`] | one limit that reconciles the targets, with reasons |
//! | [`verdict`] | the answer: too big, fine, too small, or the missing measurement |
//! | [`picture`] | the picture of a verdict, as SVG and as text |
//!
//! The papers' sizes are in `tidemark-rules`, as are the units and symbols used here.

#![forbid(unsafe_code)]
#![warn(missing_docs)]
// Private modules hold items that are public within the crate only.
#![allow(unreachable_pub)]

mod advise;
mod answer;
mod confidence;
pub mod evidence;
mod fit;
mod marking;
pub mod models;
mod moved;
pub mod outlook;
pub mod picture;
mod preconditions;
mod prediction;
mod priorities;
mod rationale;
pub mod search;
mod sensitivity;
pub mod verdict;

pub use advise::advise;
pub use answer::{Advice, Infeasibility, Nearest, Present, Rejected};
pub use evidence::Pool;
pub use marking::Marking;
pub use models::reductions::losses_unobserved;
pub use outlook::{Outlook, predict, what_if};
pub use prediction::{FormulaPrediction, MeasuredLimit, Prediction, WhatIfPoint};
pub use sensitivity::{Sensitivities, Sensitivity};
pub use verdict::{Answer, Verdict};
