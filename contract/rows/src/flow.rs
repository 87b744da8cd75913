// SPDX-License-Identifier: Apache-2.0
//! The five-tuple that identifies a transport flow.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// One direction of a transport flow: the five-tuple as in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FlowKey {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// Source port; 0 for protocols without ports and for later fragments.
    pub src_port: u16,
    /// Destination port; 0 for protocols without ports and for later fragments.
    pub dst_port: u16,
    /// IP protocol number (6 TCP, 17 UDP).
    pub protocol: u8,
}

impl FlowKey {
    /// Returns the flow in the opposite direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            protocol: self.protocol,
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |f: &mut fmt::Formatter<'_>, addr: IpAddr, port: u16| match addr {
            IpAddr::V4(v4) => write!(f, "{v4}:{port}"),
            IpAddr::V6(v6) => write!(f, "[{v6}]:{port}"),
        };
        side(f, self.src, self.src_port)?;
        f.write_str(" > ")?;
        side(f, self.dst, self.dst_port)?;
        write!(f, " proto {}", self.protocol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_and_reverse() {
        let key = FlowKey {
            src: "10.0.0.1".parse().unwrap(),
            dst: "2001:db8::1".parse().unwrap(),
            src_port: 40000,
            dst_port: 5001,
            protocol: 6,
        };
        assert_eq!(
            key.to_string(),
            "10.0.0.1:40000 > [2001:db8::1]:5001 proto 6"
        );
        assert_eq!(key.reversed().src_port, 5001);
        assert_eq!(key.reversed().reversed(), key);
    }
}
