// SPDX-License-Identifier: Apache-2.0
//! Linux interfaces and the real-time loop.

pub mod afpacket;
pub mod checksum;
pub mod netns;
