// SPDX-License-Identifier: Apache-2.0
//! Server-sent events.

use crate::{Link, LinkSummary, Phase};
use serde::{Deserialize, Serialize};
use tidemark_control::Change;

/// Data of the event `update`: every link, once a second, or the one link that the listener asked
/// for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Update {
    /// Time of the update, Unix time.
    pub unix_ms: u64,
    /// The links by node and port, with their advice but without its rules.
    pub links: Vec<Link>,
    /// Every link in brief; left out unless the listener asked for one link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<LinkSummary>,
}

/// Data of the event `collector`: a connection was established or lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CollectorEvent {
    /// Address in the configuration.
    pub address: String,
    /// Whether the controller is subscribed now.
    pub connected: bool,
    /// Why it is not subscribed.
    pub problem: Option<String>,
}

/// An event of `GET /events`: its name, and its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "lowercase")]
pub enum Event {
    /// Every link, once a second.
    Update(Update),
    /// A limit was set, refused, judged or rolled back.
    Change(Box<Change>),
    /// A phase started, ended or completed; without estimates.
    Phase(Box<Phase>),
    /// A connection to a collector was established or lost.
    Collector(CollectorEvent),
}
