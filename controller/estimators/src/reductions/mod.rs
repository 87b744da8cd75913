// SPDX-License-Identifier: Apache-2.0
//! Significant rate reductions of a flow and where they come from (BSCL §VI).

mod attribution;
mod level;
mod passive;
mod probed;

pub(crate) use attribution::{Reduction, rtt_ns};
pub(crate) use passive::{episodes, passive, typical_rtt_ns};
pub(crate) use probed::{SSTHRESH_UNSET, probed};
