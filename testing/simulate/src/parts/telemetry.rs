// SPDX-License-Identifier: Apache-2.0
//! The controller's subscription to the collector.

use super::subscriber::Subscriber;

/// State of the subscription.
#[derive(Default)]
pub(crate) struct Telemetry {
    pub receiver: Option<Subscriber>,
    pub session: u64,
    /// Time of the last message, ns.
    pub passed_ns: u64,
    /// Time of the last news of packets at the bottleneck, ns.
    pub heard_ns: u64,
}
