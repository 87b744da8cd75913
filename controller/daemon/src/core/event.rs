// SPDX-License-Identifier: Apache-2.0
//! Events sent to the listeners.

use super::phases::Phase;
use tidemark_control::Change;

/// Something that happened. Listeners read what else they need from [`Core`].
#[derive(Clone, Debug)]
pub enum Event {
    /// Every link was estimated again.
    Estimated {
        /// When, Unix ms.
        unix_ms: u64,
    },
    /// A limit was set, refused, judged or rolled back.
    Changed(Box<Change>),
    /// A phase started, ended or completed.
    Phase(Box<Phase>),
    /// The connection to a collector was established or lost.
    Collector {
        /// gRPC address of the collector, as configured.
        address: String,
        /// Whether it was established.
        connected: bool,
        /// Why it was lost.
        problem: Option<String>,
    },
}
