// SPDX-License-Identifier: Apache-2.0
//! Which limit a link should have; pure, no I/O.
//!
//! | module | what |
//! |---|---|
//! | [`models`] | how utilisation, loss and delay go with the limit, as values |
//! | [`outlook`] | what to expect at a limit: the measurements, and between and beyond them a model |
//! | [`search`] | the smallest limit that meets each target with the confidence asked for |
//! | [`advise()`] | the targets reconciled to one limit, with reasons |
//! | [`verdict`] | the answer: too big, fine, too small, or the missing measurement |
//! | [`verdict`] | the answer: too big, fine, too small, or what is missing to say so |
//!
//! Papers' sizes are in `tidemark-rules`, with the units and symbols used here.

#![forbid(unsafe_code)]
#![warn(missing_docs)]
// Private modules here hold items that the crate takes as a whole.
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
