// SPDX-License-Identifier: Apache-2.0
//! Embedded switch: runs a compiled v1model program on Linux interfaces.
//!
//! * [`data_plane`]: the thread that moves frames in real time.
//! * [`io`]: packet sockets.
//! * [`offline`]: runs captures through the switch in virtual time.
//! * [`stf`]: p4c's packet tests.
//! * [`conformance`]: comparison with BMv2.
//! * [`tagging`]: tags on outgoing reports.
//! * [`p4runtime`], [`control`]: P4Runtime and port control on top.
//! * [`thrift`]: BMv2's runtime services for the same device.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]
#![warn(missing_docs)]

mod bmv2;
pub mod cli;
mod client;
mod conformance;
mod control;
pub mod data_plane;
mod entries;
pub mod io;
pub mod metrics;
pub mod offline;
pub mod p4runtime;
mod program;
mod run;
mod stf;
pub mod tagging;
mod thrift;
mod units;
