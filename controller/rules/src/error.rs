// SPDX-License-Identifier: Apache-2.0
//! Error for arguments outside a formula's range.

/// An argument outside the range in which a formula is valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} = {}: must be {must}", digits(*.value))]
pub struct RuleError {
    /// Name of the invalid argument, with its unit.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// The condition that it must meet.
    pub must: &'static str,
}

/// Significant digits of numbers in texts: more than the precision of any measurement here.
const DIGITS: usize = 6;

/// Formats a number with six significant digits, in a form that every program can parse.
pub fn digits(value: f64) -> String {
    let rounded = format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value);
    // Avoids a long row of zeros, and an exponent if a plain number is as short.
    if rounded == 0.0 || (1e-4..1e15).contains(&f64::abs(rounded)) {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}

/// Returns `value` if `holds`, else an error.
fn check(
    holds: bool,
    name: &'static str,
    value: f64,
    must: &'static str,
) -> Result<f64, RuleError> {
    if holds {
        Ok(value)
    } else {
        Err(RuleError { name, value, must })
    }
}

/// Returns `value` if it is finite and positive.
pub fn positive(name: &'static str, value: f64) -> Result<f64, RuleError> {
    let holds = value.is_finite() && value > 0.0;
    check(holds, name, value, "finite and above 0")
}

/// Returns `value` if it is finite and not negative.
pub fn not_negative(name: &'static str, value: f64) -> Result<f64, RuleError> {
    let holds = value.is_finite() && value >= 0.0;
    check(holds, name, value, "finite and at least 0")
}

/// Returns `value` if it is finite and at least 1.
pub fn at_least_one(name: &'static str, value: f64) -> Result<f64, RuleError> {
    let holds = value.is_finite() && value >= 1.0;
    check(holds, name, value, "finite and at least 1")
}

/// Returns `value` if `0 < value < 1`.
pub fn open_fraction(name: &'static str, value: f64) -> Result<f64, RuleError> {
    let holds = value > 0.0 && value < 1.0;
    check(holds, name, value, "between 0 and 1, both excluded")
}

/// Returns `value` if `0 <= value <= 1`.
pub fn fraction(name: &'static str, value: f64) -> Result<f64, RuleError> {
    check((0.0..=1.0).contains(&value), name, value, "between 0 and 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_digits_that_nobody_measured() {
        let of = |value| open_fraction("rho", value).unwrap_err().to_string();
        assert_eq!(
            of(1.008_626_920_849_783_8),
            "rho = 1.00863: must be between 0 and 1, both excluded"
        );
        let shown = [
            (0.0, "0"),
            (-3.0, "-3"),
            (1.0, "1"),
            (123_456_789.0, "123457000"),
            (2.5e-9, "2.5e-9"),
            (1.0 / 3.0, "0.333333"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in shown {
            assert_eq!(digits(value), text);
        }
    }
}
