// SPDX-License-Identifier: Apache-2.0
//! The controller's REST interface as types.
//!
//! Every request, answer and server-sent event is a struct here. For a link's traffic, advice and
//! limits, an answer uses the types of the estimators, the rules and the loop; a type is defined
//! here only if its shape on the wire differs. [`operations`] lists every operation with the types
//! that it takes and returns. The daemon's router, the command line and the OpenAPI document
//! (`contract/openapi/tidemark-1.json`, written by `make codegen`) are all made from that list. The
//! console's TypeScript types are generated from the document.
//!
//! Conventions of the names:
//! * `_ns` is a time on the switch's clock of that node, which is the time axis of its reports;
//!   `_s` with the same name counts from the first interval that the collector had of the link
//!   (`capture_start_ns`); `_unix_ms` is Unix time.
//! * `_bytes` are bytes as the queue counts them; `_bps` is bits/s.
//! * Rates, shares and utilisations are fractions, 0 to 1.
//! * An optional field of an answer is `null` if nothing is known. Only the fields documented as
//!   left out are absent.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod advice;
mod change;
mod error;
mod event;
mod flow;
mod inspection;
mod link;
pub mod openapi;
mod operation;
pub mod operations;
mod phase;
mod request;
mod status;
mod targets;
mod telemetry;

pub use advice::*;
pub use change::*;
pub use error::*;
pub use event::*;
pub use flow::*;
pub use inspection::*;
pub use link::*;
pub use operation::*;
pub use phase::*;
pub use request::*;
pub use status::*;
pub use targets::*;
pub use telemetry::*;
