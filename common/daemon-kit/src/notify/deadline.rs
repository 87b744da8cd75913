// SPDX-License-Identifier: Apache-2.0
//! Makes a program end in time even if a disk or a server hangs.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Ends the process unless it ends by itself in time; dropping it cancels it.
#[derive(Debug)]
pub struct Deadline {
    _ended: Sender<()>,
}

impl Deadline {
    /// Longest time that an end may take: below the promised 5 s.
    pub const END: Duration = Duration::from_millis(4_700);

    /// Starts a deadline of `most` from now; `left` says in the log what is then lost.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(most: Duration, left: &'static str) -> io::Result<Self> {
        let (ended, wait) = channel();
        std::thread::Builder::new()
            .name("deadline".into())
            .spawn(move || {
                if wait.recv_timeout(most) == Err(RecvTimeoutError::Timeout) {
                    tracing::error!("not ended within {most:?}: {left}");
                    std::process::exit(1);
                }
            })?;
        Ok(Self { _ended: ended })
    }
}
