// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-switch` in one binary, so that the program is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod aqm;
mod bmv2_front;
mod cli;
mod common;
mod conformance;
mod credentials;
mod entities_program;
mod idle_timeout;
#[path = "common/packets.rs"]
mod packets;
mod pcap;
mod runtime_services;
mod service;
mod super_frames;
mod through_veth;
mod tidemark_program;
#[path = "common/veth.rs"]
mod veth;
