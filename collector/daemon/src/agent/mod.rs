// SPDX-License-Identifier: Apache-2.0
//! tcp_probe of other hosts: an agent there, its service here.
//!
//! The agent numbers its batches and keeps them until they are acknowledged, up
//! to a bound beyond which new ones are lost and counted. The service takes
//! every number once.

mod agents;
mod args;
mod buffer;
mod client;
mod convert;
mod file;
mod options;
mod pusher;
mod service;

pub use agents::{AgentStatus, Agents};
pub(crate) use args::{AgentArgs, run_args};
pub use buffer::AgentReport;
pub use client::run;
pub use convert::{event_of, message_of};
pub use options::AgentOptions;
pub use pusher::Pusher;
pub use service::AgentService;
