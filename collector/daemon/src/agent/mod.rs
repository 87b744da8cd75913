// SPDX-License-Identifier: Apache-2.0
//! Samples of other hosts: the agent that runs there, and the service that takes its batches.
//!
//! The agent numbers its batches and keeps them until they are acknowledged. Once its buffer is
//! full, new events are dropped and counted. The service takes each batch number once.

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
