// SPDX-License-Identifier: Apache-2.0
//! Flows, each with its link.

use serde::{Deserialize, Serialize};
use tidemark_estimators::FlowEstimate;

/// One flow with its link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LinkFlow {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// The flow.
    #[serde(flatten)]
    pub flow: FlowEstimate,
}

/// The flows of one link or of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Flows {
    /// The flows, the largest rates of each link first. If there are more than were asked for, the
    /// bottlenecked ones are kept first and short ones last.
    pub flows: Vec<LinkFlow>,
    /// Number of flows, listed or not.
    pub total: u64,
    /// Offset of the next page; null on the last page.
    #[serde(default)]
    pub next_offset: Option<usize>,
}
