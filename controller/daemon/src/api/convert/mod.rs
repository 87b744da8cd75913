// SPDX-License-Identifier: Apache-2.0
//! Converts the controller's types to those of its REST interface, if they differ.
//!
//! A domain type is destructured completely, so that a field that is added there and forgotten here
//! does not compile.

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
