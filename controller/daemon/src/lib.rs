// SPDX-License-Identifier: Apache-2.0
//! The Tidemark controller: estimates, advice, control, console and REST API.
//!
//! [`core`] is the state and what happens to it, [`api`] serves it over HTTP, [`store`] copies the
//! audit log to ClickHouse, [`cli`] is the command line, [`config`] the configuration file.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod api;
pub mod cli;
pub mod config;
pub mod core;
mod findings;
pub mod metrics;
mod store;
