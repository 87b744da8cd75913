// SPDX-License-Identifier: Apache-2.0
//! How the data-plane thread waits.

use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::sys::eventfd::EventFd;

use super::Plane;

/// An event this near is awaited by spinning.
const SPIN_NS: u64 = 20_000;

/// A rest shorter than this costs more than it gives.
const SHORTEST_REST_NS: u64 = 5_000;

impl Plane {
    /// Rests after a pass that began at `began_ns` and did something, until the next may
    /// begin. False: it may begin now.
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
        let mut fds: Vec<libc::pollfd> = Vec::with_capacity(self.io.interfaces.len() + 1);
        fds.push(pollfd(wake.as_raw_fd()));
        fds.extend(self.io.interfaces.values().map(|i| pollfd(i.fd())));
        let spec = timeout.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        });
        // SAFETY: fds and spec outlive the call; no signal mask.
        let n = unsafe {
            libc::ppoll(
                fds.as_mut_ptr(),
                fds.len() as libc::nfds_t,
                spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                std::ptr::null(),
            )
        };
        if n <= 0 {
            return;
        }
        if fds.first().is_some_and(|f| f.revents != 0) {
            let _ = wake.read();
        }
        for (f, i) in fds.iter().skip(1).zip(self.io.interfaces.values()) {
            if f.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0
                && let Some(e) = i.take_error()
            {
                tracing::warn!(interface = i.name, "{e}");
            }
        }
    }
}

fn pollfd(fd: i32) -> libc::pollfd {
    libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    }
}
