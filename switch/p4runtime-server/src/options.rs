// SPDX-License-Identifier: Apache-2.0
//! Options of a server.

/// How a server presents itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// Device id that requests must name.
    pub device_id: u64,
    /// Clients at a time, and roles ever.
    pub max_streams: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device_id: 1,
            max_streams: 64,
        }
    }
}
