// SPDX-License-Identifier: Apache-2.0
//! What a formula refuses.

/// An argument outside the range in which a formula means anything.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} = {value}: must be {must}")]
pub struct RuleError {
    /// The argument at fault, with its unit.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// What it must be.
    pub must: &'static str,
}

/// `Ok(value)` when it is finite and above zero.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64, RuleError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(RuleError {
            name,
            value,
            must: "finite and above 0",
        })
    }
}

/// `Ok(value)` when it is finite and not negative.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<f64, RuleError> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(RuleError {
            name,
            value,
            must: "finite and at least 0",
        })
    }
}

/// `Ok(value)` when it is finite and at least `1`.
pub(crate) fn at_least_one(name: &'static str, value: f64) -> Result<f64, RuleError> {
    if value.is_finite() && value >= 1.0 {
        Ok(value)
    } else {
        Err(RuleError {
            name,
            value,
            must: "finite and at least 1",
        })
    }
}

/// `Ok(value)` when `0 < value < 1`.
pub(crate) fn open_fraction(name: &'static str, value: f64) -> Result<f64, RuleError> {
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(RuleError {
            name,
            value,
            must: "between 0 and 1, both excluded",
        })
    }
}

/// `Ok(value)` when `0 <= value <= 1`.
pub(crate) fn fraction(name: &'static str, value: f64) -> Result<f64, RuleError> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(RuleError {
            name,
            value,
            must: "between 0 and 1",
        })
    }
}
