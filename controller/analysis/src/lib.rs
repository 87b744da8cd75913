// SPDX-License-Identifier: Apache-2.0
//! Reads a recorded run again with the code that estimated it live: its phases, and the estimates,
//! the advice and the verdict of each link. Shared by command line, console and Python package.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod links;
mod loaded;
mod marks;
mod span;

pub use error::AnalysisError;
pub use links::{Estimated, Link, Which, estimated};
pub use loaded::{Loaded, load, missing};
pub use marks::{Mark, marks_of_run, name_of_part, targets_of_run};
pub use span::{Asked, LinkSpan, Part, Spans, parts_of, span_of};
