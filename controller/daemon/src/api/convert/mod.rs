// SPDX-License-Identifier: Apache-2.0
//! From what the controller knows to the answers of its REST interface, where
//! they have another shape.
//!
//! A domain type is taken apart completely, so that a field that is added there
//! and forgotten here does not compile.

mod history;
mod link;
mod phase;
mod status;
mod telemetry;

pub use history::{estimates, windows};
pub use link::{link, summary};
pub use phase::phase;
pub use status::status;
pub use telemetry::series;
