// SPDX-License-Identifier: Apache-2.0
//! An end that comes in time, also where a disk or a server hangs.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Ends the process when it has not ended by itself; dropped, it does nothing.
#[derive(Debug)]
pub struct Deadline {
    _ended: Sender<()>,
}

impl Deadline {
    /// How long an end may take in all: below the 5 s that are promised.
    pub const END: Duration = Duration::from_millis(4_700);

    /// Waits from now on, for `most`; `left` says in the log what is lost then.
    ///
    /// # Errors
    /// There is no thread to wait.
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
