// SPDX-License-Identifier: Apache-2.0
//! Parsing of numbers and addresses in configurations and in messages of switches.

use crate::Error;
use ipnet::IpNet;
use std::net::IpAddr;

/// Converts a big-endian byte string to a number; leading zeros are accepted.
pub(crate) fn number(bytes: &[u8]) -> Result<u64, String> {
    bytes.iter().try_fold(0u64, |n, &b| {
        if n >> 56 != 0 {
            return Err(format!("{} bytes do not fit 64 bits", bytes.len()));
        }
        Ok(n << 8 | u64::from(b))
    })
}

/// Parses a MAC address `aa:bb:cc:dd:ee:ff` (or with `-`) to a number.
pub(crate) fn mac(text: &str, field: &str) -> Result<u64, Error> {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    let bad = || {
        Error::value(
            field,
            format!("\"{text}\" is not a MAC address such as 02:00:00:00:00:01"),
        )
    };
    if parts.len() != 6 {
        return Err(bad());
    }
    parts.iter().try_fold(0, |n, p| {
        let byte = u8::from_str_radix(p, 16).map_err(|_| bad())?;
        Ok(n << 8 | u64::from(byte))
    })
}

/// Parses `10.0.0.0/8`, `2001:db8::/32`, or a single address of either family.
pub(crate) fn prefix(text: &str, field: &str) -> Result<IpNet, Error> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| {
        let form = "an address, or a prefix such as 10.0.0.0/8 or 2001:db8::/32";
        Error::value(field, format!("\"{text}\" is not {form}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_byte_strings() {
        assert_eq!(number(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 7]), Ok(7));
        assert!(number(&[1, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
    }

    #[test]
    fn addresses() {
        assert_eq!(mac("02:00:00:00:01:ff", "m").unwrap(), 0x0200_0000_01ff);
        assert!(mac("02:00:00:00:01", "m").is_err());
        assert!(mac("02:00:00:00:01:gg", "m").is_err());
    }

    #[test]
    fn addresses_of_both_families() {
        for (text, network, length) in [
            ("10.1.2.3/8", "10.0.0.0", 8),
            ("10.1.2.3", "10.1.2.3", 32),
            ("0.0.0.0/0", "0.0.0.0", 0),
            ("2001:db8::1", "2001:db8::1", 128),
            ("2001:db8:ff::/32", "2001:db8::", 32),
            ("::/0", "::", 0),
        ] {
            let p = prefix(text, "p").unwrap();
            let network: IpAddr = network.parse().unwrap();
            assert_eq!((p.network(), p.prefix_len()), (network, length), "{text}");
        }
        for bad in ["10.0.0.0/33", "::/129", "::/x", "2001:db8::1::", "ten", ""] {
            assert!(prefix(bad, "p").is_err(), "{bad}");
        }
    }
}
