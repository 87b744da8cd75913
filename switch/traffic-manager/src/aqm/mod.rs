// SPDX-License-Identifier: Apache-2.0
//! Active queue management: drops or marks packets before a queue is full, so that senders
//! slow down earlier. Time is an argument, in ns, and random numbers come from a seed, so that
//! the same packets at the same times meet the same fate in every run.

mod codel;
mod config;
mod flow_queues;
mod managed;
mod packet;
mod pie;
mod red;

pub use codel::CoDelConfig;
pub use config::AqmConfig;
pub use flow_queues::FlowQueuesConfig;
pub use pie::PieConfig;
pub use red::RedConfig;

pub use managed::AqmCounts;
pub(crate) use managed::PortAqm;
pub(crate) use packet::Verdict;
