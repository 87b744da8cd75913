// SPDX-License-Identifier: Apache-2.0
//! An end that comes in time, also where a disk or a server hangs.

use anyhow::{Context, Result};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Ends the process when it has not ended by itself; dropped, it does nothing.
pub(crate) struct Deadline {
    _ended: Sender<()>,
}

impl Deadline {
    /// Waits from now on.
    ///
    /// # Errors
    /// There is no thread to wait.
    pub(crate) fn start(most: Duration) -> Result<Self> {
        let (ended, wait) = channel();
        std::thread::Builder::new()
            .name("deadline".into())
            .spawn(move || {
                if wait.recv_timeout(most) == Err(RecvTimeoutError::Timeout) {
                    tracing::error!(
                        "not ended within {most:?}: rows that are not on the disk yet are lost, \
                         and the capture is not closed; batches in the spool wait for the next start"
                    );
                    std::process::exit(1);
                }
            })
            .context("cannot start thread deadline")?;
        Ok(Self { _ended: ended })
    }
}
