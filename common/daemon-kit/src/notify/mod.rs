// SPDX-License-Identifier: Apache-2.0
//! Messages between a program and the service manager. The program reports (`sd_notify(3)`) that
//! it is ready, alive or stopping; without $NOTIFY_SOCKET nothing is sent. Signals ([`Stop`]) ask
//! the program to end, within a time limit ([`Deadline`]).

mod deadline;
mod stop;

pub use deadline::Deadline;
pub use stop::Stop;

use sd_notify::NotifyState;
use std::time::Duration;

/// Reports that everything is open and serving; `systemctl status` shows `status`.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Reports that the program is ending, by itself or on request.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Reports that the program is working. If called less often than [`watchdog_period`], the
/// service manager restarts the program.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// Returns how often to call [`alive`]: twice within the time that the unit allows
/// (`WatchdogSec`); `None` if the unit sets no limit.
pub fn watchdog_period() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|allowed| allowed / 2)
}

/// Sends states; if that fails, the program runs on.
fn tell(state: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(state) {
        tracing::warn!("NOTIFY_SOCKET: the service manager cannot be told: {e}");
    }
}
