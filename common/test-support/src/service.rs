// SPDX-License-Identifier: Apache-2.0
//! A service manager for tests: its socket, and the environment of its services.

use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Longest time that a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval of checks whether a program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Receives the messages of programs.
pub struct ServiceManager {
    directory: tempfile::TempDir,
    socket: UnixDatagram,
}

impl ServiceManager {
    /// Starts listening.
    ///
    /// # Errors
    /// The socket cannot be created.
    pub fn new() -> std::io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let socket = UnixDatagram::bind(directory.path().join("notify"))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { directory, socket })
    }

    /// Sets the environment of a unit with `Type=notify` and this `WatchdogSec`.
    pub fn environment(&self, command: &mut Command, watchdog: Duration) {
        command
            .env("NOTIFY_SOCKET", self.directory.path().join("notify"))
            .env("WATCHDOG_USEC", watchdog.as_micros().to_string())
            .env_remove("WATCHDOG_PID");
    }

    /// Returns the lines of the next message.
    ///
    /// # Errors
    /// No message arrived within a minute.
    pub fn next(&self) -> std::io::Result<Vec<String>> {
        let mut datagram = [0; 4096];
        let length = self.socket.recv(&mut datagram)?;
        let text = String::from_utf8_lossy(datagram.get(..length).unwrap_or_default());
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Waits for a message with this line.
    ///
    /// # Errors
    /// Same as [`ServiceManager::next`].
    pub fn wait_for(&self, line: &str) -> std::io::Result<Vec<String>> {
        loop {
            let message = self.next()?;
            if message.iter().any(|l| l == line) {
                return Ok(message);
            }
        }
    }
}

/// A program that runs as the only service of a test service manager.
pub struct Service {
    manager: ServiceManager,
    child: Child,
}

impl Service {
    /// Starts the program and waits until it reports that it is ready, with a status.
    ///
    /// # Errors
    /// The program cannot be started, or does not report within a minute that it is ready.
    pub fn start(program: &str, arguments: &[&str]) -> std::io::Result<Self> {
        Self::start_with(program, arguments, &[])
    }

    /// Like [`Self::start`], with these options for `env`.
    ///
    /// # Errors
    /// Same as [`Self::start`].
    pub fn start_with(
        program: &str,
        arguments: &[&str],
        options: &[&str],
    ) -> std::io::Result<Self> {
        let manager = ServiceManager::new()?;
        let mut command = Command::new("env");
        // The test runner may have SIGHUP ignored.
        command
            .arg("--default-signal=HUP")
            .args(options)
            .arg(program)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        manager.environment(&mut command, Duration::from_secs(2));
        let child = command.spawn()?;
        let service = Self { manager, child };
        let ready = service.manager.wait_for("READY=1")?;
        if ready.iter().any(|l| l.starts_with("STATUS=")) {
            Ok(service)
        } else {
            Err(std::io::Error::other(format!("no status: {ready:?}")))
        }
    }

    /// Waits until the program has reported a few times that it is alive.
    ///
    /// # Errors
    /// The program does not report for a minute.
    pub fn works_on(&self) -> std::io::Result<()> {
        for _ in 0..3 {
            self.manager.wait_for("WATCHDOG=1")?;
        }
        Ok(())
    }

    /// Sends the program a signal by its short name, such as `TERM`.
    ///
    /// # Errors
    /// `kill` failed.
    pub fn send(&self, signal: &str) -> std::io::Result<()> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status()?;
        if sent.success() {
            Ok(())
        } else {
            Err(std::io::Error::other(format!("kill -s {signal}: {sent}")))
        }
    }

    /// Waits until the program has reported that it is stopping, and has ended.
    ///
    /// # Errors
    /// The program does not end within a minute.
    pub fn stops(&mut self) -> std::io::Result<ExitStatus> {
        self.manager.wait_for("STOPPING=1")?;
        for _ in 0..PATIENCE.as_millis() / LOOK_EVERY.as_millis() {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(std::io::Error::other("it says that it stops, and runs on"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the commit from `--version` of a program: `abc1234`, or `unknown commit`.
///
/// # Errors
/// The output has another form.
pub fn commit_of(program: &str, name: &str, version: &str) -> std::io::Result<String> {
    let out = Command::new(program).arg("--version").output()?;
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let commit = said
        .trim()
        .strip_prefix(&format!("{name} {version} ("))
        .and_then(|rest| rest.strip_suffix(')'))
        .filter(|c| {
            let is_commit = c.len() >= 7 && c.bytes().all(|b| b.is_ascii_hexdigit());
            is_commit || *c == "unknown commit"
        });
    commit
        .map(str::to_owned)
        .ok_or_else(|| std::io::Error::other(said.clone()))
}
