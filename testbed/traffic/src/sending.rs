// SPDX-License-Identifier: Apache-2.0
//! Common parts of the senders of every transport.

use std::time::Duration;

use tokio::sync::watch;

/// Payload, sent repeatedly.
pub(crate) static PAYLOAD: [u8; 64 * 1024] = [0x54; 64 * 1024];

/// How long the receiver may take to close after the end of the data.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Later than the end of any run; sums with it are still valid times.
const FAR_S: f64 = 1e9;

/// Converts the seconds of a spec or of a draw, bounded to a valid duration.
pub(crate) fn span(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, FAR_S))
}

/// Becomes true when the run ends.
pub(crate) type Stop = watch::Receiver<bool>;
