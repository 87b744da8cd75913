// SPDX-License-Identifier: Apache-2.0
//! The signals that ask a program to end.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Bit of SIGHUP in the signal masks of `/proc/self/status`.
const SIGHUP: u64 = 1;

/// Listens to SIGINT, SIGTERM and SIGHUP, so that closing a terminal also ends its programs
/// properly. A program started with SIGHUP ignored (`nohup`) outlives its terminal.
#[derive(Debug)]
pub struct Stop {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl Stop {
    /// Starts listening; from now on these signals no longer end the program by themselves.
    ///
    /// # Errors
    /// The operating system's error, with the signal's name. Needs a tokio runtime with
    /// I/O enabled.
    pub fn listen() -> io::Result<Self> {
        let named = |name: &'static str, kind| {
            signal(kind).map_err(|e| io::Error::new(e.kind(), format!("{name}: {e}")))
        };
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = if is_ignored(&status, SIGHUP) {
            None
        } else {
            Some(named("SIGHUP", SignalKind::hangup())?)
        };
        Ok(Self {
            interrupt: named("SIGINT", SignalKind::interrupt())?,
            terminate: named("SIGTERM", SignalKind::terminate())?,
            hangup,
        })
    }

    /// Waits for the first of these signals; returns its name.
    pub async fn asked(&mut self) -> &'static str {
        let hangup = async {
            match &mut self.hangup {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
            _ = hangup => "SIGHUP",
        }
    }
}

/// Returns whether a signal is ignored, according to the text of `/proc/PID/status`.
fn is_ignored(status: &str, bit: u64) -> bool {
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
    mask.is_some_and(|m| m & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_mask() {
        assert!(is_ignored("Name:\tx\nSigIgn:\t0000000000001001\n", SIGHUP));
        assert!(!is_ignored("Name:\tx\nSigIgn:\t0000000000001000\n", SIGHUP));
        assert!(!is_ignored("", SIGHUP));
    }
}
