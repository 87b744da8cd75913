// SPDX-License-Identifier: Apache-2.0
//! One configuration type for all algorithms.

use super::codel::CoDelConfig;
use super::flow_queues::FlowQueuesConfig;
use super::pie::PieConfig;
use super::red::RedConfig;

/// Queue management algorithm of one queue and its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AqmConfig {
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay (CoDel).
    CoDel(CoDelConfig),
    /// Proportional integral controller enhanced (PIE).
    Pie(PieConfig),
    /// A queue for each flow: deficit round robin, or FQ-CoDel.
    FlowQueues(FlowQueuesConfig),
}

impl AqmConfig {
    /// # Errors
    /// A value with which the algorithm cannot work; the error says how to change it.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Red(c) => c.check(),
            Self::CoDel(c) => c.check(),
            Self::Pie(c) => c.check(),
            Self::FlowQueues(c) => c.check(),
        }
    }

    /// Returns whether ECN-capable packets are marked instead of dropped.
    pub(crate) fn ecn(&self) -> bool {
        match self {
            Self::Red(c) => c.ecn,
            Self::CoDel(c) => c.ecn,
            Self::Pie(c) => c.ecn,
            Self::FlowQueues(c) => c.codel.is_some_and(|codel| codel.ecn),
        }
    }
}
