// SPDX-License-Identifier: Apache-2.0
//! TCP and QUIC traffic whose truth is known: locally bottlenecked (LBP), remotely
//! bottlenecked (RBP), window-limited (WL) flows, transfers that come as a Poisson process
//! or from users who think between them, and UDP flows that react to nothing.
//!
//! A [`spec::Spec`] says what to run; [`run::run`] runs it on one thread and
//! returns a [`truth::Truth`]: which flow was what, from when to when, and how
//! many bytes were acknowledged. The order and size of the short flows depend
//! on the seed alone.

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
