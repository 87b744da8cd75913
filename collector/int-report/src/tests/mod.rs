// SPDX-License-Identifier: Apache-2.0
mod embedded;
mod exhaustive;
mod golden;
mod inner;
mod malformed;
mod ns3;
mod old_encoder;
mod old_versions;
mod properties;

use crate::{DecodeError, Report, decode};

/// Bytes from hex digits; white space is ignored.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|b| !b.is_ascii_whitespace())
        .map(|b| (b as char).to_digit(16).unwrap() as u8)
        .collect();
    assert_eq!(digits.len() % 2, 0, "odd number of hex digits");
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// All reports of a payload.
pub(crate) fn all(payload: &[u8]) -> Result<Vec<Report<'_>>, DecodeError> {
    let mut found = Vec::new();
    let count = decode(payload, |report| found.push(*report))?;
    assert_eq!(count, found.len());
    Ok(found)
}
