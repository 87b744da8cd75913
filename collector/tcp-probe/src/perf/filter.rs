// SPDX-License-Identifier: Apache-2.0
//! Selects the sockets to read.

use std::net::IpAddr;
use std::str::FromStr;

use int_report::FlowKey;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Filter of sockets; an empty list passes all of them. Either end may match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    /// Ports, one of which must be at either end.
    pub ports: Vec<u16>,
    /// Address ranges, one of which must contain either end (`10.0.0.0/8`, `::1`).
    pub addresses: Vec<AddressRange>,
}

impl Filter {
    /// Returns whether the socket is wanted.
    #[must_use]
    #[inline]
    pub fn passes(&self, flow: &FlowKey) -> bool {
        let port = |port: u16| self.ports.contains(&port);
        let address = |addr: IpAddr| self.addresses.iter().any(|range| range.0.contains(&addr));
        (self.ports.is_empty() || port(flow.src_port) || port(flow.dst_port))
            && (self.addresses.is_empty() || address(flow.src) || address(flow.dst))
    }

    /// Returns the ports as a kernel filter, which cannot express the addresses; `None` if all
    /// ports pass or there are too many.
    pub(super) fn kernel_expression(&self) -> Option<String> {
        const MOST: usize = 32;
        if self.ports.is_empty() || self.ports.len() > MOST {
            return None;
        }
        let terms: Vec<String> = self
            .ports
            .iter()
            .map(|port| format!("sport == {port} || dport == {port}"))
            .collect();
        Some(terms.join(" || "))
    }
}

/// An address with a prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressRange(IpNet);

/// Why a text is not an address range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not an IP address or ADDRESS/PREFIX")]
pub struct FilterError {
    text: String,
}

impl FromStr for AddressRange {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let net = match text.parse::<IpAddr>() {
            Ok(address) => Ok(IpNet::from(address)),
            Err(_) => text.parse::<IpNet>(),
        };
        // Flows never show mapped addresses: such a range could not match.
        let mapped = |net: &IpNet| net.addr().to_canonical() != net.addr();
        net.ok()
            .filter(|net| !mapped(net))
            .map(Self)
            .ok_or_else(|| FilterError {
                text: text.to_owned(),
            })
    }
}

impl TryFrom<String> for AddressRange {
    type Error = FilterError;

    fn try_from(text: String) -> Result<Self, FilterError> {
        text.parse()
    }
}

impl From<AddressRange> for String {
    fn from(range: AddressRange) -> Self {
        range.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(src: &str, dst: &str) -> FlowKey {
        FlowKey {
            src: src.parse().unwrap(),
            dst: dst.parse().unwrap(),
            src_port: 40000,
            dst_port: 5001,
            protocol: 6,
        }
    }

    #[test]
    fn ports_and_addresses() {
        let mut filter = Filter::default();
        assert!(filter.passes(&flow("10.0.0.1", "10.0.0.2")));
        filter.ports = vec![5001];
        assert!(filter.passes(&flow("10.0.0.1", "10.0.0.2")));
        assert!(filter.passes(&flow("10.0.0.1", "10.0.0.2").reversed()));
        filter.ports = vec![80];
        assert!(!filter.passes(&flow("10.0.0.1", "10.0.0.2")));
        filter.ports = vec![];
        filter.addresses = vec![
            "10.0.0.0/30".parse().unwrap(),
            "2001:db8::/32".parse().unwrap(),
        ];
        assert!(filter.passes(&flow("10.0.0.3", "192.0.2.1")));
        assert!(filter.passes(&flow("192.0.2.1", "10.0.0.3")));
        assert!(!filter.passes(&flow("10.0.0.4", "192.0.2.1")));
        assert!(filter.passes(&flow("2001:db8:5::1", "2001:db9::1")));
        filter.addresses = vec!["0.0.0.0/0".parse().unwrap()];
        assert!(filter.passes(&flow("10.0.0.4", "192.0.2.1")));
        assert!(!filter.passes(&flow("::1", "::1")));
    }

    #[test]
    fn bad_ranges_are_refused() {
        for text in [
            "",
            "x",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "::ffff:1.2.3.4",
        ] {
            assert!(text.parse::<AddressRange>().is_err(), "{text}");
        }
    }

    #[test]
    fn kernel_filter_names_every_port() {
        let filter = Filter {
            ports: vec![80, 443],
            addresses: vec![],
        };
        assert_eq!(
            filter.kernel_expression().unwrap(),
            "sport == 80 || dport == 80 || sport == 443 || dport == 443"
        );
        assert_eq!(Filter::default().kernel_expression(), None);
    }
}
