// SPDX-License-Identifier: Apache-2.0
//! The subscription of the controller.

use super::subscriber::Subscriber;

/// The subscription.
#[derive(Default)]
pub(crate) struct Telemetry {
    pub receiver: Option<Subscriber>,
    pub session: u64,
    /// When something passed last, ns.
    pub passed_ns: u64,
    /// When the controller heard last of packets at the bottleneck, ns.
    pub heard_ns: u64,
}
