// SPDX-License-Identifier: Apache-2.0
//! Messages between a program and its starter. The program tells the service manager
//! (`sd_notify(3)`) that it is ready, that it is alive, that it stops; without one ($NOTIFY_SOCKET)
//! nothing is told. And it is asked to end, by signals ([`Stop`]), within a time ([`Deadline`]).

mod deadline;
mod stop;

pub use deadline::Deadline;
pub use stop::Stop;

use sd_notify::NotifyState;
use std::time::Duration;

/// Everything is open and serves; `status` is shown by `systemctl status`.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// It ends, of itself or because it was told to.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// It does what it is there for. Told less often than [`watchdog_period`], the service
/// manager ends the program and starts it again.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// How often to tell that it is alive: twice within the time that the unit allows
/// (`WatchdogSec`); `None` where the unit allows any.
pub fn watchdog_period() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|allowed| allowed / 2)
}

/// A program runs on where nobody can be told.
fn tell(state: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(state) {
        tracing::warn!("NOTIFY_SOCKET: the service manager cannot be told: {e}");
    }
}
