// SPDX-License-Identifier: Apache-2.0
//! Super-frames: packets of up to 64 KiB of one flow behind one header, which Linux hosts with
//! segmentation offload exchange with their devices.
//!
//! [`Cutter`] makes the segments that the kernel would have sent on a wire, [`Run`] finds
//! segments that can go to a host as one super-frame, and [`VnetHeader`] is the kernel's
//! description of such a frame. No I/O, no clocks, no unsafe code.
//!
//! A super-frame that cannot be cut as the kernel cuts it is refused with its [`Refusal`].

mod checksum;
mod cut;
mod headers;
mod merge;
mod vnet;

pub use checksum::{complete, fit_udp};
pub use cut::{Cutter, Refusal};
pub use headers::{Headers, Network, Transport};
pub use merge::{MAX_SEGMENTS, Run};
pub use vnet::{Gso, VnetHeader};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("README.md")]
struct Readme;
