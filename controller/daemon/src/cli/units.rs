// SPDX-License-Identifier: Apache-2.0
//! Parses quantities, and numbers that describe traffic within plausible ranges.

use daemon_kit::cli::units::number;
pub(super) use daemon_kit::cli::units::{Buffer, buffer, bytes, fraction, rate, ratio, time};

/// Largest plausible number of flows.
const MOST_FLOWS: f64 = 1e7;

pub(super) fn flows(text: &str) -> Result<f64, String> {
    within(text, 0.0, MOST_FLOWS)
}

/// Parses alpha, which must be above 0.
pub(super) fn alpha(text: &str) -> Result<f64, String> {
    let v = within(text, 0.0, 1e6)?;
    if v > 0.0 {
        Ok(v)
    } else {
        Err(format!("\"{text}\" must be above 0"))
    }
}

/// Parses Delta, which must be at least 1.
pub(super) fn delta(text: &str) -> Result<f64, String> {
    within(text, 1.0, 1e6)
}

fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match number(text)? {
        v if (least..=most).contains(&v) => Ok(v),
        _ => Err(format!("\"{text}\" must be {least} to {most:e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(flows("12"), Ok(12.0));
        for text in ["inf", "nan", "-1", "1e300", "12x", ""] {
            assert!(flows(text).is_err(), "{text}");
            assert!(alpha(text).is_err(), "{text}");
            assert!(delta(text).is_err(), "{text}");
        }
        assert!(alpha("0").is_err() && delta("0.5").is_err());
    }
}
