// SPDX-License-Identifier: Apache-2.0
//! Packets in flight, from the switch's reports alone.
//!
//! The acknowledgement of a packet that left the queue at e passes the switch on its sender's side
//! at e + T, where T is the transmission time plus the base RTT; a packet that arrives at t leaves
//! at t + D, where D is the current queueing delay. So the packets a flow has in flight at t are
//! those that leave in (t − T, t + D]. For a window-limited flow that is exactly its window.

mod ceiling;
mod moments;
mod shape;

pub(crate) use ceiling::{Ceiling, ceiling};
pub(crate) use moments::moments;
pub(crate) use shape::{RECOVERY_RTTS, Shape, losses_ns, shape};
