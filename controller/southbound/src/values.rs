// SPDX-License-Identifier: Apache-2.0
//! Numbers and addresses as configurations and switches write them.

use crate::Error;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A byte string as a number; leading zeros are accepted.
pub(crate) fn number(bytes: &[u8]) -> Result<u64, String> {
    bytes.iter().try_fold(0u64, |n, &b| {
        if n >> 56 != 0 {
            return Err(format!("{} bytes do not fit 64 bits", bytes.len()));
        }
        Ok(n << 8 | u64::from(b))
    })
}

/// `aa:bb:cc:dd:ee:ff` (or with `-`) as a number.
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

/// `10.0.0.0/8` or one address, as value and mask.
pub(crate) fn prefix(text: &str, field: &str) -> Result<(u64, u64), Error> {
    let bad = |why: &str| {
        Error::value(
            field,
            format!("\"{text}\" is not an IPv4 address or prefix such as 10.0.0.0/8{why}"),
        )
    };
    let (address, length) = match text.split_once('/') {
        Some((a, l)) => (a, l.parse::<u32>().map_err(|_| bad(""))?),
        None => (text, 32),
    };
    if length > 32 {
        return Err(bad(": the length is at most 32"));
    }
    let address: Ipv4Addr = address.parse().map_err(|_| bad(""))?;
    let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
    Ok((u64::from(u32::from(address) & mask), u64::from(mask)))
}

/// An IPv4 or IPv6 prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressPrefix {
    /// Which of the two families.
    pub ipv6: bool,
    /// The bits that must match.
    pub value: u128,
    /// Which bits must match; 0 for any address of the family.
    pub mask: u128,
}

/// `10.0.0.0/8`, `2001:db8::/32`, or one address of either family.
pub(crate) fn address_prefix(text: &str, field: &str) -> Result<AddressPrefix, Error> {
    let (address, length) = match text.split_once('/') {
        Some((a, l)) => (a, Some(l)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<Ipv6Addr>() else {
        let (value, mask) = prefix(text, field)?;
        return Ok(AddressPrefix {
            ipv6: false,
            value: value.into(),
            mask: mask.into(),
        });
    };
    let length = length.map_or(Ok(128), str::parse::<u32>);
    let Some(host_bits) = length.ok().and_then(|l| 128u32.checked_sub(l)) else {
        return Err(Error::value(
            field,
            format!("\"{text}\": the length of an IPv6 prefix is a number up to 128"),
        ));
    };
    let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
    Ok(AddressPrefix {
        ipv6: true,
        value: u128::from(address) & mask,
        mask,
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
        assert_eq!(
            prefix("10.1.2.3/8", "p").unwrap(),
            (0x0a00_0000, 0xff00_0000)
        );
        assert_eq!(prefix("10.1.2.3", "p").unwrap(), (0x0a01_0203, 0xffff_ffff));
        assert_eq!(prefix("0.0.0.0/0", "p").unwrap(), (0, 0));
        assert!(prefix("10.0.0.0/33", "p").is_err());
        assert!(prefix("ten", "p").is_err());
    }

    #[test]
    fn addresses_of_both_families() {
        let p = address_prefix("2001:db8::1", "p").unwrap();
        assert!(p.ipv6 && p.mask == u128::MAX);
        assert_eq!(p.value, 0x2001_0db8 << 96 | 1);
        let p = address_prefix("2001:db8:ff::/32", "p").unwrap();
        assert_eq!(
            (p.value, p.mask),
            (0x2001_0db8 << 96, u128::from(u32::MAX) << 96)
        );
        let p = address_prefix("::/0", "p").unwrap();
        assert!(p.ipv6 && p.mask == 0 && p.value == 0);
        let p = address_prefix("10.1.2.3/8", "p").unwrap();
        assert_eq!((p.ipv6, p.value, p.mask), (false, 0x0a00_0000, 0xff00_0000));
        for bad in ["::/129", "::/x", "2001:db8::1::", "ten", ""] {
            assert!(address_prefix(bad, "p").is_err(), "{bad}");
        }
    }
}
