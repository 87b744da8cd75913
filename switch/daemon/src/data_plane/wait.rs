// SPDX-License-Identifier: Apache-2.0
//! How the data-plane thread waits.

use std::os::fd::AsFd as _;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;

use super::Plane;

/// Events nearer than this are awaited by spinning.
const SPIN_NS: u64 = 20_000;

/// Rests shorter than this cost more than they save.
const SHORTEST_REST_NS: u64 = 5_000;

impl Plane {
    /// After a pass that began at `began_ns` and did some work, rests until the next may begin.
    /// Returns `false` if it may begin now.
    pub(super) fn rest(&mut self, began_ns: u64) -> bool {
        let until = self.moderation.next_pass_ns(began_ns);
        let left = until.saturating_sub(self.clock.now_ns());
        if left < SHORTEST_REST_NS {
            return false;
        }
        std::thread::sleep(Duration::from_nanos(left));
        true
    }

    /// Waits for a frame, a command, or the next event.
    pub(super) fn sleep(&mut self, wake: &EventFd) {
        let timeout = match self.switch.next_event_ns() {
            Some(at) => {
                let left = at.saturating_sub(self.clock.now_ns());
                if left < SPIN_NS {
                    std::hint::spin_loop();
                    return;
                }
                Some(left - SPIN_NS / 2)
            }
            None => None,
        };
        let mut fds = Vec::with_capacity(self.io.interfaces.len() + 1);
        fds.push(PollFd::new(wake.as_fd(), PollFlags::POLLIN));
        let ports = self.io.interfaces.values();
        fds.extend(ports.map(|i| PollFd::new(i.fd(), PollFlags::POLLIN)));
        let timeout = timeout.map(|ns| Duration::from_nanos(ns).into());
        if ppoll(&mut fds, timeout, None).unwrap_or(0) <= 0 {
            return;
        }
        if fds.first().is_some_and(|f| f.any() != Some(false)) {
            let _ = wake.read();
        }
        let broken = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        for (f, i) in fds.iter().skip(1).zip(self.io.interfaces.values()) {
            if f.revents().is_some_and(|r| r.intersects(broken))
                && let Some(e) = i.take_error()
            {
                tracing::warn!(interface = i.name, "{e}");
            }
        }
    }
}
