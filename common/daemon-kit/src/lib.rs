// SPDX-License-Identifier: Apache-2.0
//! Common infrastructure of daemons. A program enables the features that it uses.
//!
//! | module | concept | feature |
//! |---|---|---|
//! | [`cli`] | examples in the help, completions, errors, progress, logging, output | `cli` |
//! | [`credentials`] | TLS and tokens of servers and clients, limits of an HTTP server | `credentials` |
//! | [`doctor`] | findings of the `doctor` commands | |
//! | [`metrics`] | metrics declared once: field, name, help text, documentation | |
//! | `metrics::encode`, `metrics::exposition` | declared metrics for Prometheus; `/metrics` | `prometheus` |
//! | [`notify`] | messages to the service manager, termination signals | `notify` |
//! | [`privileges`] | drops capabilities and changes the user after the start | `privileges` |
//! | [`version`](mod@version) | version and commit of a program | `cli` |

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
