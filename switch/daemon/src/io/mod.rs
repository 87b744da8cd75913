// SPDX-License-Identifier: Apache-2.0
//! Linux interfaces and network namespaces.

pub mod afpacket;
pub mod netns;
