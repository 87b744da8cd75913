// SPDX-License-Identifier: Apache-2.0
//! TCP, QUIC and UDP traffic whose truth is known: locally bottlenecked (LBP), remotely
//! bottlenecked (RBP) and window-limited (WL) flows, short transfers from a Poisson process or from
//! users who think between transfers, and UDP flows that do not react to losses.
//!
//! A [`spec::Spec`] describes the traffic; [`run::run`] runs it on one thread and returns a
//! [`truth::Truth`]: each flow's class, its start and end, and how many bytes were acknowledged.
//! The order and size of the short flows depend only on the seed.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]
#![warn(missing_docs)]

pub mod cli;
mod clock;
mod closed_loop;
mod counters;
pub mod datagrams;
mod examples;
pub mod flow;
mod netns;
mod poisson;
pub mod quic;
mod receiver;
pub mod run;
mod sending;
pub mod socket;
pub mod spec;
pub mod truth;
