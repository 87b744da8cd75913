// SPDX-License-Identifier: Apache-2.0
//! QUIC by `quinn`: each flow has its own connection and socket, with one stream.
//!
//! When the sender ends or resets its stream, the receiver replies with the number of payload bytes
//! that it had read: the flow's goodput.

mod config;
mod receiver;
mod sender;
mod state;

pub use config::CONGESTION_CONTROLS;
pub(crate) use config::listening;
pub(crate) use receiver::serve;
pub(crate) use sender::run;
pub use state::QuicState;
