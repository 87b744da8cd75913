// SPDX-License-Identifier: Apache-2.0
//! Everything that a daemon needs around its work. A program takes the features that it uses.
//!
//! | module | concept | feature |
//! |---|---|---|
//! | [`cli`] | examples in the help, completions, errors, progress, the log, printing | `cli` |
//! | [`credentials`] | TLS and tokens of servers and clients, limits of an HTTP server | `credentials` |
//! | [`doctor`] | findings of the `doctor` commands | |
//! | [`metrics`] | metrics declared once: field, name, help text, row in the documents | |
//! | `metrics::encode`, `metrics::exposition` | declared metrics as Prometheus reads them; `/metrics` | `prometheus` |
//! | [`notify`] | the service manager, signals to end | `notify` |
//! | [`privileges`] | capabilities and users given up after the start | `privileges` |
//! | [`version`](mod@version) | the version of a program with its commit | `cli` |

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "credentials")]
pub mod credentials;
pub mod doctor;
pub mod metrics;
#[cfg(feature = "notify")]
pub mod notify;
#[cfg(feature = "privileges")]
pub mod privileges;
#[cfg(feature = "cli")]
pub mod version;
