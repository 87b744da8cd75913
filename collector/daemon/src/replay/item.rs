// SPDX-License-Identifier: Apache-2.0
//! One thing to send.

use tcp_probe::Event;

/// What is sent next, and when it was recorded.
pub(super) enum Item {
    Datagram { time_ns: u64, payload: Vec<u8> },
    Event { time_ns: u64, event: Event },
}
