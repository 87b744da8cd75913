// SPDX-License-Identifier: Apache-2.0
//! QUIC by `quinn`: a flow is a connection of its own, from a socket of its own, with one stream.
//!
//! When the sender ends its stream or resets it, the receiver answers on the way back with the
//! number of payload bytes that it had read: that is a flow's goodput.

mod config;
mod receiver;
mod sender;
mod state;

pub use config::CONGESTION_CONTROLS;
pub(crate) use config::listening;
pub(crate) use receiver::serve;
pub(crate) use sender::run;
pub use state::QuicState;
