// SPDX-License-Identifier: Apache-2.0
//! Parses numbers and match values.

use anyhow::{Result, anyhow};
use num_bigint::BigInt;

use p4_ir::bits::{parse_hexstr, words_for, words_from_big};
use p4_ir::{MatchKind, MatchValue, TableKey};

pub(super) fn number(s: &str) -> Result<BigInt> {
    let radix = |digits: &str, r: u32| BigInt::parse_bytes(digits.as_bytes(), r);
    let v = if let Some(b) = s.strip_prefix("0b") {
        radix(b, 2)
    } else if let Some(o) = s.strip_prefix("0o") {
        radix(o, 8)
    } else if s.starts_with("0x") {
        parse_hexstr(s)
    } else {
        radix(s, 10)
    };
    v.ok_or_else(|| anyhow!("\"{s}\" is not a number"))
}

pub(super) fn words(n: &BigInt, width: u32) -> Vec<u64> {
    let mut w = vec![0; words_for(width)];
    words_from_big(n, width, &mut w);
    w
}

/// Parses a number in which `*` digits are don't-care.
fn masked(s: &str, width: u32) -> Result<(Vec<u64>, Vec<u64>)> {
    if let Some((v, m)) = s.split_once("&&&") {
        return Ok((words(&number(v)?, width), words(&number(m)?, width)));
    }
    let (prefix, digits, full) = match (s.strip_prefix("0x"), s.strip_prefix("0b")) {
        (Some(d), _) => ("0x", d, 'f'),
        (_, Some(d)) => ("0b", d, '1'),
        _ => {
            let all = (BigInt::from(1) << width) - 1;
            return Ok((words(&number(s)?, width), words(&all, width)));
        }
    };
    let value = digits.replace('*', "0");
    let mask: String = digits
        .chars()
        .map(|c| if c == '*' { '0' } else { full })
        .collect();
    let v = number(&format!("{prefix}{value}"))?;
    let m = number(&format!("{prefix}{mask}"))?;
    Ok((words(&v, width), words(&m, width)))
}

pub(super) fn convert_key(k: &TableKey, s: &str) -> Result<MatchValue> {
    let width = k.field.width;
    Ok(match k.kind {
        MatchKind::Exact => MatchValue::Exact(words(&number(s)?, width)),
        MatchKind::Ternary => {
            let (value, mask) = masked(s, width)?;
            MatchValue::Ternary { value, mask }
        }
        MatchKind::Lpm => {
            let (value, prefix_bits) = match s.split_once('/') {
                Some((v, p)) => (number(v)?, p.parse()?),
                None => {
                    let stars = s.chars().filter(|c| *c == '*').count() as u32;
                    (
                        number(&s.replace('*', "0"))?,
                        width.saturating_sub(stars * 4),
                    )
                }
            };
            MatchValue::Lpm {
                value: words(&value, width),
                prefix_bits,
            }
        }
        MatchKind::Range => {
            let (low, high) = s
                .split_once("->")
                .ok_or_else(|| anyhow!("\"{s}\": write low->high"))?;
            MatchValue::Range {
                low: words(&number(low)?, width),
                high: words(&number(high)?, width),
            }
        }
    })
}

pub(super) fn anything(k: &TableKey) -> MatchValue {
    let zero = vec![0; words_for(k.field.width)];
    match k.kind {
        MatchKind::Exact => MatchValue::Exact(zero),
        MatchKind::Lpm => MatchValue::Lpm {
            value: zero,
            prefix_bits: 0,
        },
        MatchKind::Ternary => MatchValue::Ternary {
            value: zero.clone(),
            mask: zero,
        },
        MatchKind::Range => MatchValue::Range {
            low: zero,
            high: words(&((BigInt::from(1) << k.field.width) - 1), k.field.width),
        },
    }
}
