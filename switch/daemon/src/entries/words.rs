// SPDX-License-Identifier: Apache-2.0
//! Arguments of commands: keys, data and numbers, as `simple_switch_CLI` reads them.

use std::net::{Ipv4Addr, Ipv6Addr};

use anyhow::{Context, Result, bail};
use num_bigint::BigUint;
use p4runtime_server::runtime::{Match, TableShape};

pub(super) fn split<'a>(words: &'a [&'a str]) -> Result<(&'a [&'a str], &'a [&'a str])> {
    match words.iter().position(|w| *w == "=>") {
        Some(at) => Ok((
            words.get(..at).unwrap_or_default(),
            words.get(at + 1..).unwrap_or_default(),
        )),
        None => Ok((words, &[])),
    }
}

/// Splits off the priority: the last word of an entry that has a priority.
pub(super) fn priority<'a>(
    table: &TableShape,
    words: &'a [&'a str],
) -> Result<(&'a [&'a str], i32)> {
    if !table.with_priority {
        return Ok((words, 0));
    }
    let (last, rest) = words.split_last().context("the priority is missing")?;
    Ok((rest, whole(last).context("priority")?))
}

/// Parses an integer, in hexadecimal with `0x`.
pub(super) fn whole<T: TryFrom<i128>>(word: &str) -> Result<T> {
    let parsed = match word.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    };
    let fits = parsed.and_then(|n| T::try_from(n).ok());
    fits.with_context(|| format!("{word}: not a number that fits"))
}

/// Parses a value into as many bytes as `bits` need.
fn value(word: &str, bits: u32) -> Result<Vec<u8>> {
    let bytes = bits.div_ceil(8) as usize;
    let address = match bits {
        32 => word.parse::<Ipv4Addr>().ok().map(|a| a.octets().to_vec()),
        128 => word.parse::<Ipv6Addr>().ok().map(|a| a.octets().to_vec()),
        48 if word.contains(':') => {
            let parts = word.split(':').map(|p| u8::from_str_radix(p, 16));
            let parts = parts.collect::<Result<Vec<u8>, _>>().ok();
            Some(
                parts
                    .filter(|p| p.len() == 6)
                    .context("not a MAC address")?,
            )
        }
        _ => None,
    };
    if let Some(a) = address {
        return Ok(a);
    }
    let number = match word.strip_prefix("0x") {
        Some(hex) => BigUint::parse_bytes(hex.as_bytes(), 16),
        None => BigUint::parse_bytes(word.as_bytes(), 10),
    };
    let number = number.with_context(|| format!("{word}: not a number or address"))?;
    let short = number.to_bytes_be();
    let missing = bytes.checked_sub(short.len());
    let missing = missing.with_context(|| format!("{word}: does not fit {bits} bits"))?;
    let mut out = vec![0; missing];
    out.extend(short);
    Ok(out)
}

pub(super) fn key(table: &TableShape, words: &[&str]) -> Result<Vec<Match>> {
    if words.len() != table.keys.len() {
        bail!(
            "the table has {} keys, got {}",
            table.keys.len(),
            words.len()
        );
    }
    let one = |((name, kind, bits), word): (&(String, Match, u32), &&str)| {
        let pair = |by: &str| word.split_once(by).with_context(|| format!("write A{by}B"));
        let found = match kind {
            Match::Exact(_) | Match::Valid(_) => value(word, *bits).map(Match::Exact),
            Match::Lpm(..) => {
                pair("/").and_then(|(v, n)| Ok(Match::Lpm(value(v, *bits)?, whole(n)?)))
            }
            Match::Ternary(..) => pair("&&&")
                .and_then(|(v, m)| Ok(Match::Ternary(value(v, *bits)?, value(m, *bits)?))),
            Match::Range(..) => {
                pair("->").and_then(|(a, b)| Ok(Match::Range(value(a, *bits)?, value(b, *bits)?)))
            }
        };
        found.with_context(|| format!("key {name}: {word}"))
    };
    table.keys.iter().zip(words).map(one).collect()
}

/// Returns the full name and the data of an action.
pub(super) fn data(
    table: &TableShape,
    name: &str,
    words: &[&str],
) -> Result<(String, Vec<Vec<u8>>)> {
    let end = format!(".{name}");
    let by_name = table.actions.iter().find(|(n, _)| n == name);
    let found = by_name.or_else(|| table.actions.iter().find(|(n, _)| n.ends_with(&end)));
    let (name, widths) = found.with_context(|| format!("{} has no action {name}", table.name))?;
    if widths.len() != words.len() {
        bail!("{name} takes {} data, got {}", widths.len(), words.len());
    }
    let values = widths.iter().zip(words).map(|(bits, w)| value(w, *bits));
    Ok((name.clone(), values.collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> TableShape {
        TableShape {
            name: "MyIngress.acl".into(),
            keys: vec![
                ("ip".into(), Match::Lpm(vec![], 0), 32),
                ("port".into(), Match::Range(vec![], vec![]), 16),
                ("mac".into(), Match::Ternary(vec![], vec![]), 48),
            ],
            actions: vec![("MyIngress.forward".into(), vec![48, 9])],
            with_priority: true,
            indirect: false,
        }
    }

    #[test]
    fn keys_and_data_take_whole_bytes() {
        let words = ["10.0.1.0/24", "80->0x1f90", "0&&&0x010000000000"];
        let key = key(&shape(), &words).unwrap();
        let mask = vec![1, 0, 0, 0, 0, 0];
        assert_eq!(
            key,
            [
                Match::Lpm(vec![10, 0, 1, 0], 24),
                Match::Range(vec![0, 80], vec![0x1f, 0x90]),
                Match::Ternary(vec![0; 6], mask),
            ]
        );
        let found = data(&shape(), "forward", &["00:00:00:00:01:01", "2"]).unwrap();
        let bytes = vec![vec![0, 0, 0, 0, 1, 1], vec![0, 2]];
        assert_eq!(found, ("MyIngress.forward".to_owned(), bytes));
    }

    #[test]
    fn what_is_malformed_is_refused() {
        assert!(value("10.0.0", 32).is_err());
        assert!(value("00:11:22:33:44", 48).is_err());
        assert!(value("65536", 16).is_err());
        // As in the CLI: nine bits are two bytes.
        assert_eq!(value("512", 9).unwrap(), [2, 0]);
        assert!(key(&shape(), &["10.0.0.1", "1->2", "0&&&0"]).is_err());
        assert!(data(&shape(), "forward", &["1"]).is_err());
        assert!(data(&shape(), "drop", &[]).is_err());
    }
}
