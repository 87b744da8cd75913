// SPDX-License-Identifier: Apache-2.0
//! Typed access to JSON, with errors that name the key.

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use serde_json::Value;

use crate::bits;
use crate::error::{LoadError, Result};

fn missing(v: &Value, key: &str, wanted: &str) -> LoadError {
    LoadError::new(format!("malformed BMv2 JSON: \"{key}\" is not {wanted}")).at(v)
}

pub(super) fn get<'a>(v: &'a Value, key: &str) -> Result<&'a Value> {
    v.get(key).ok_or_else(|| missing(v, key, "there"))
}

pub(super) fn array<'a>(v: &'a Value, key: &str) -> Result<&'a [Value]> {
    get(v, key)?
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| missing(v, key, "an array"))
}

pub(super) fn string<'a>(v: &'a Value, key: &str) -> Result<&'a str> {
    get(v, key)?
        .as_str()
        .ok_or_else(|| missing(v, key, "a string"))
}

/// Returns the value of an operand of this type.
pub(super) fn of_type<'a>(v: &'a Value, kind: &str) -> Result<&'a str> {
    match string(v, "type")? {
        found if found == kind => string(v, "value"),
        found => Err(LoadError::new(format!("\"{found}\" where a {kind} is needed")).at(v)),
    }
}

pub(super) fn opt_str<'a>(v: &'a Value, key: &str) -> Option<&'a str> {
    v.get(key).and_then(Value::as_str)
}

pub(super) fn number(v: &Value, key: &str) -> Result<u64> {
    get(v, key)?
        .as_u64()
        .ok_or_else(|| missing(v, key, "a number"))
}

/// Reads a number of cells or entries.
pub(super) fn size(v: &Value, key: &str) -> Result<usize> {
    let n = usize::try_from(number(v, key)?);
    n.map_err(|_| missing(v, key, "a number within this machine's range"))
}

/// Reads a width or length, below 2^20.
pub(super) fn small(v: &Value, key: &str) -> Result<u32> {
    let n = number(v, key)?;
    u32::try_from(n)
        .ok()
        .filter(|n| *n < 1 << 20)
        .ok_or_else(|| missing(v, key, "a width below 2^20"))
}

pub(super) fn flag(v: &Value, key: &str) -> bool {
    v.get(key).and_then(Value::as_bool).unwrap_or(false)
}

pub(super) fn hex(v: &Value, text: &str) -> Result<BigInt> {
    bits::parse_hexstr(text).ok_or_else(|| {
        LoadError::new(format!("malformed BMv2 JSON: \"{text}\" is not a hexstr")).at(v)
    })
}

pub(super) fn hex_u32(v: &Value, text: &str) -> Result<u32> {
    hex(v, text)?
        .to_u32()
        .ok_or_else(|| LoadError::new(format!("\"{text}\" is out of range")).at(v))
}

/// Reads a pair of strings, such as `[header, field]`.
pub(super) fn pair(v: &Value) -> Result<(&str, &str)> {
    match v.as_array().map(Vec::as_slice) {
        Some([a, b]) => match (a.as_str(), b.as_str()) {
            (Some(a), Some(b)) => Ok((a, b)),
            _ => Err(missing(v, "value", "two names")),
        },
        _ => Err(missing(v, "value", "two names")),
    }
}
