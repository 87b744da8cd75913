// SPDX-License-Identifier: Apache-2.0
//! How utilisation, loss and delay go with the limit, as values.
//!
//! A model fitted to a traffic gives a curve for each quantity that it knows. The
//! outlook takes of each quantity the first model in [`MODELS`] that knows it, and of
//! its curve only ratio (loss) and difference (utilisation, delay) from what was
//! measured. A rule of a paper is no model: it is a size.

pub(crate) mod envelope;
pub(crate) mod formula;
pub(crate) mod in_flight_cap;
pub(crate) mod open_loop;
pub(crate) mod reductions;
pub(crate) mod sampling;
pub(crate) mod share_of_marks;
pub(crate) mod standing_queue;

use tidemark_rules::error::RuleError;
use tidemark_rules::{Range, Traffic};

/// A quantity over the limit in bytes, with its range.
pub(crate) type Curve<'a> = Box<dyn Fn(f64) -> Result<Range, RuleError> + 'a>;

/// The curves of a model fitted to a traffic; `None` where it does not know.
#[derive(Default)]
pub(crate) struct Curves<'a> {
    /// Mean utilisation, fraction.
    pub utilisation: Option<Curve<'a>>,
    /// Drops over arrivals.
    pub loss_rate: Option<Curve<'a>>,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: Option<Curve<'a>>,
    /// Largest queueing delay, ms.
    pub delay_ms: Option<Curve<'a>>,
}

/// A model of the response to the limit, as a value.
pub struct Model {
    /// Stable identifier in answers.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Sources of its equations.
    pub source: &'static str,
    /// Runs that its range was held against, and the share inside.
    pub evidence: &'static str,
    /// Fits it to a traffic; `None` where it does not apply.
    pub(crate) fit: for<'a> fn(&'a Traffic) -> Option<Curves<'a>>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// Every model, the most trusted first.
pub static MODELS: [&Model; 7] = [
    &share_of_marks::MODEL,
    &in_flight_cap::MODEL,
    &reductions::LOSS,
    &reductions::WINDOW,
    &open_loop::MODEL,
    &envelope::MODEL,
    &formula::MODEL,
];
