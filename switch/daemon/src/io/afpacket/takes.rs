// SPDX-License-Identifier: Apache-2.0
//! What the device of an interface can cut.

use traffic_manager::super_frame::Transport;

/// Of which transports an interface takes super-frames, as far as is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Takes {
    tcp: bool,
    udp: bool,
}

impl Takes {
    pub(super) const ALL: Self = Self {
        tcp: true,
        udp: true,
    };

    pub(super) fn of(&mut self, transport: Transport) -> &mut bool {
        match transport {
            Transport::Tcp => &mut self.tcp,
            Transport::Udp => &mut self.udp,
        }
    }
}
