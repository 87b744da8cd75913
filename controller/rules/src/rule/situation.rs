// SPDX-License-Identifier: Apache-2.0
//! Inputs of rules.

use super::result::Missing;
use crate::targets::{Options, Targets};
use crate::traffic::Traffic;

/// Largest limit if the options have none, in multiples of C·T̄...
const DEFAULT_LARGEST_RTTS: f64 = 4.0;
/// ...but at least this much queueing delay, s.
const DEFAULT_LARGEST_S: f64 = 1.0;

/// The measured traffic, the operator's targets and the advisor's options.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The measured traffic.
    pub traffic: &'a Traffic,
    /// The operator's targets.
    pub targets: &'a Targets,
    /// The advisor's options.
    pub options: &'a Options,
}

impl Situation<'_> {
    /// C: rate at which the queue drains, bytes/s.
    pub fn drain_bytes_per_s(&self) -> f64 {
        self.traffic.drain_bytes_per_s()
    }

    /// N_b, flows.
    pub fn n_b(&self) -> f64 {
        self.traffic.n_b.value
    }

    /// C·Tₑ, bytes.
    pub fn bdp_bytes(&self) -> f64 {
        self.drain_bytes_per_s() * self.traffic.t_e_s.value
    }

    /// The smallest limit that the options allow, bytes.
    pub fn smallest_limit_bytes(&self) -> f64 {
        self.options.min_packets.max(1.0) * self.traffic.segment_bytes
    }

    /// Returns the largest reasonable limit, bytes: as in the options, else four times C·T̄, but at
    /// least a second of queueing.
    pub fn largest_limit_bytes(&self) -> f64 {
        let rtts_s = DEFAULT_LARGEST_RTTS * self.traffic.t_mean_s.value.max(0.0);
        let default = self.drain_bytes_per_s() * rtts_s.max(DEFAULT_LARGEST_S);
        self.options.max_bytes.unwrap_or(default)
    }

    /// p̂, fraction.
    pub fn loss_bound(&self) -> Result<f64, Missing> {
        self.targets
            .loss_rate
            .ok_or(Missing::Unknown("a loss bound"))
    }

    /// d̂, s.
    pub fn delay_bound_s(&self) -> Result<f64, Missing> {
        let bound = self.targets.delay_ms.map(|ms| ms / 1e3);
        bound.ok_or(Missing::Unknown("a delay bound"))
    }
}
