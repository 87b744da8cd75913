// SPDX-License-Identifier: Apache-2.0
//! A service manager for tests: its socket, and the environment of what it starts.

use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

/// Nothing that a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Receives what programs tell.
pub struct ServiceManager {
    directory: tempfile::TempDir,
    socket: UnixDatagram,
}

impl ServiceManager {
    /// One that listens.
    ///
    /// # Errors
    /// A socket that cannot be made.
    pub fn new() -> std::io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let socket = UnixDatagram::bind(directory.path().join("notify"))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { directory, socket })
    }

    /// The environment of a unit with `Type=notify` and this `WatchdogSec`.
    pub fn environment(&self, command: &mut Command, watchdog: Duration) {
        command
            .env("NOTIFY_SOCKET", self.directory.path().join("notify"))
            .env("WATCHDOG_USEC", watchdog.as_micros().to_string())
            .env_remove("WATCHDOG_PID");
    }

    /// The lines of the next message.
    ///
    /// # Errors
    /// None came within a minute.
    pub fn next(&self) -> std::io::Result<Vec<String>> {
        let mut datagram = [0; 4096];
        let length = self.socket.recv(&mut datagram)?;
        let text = String::from_utf8_lossy(datagram.get(..length).unwrap_or_default());
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Waits for a message with this line.
    ///
    /// # Errors
    /// As [`ServiceManager::next`].
    pub fn wait_for(&self, line: &str) -> std::io::Result<Vec<String>> {
        loop {
            let message = self.next()?;
            if message.iter().any(|l| l == line) {
                return Ok(message);
            }
        }
    }
}
