// SPDX-License-Identifier: Apache-2.0
//! The subscription of the controller.

use tidemark_collector::hub::Receiver;

/// The subscription.
#[derive(Default)]
pub(crate) struct Telemetry {
    pub receiver: Option<Receiver>,
    pub session: u64,
    /// When something passed last, ns.
    pub passed_ns: u64,
}
