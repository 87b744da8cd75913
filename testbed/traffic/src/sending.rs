// SPDX-License-Identifier: Apache-2.0
//! Shared by the senders of every transport.

use std::time::Duration;

use tokio::sync::watch;

/// Written over and over.
pub(crate) static PAYLOAD: [u8; 64 * 1024] = [0x54; 64 * 1024];

/// After the end of the data: how long the receiver may take to close.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Later than the end of any run: sums with it are times still.
const FAR_S: f64 = 1e9;

/// Seconds of a spec or of a draw as a time, whatever they are.
pub(crate) fn span(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, FAR_S))
}

/// Becomes true when the run ends.
pub(crate) type Stop = watch::Receiver<bool>;
