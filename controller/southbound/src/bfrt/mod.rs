// SPDX-License-Identifier: Apache-2.0
//! The BFRT driver, for Tofino's own switch daemon.
//!
//! * [`info`]: ids by name out of what p4c writes as `bfrt.json`;
//! * [`client`]: connection, subscription, calls and their errors;
//! * [`entries`]: the Tidemark program's tables and the device's fixed ones;
//! * [`driver`]: the [`crate::Southbound`] of it all.
//!
//! It is tested against a server of ours that checks every message. **It has
//! never run on hardware.**
//!
//! The client is ours, not the crate `rbfrt`: that one panics on answers it does
//! not expect, cannot address one pipe (the traffic manager's tables need it),
//! and has no limit of time on its calls.

pub mod client;
pub mod driver;
pub mod entries;
pub mod info;

pub use client::Options;
pub use driver::Bfrt;
pub use entries::Queue;
