// SPDX-License-Identifier: Apache-2.0
//! Embedded switch: runs a compiled v1model program on Linux interfaces.
//!
//! * [`bmv2`]: p4c's JSON, compiled to an indexed program.
//! * [`engine`]: that program on one packet.
//! * [`tm`]: queues, rates, delays and the order of events, in logical time.
//! * [`io`]: packet sockets and the real-time loop.
//! * [`offline`]: captures through the switch in virtual time.
//! * [`target`], [`control`]: P4Runtime and port control on top.

pub mod bmv2;
pub mod cli;
pub mod client;
pub mod control;
pub mod engine;
pub mod io;
pub mod metrics;
pub mod offline;
pub mod run;
pub mod stf;
pub mod target;
pub mod tm;
pub mod units;
