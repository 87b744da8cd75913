// SPDX-License-Identifier: Apache-2.0
//! Packets in flight, from the switch alone.
//!
//! A packet that left the queue at e is acknowledged at its sender's side of
//! the switch at e + T, with T its transmission and a base RTT, and a packet that
//! comes at t leaves at t + D with D the queueing delay of the moment. So what a
//! flow has in flight at t is what leaves in (t − T, t + D]. For a window-limited
//! flow that is its window, to the packet.

mod ceiling;
mod moments;
mod shape;

pub(crate) use ceiling::{Ceiling, ceiling};
pub(crate) use moments::moments;
pub(crate) use shape::{RECOVERY_RTTS, Shape, losses_ns, shape};
