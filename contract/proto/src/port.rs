// SPDX-License-Identifier: Apache-2.0
//! The number of an egress port, where it is known.

use std::fmt;

/// Stands for the egress port of a packet whose report does not tell it; no port has
/// this number, which on the wire says "not available".
pub const UNKNOWN_PORT: u32 = u32::MAX;

/// The port; `None` where it is not known.
#[must_use]
pub fn known_port(port: u32) -> Option<u32> {
    (port != UNKNOWN_PORT).then_some(port)
}

/// A port as people and labels see it: its number, or `unknown`.
#[derive(Clone, Copy, Debug)]
pub struct ShownPort(pub u32);

impl fmt::Display for ShownPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match known_port(self.0) {
            Some(port) => fmt::Display::fmt(&port, f),
            None => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_stands_for_a_port_that_is_not_known() {
        assert_eq!((known_port(0), known_port(UNKNOWN_PORT)), (Some(0), None));
        let shown = [7, UNKNOWN_PORT].map(|port| ShownPort(port).to_string());
        assert_eq!(shown, ["7", "unknown"]);
    }
}
