// SPDX-License-Identifier: Apache-2.0
//! Addresses that may export the reports of a node.

use ipnet::IpNet;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::net::IpAddr;

/// Addresses that reports of a node may come from. If none is named, any address may send them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Exporters(Vec<IpNet>);

impl Exporters {
    /// Whether reports of the node may come from an address. An IPv4 address that an IPv6 socket
    /// shows as `::ffff:a.b.c.d` counts as the IPv4 address.
    #[must_use]
    pub fn allow(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.is_empty() || self.0.iter().any(|net| net.contains(&address))
    }

    /// Whether any address may send.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Exporters {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let texts: Vec<String> = Vec::deserialize(d)?;
        texts
            .iter()
            .map(|text| parse(text).ok_or_else(|| unreadable(text)))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Parses an address, or a prefix such as `10.0.0.0/24`.
fn parse(text: &str) -> Option<IpNet> {
    match text.parse::<IpAddr>() {
        Ok(address) => Some(IpNet::from(address.to_canonical())),
        Err(_) => text.parse::<IpNet>().ok().map(|net| net.trunc()),
    }
}

fn unreadable<E: Error>(text: &str) -> E {
    E::custom(format!(
        "exporters: \"{text}\" is neither an address such as \"192.0.2.1\" nor a prefix such as \"192.0.2.0/24\""
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exporters(json: &str) -> Result<Exporters, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn addresses_and_prefixes_of_both_families() {
        let e = exporters(r#"["192.0.2.1", "10.1.2.3/16", "2001:db8::/32"]"#).unwrap();
        for (address, allowed) in [
            ("192.0.2.1", true),
            ("::ffff:192.0.2.1", true),
            ("192.0.2.2", false),
            ("10.1.255.255", true),
            ("10.2.0.0", false),
            ("2001:db8:1::1", true),
            ("2001:db9::1", false),
        ] {
            assert_eq!(e.allow(address.parse().unwrap()), allowed, "{address}");
        }
        assert!(
            exporters("[]")
                .unwrap()
                .allow("203.0.113.9".parse().unwrap())
        );
        let error = exporters(r#"["10.0.0.0/33"]"#).unwrap_err().to_string();
        assert!(error.contains("10.0.0.0/33"), "{error}");
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let e = exporters(r#"["192.0.2.1", "10.1.0.0/16"]"#).unwrap();
        assert_eq!(exporters(&serde_json::to_string(&e).unwrap()).unwrap(), e);
    }
}
