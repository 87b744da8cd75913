// SPDX-License-Identifier: Apache-2.0
//! Models of utilisation, loss and delay as functions of the limit.
//!
//! A model fitted to a traffic gives a curve for each quantity that it covers. For each quantity
//! the outlook uses the first model in [`MODELS`] that covers it, and of its curve only the ratio
//! (loss) or difference (utilisation, delay) to the measurement. A paper's rule is not a model: it
//! is a size.

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

/// A quantity with its range, as a function of the limit in bytes.
pub(crate) type Curve<'a> = Box<dyn Fn(f64) -> Result<Range, RuleError> + 'a>;

/// The curves of a model fitted to a traffic; `None` for quantities it does not cover.
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

/// A model of the response to the limit.
pub struct Model {
    /// Stable identifier in answers.
    pub id: &'static str,
    /// Display name.
    pub name: &'static str,
    /// Sources of its equations.
    pub source: &'static str,
    /// Runs with which its range was compared, and the share inside.
    pub evidence: &'static str,
    /// Fits the model to a traffic; `None` if it does not apply.
    pub(crate) fit: for<'a> fn(&'a Traffic) -> Option<Curves<'a>>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// All models, the most trusted first.
pub static MODELS: [&Model; 7] = [
    &share_of_marks::MODEL,
    &in_flight_cap::MODEL,
    &reductions::LOSS,
    &reductions::WINDOW,
    &open_loop::MODEL,
    &envelope::MODEL,
    &formula::MODEL,
];
