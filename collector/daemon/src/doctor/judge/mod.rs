// SPDX-License-Identifier: Apache-2.0
//! Turns facts into findings. No I/O: the caller passes the facts.

mod capabilities;
mod clocks;
mod machine;
mod offloads;
mod reports;

pub(super) use capabilities::{Need, capabilities};
pub(super) use clocks::{WallClock, clocks, wall_clock};
pub(super) use machine::{address, kernel, receive_buffer, space};
pub(super) use offloads::{Offloads, offloads, receive_path};
pub(super) use reports::{Heard, reports, running};
