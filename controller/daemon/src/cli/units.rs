// SPDX-License-Identifier: Apache-2.0
//! Quantities as people write them: `50mbit`, `60ms`, `98%`, `300kB`.
//!
//! Own code, since crates for this read sizes or times only, and neither `mbit`
//! as `tc` writes it, nor a percentage, nor a fraction of a unit.

/// The number in front, and the unit after it.
fn number_and_unit(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '+' || c == '-'))
        .unwrap_or(text.len());
    let number: f64 = text[..end]
        .parse()
        .map_err(|_| format!("\"{text}\" does not start with a number"))?;
    Ok((number, text[end..].trim()))
}

/// A quantity in the base unit. `what` names such quantities in messages; `units`
/// are the names of the units with their size in the base unit.
fn quantity(text: &str, what: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let (number, unit) = number_and_unit(text)?;
    let names: Vec<&str> = units
        .iter()
        .map(|u| u.0)
        .filter(|u| !u.is_empty())
        .collect();
    let factor = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .map(|u| u.1)
        .ok_or_else(|| format!("\"{text}\": {what} end in {}", names.join(", ")))?;
    let value = number * factor;
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(format!("\"{text}\" is below 0 or too large"))
    }
}

/// bits/s.
pub fn rate(text: &str) -> Result<f64, String> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    let text = text.strip_suffix("ps").unwrap_or(text);
    quantity(
        text,
        "rates",
        &[
            ("bit", 1.0),
            ("kbit", 1e3),
            ("mbit", 1e6),
            ("gbit", 1e9),
            ("tbit", 1e12),
            ("b", 1.0),
            ("kb", 1e3),
            ("mb", 1e6),
            ("gb", 1e9),
            ("", 1.0),
        ],
    )
}

/// Seconds; a bare number counts as seconds.
pub fn time(text: &str) -> Result<f64, String> {
    quantity(
        text,
        "times",
        &[
            ("ns", 1e-9),
            ("us", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
            ("", 1.0),
        ],
    )
}

/// Fraction; `98%` or `0.98`.
pub fn fraction(text: &str) -> Result<f64, String> {
    let v = quantity(text, "fractions", &[("%", 0.01), ("", 1.0)])?;
    if v <= 1.0 {
        Ok(v)
    } else {
        Err(format!(
            "\"{text}\" is above 1; write {text}% if it is in percent"
        ))
    }
}

/// Bytes.
pub fn bytes(text: &str) -> Result<f64, String> {
    quantity(
        text,
        "sizes",
        &[
            ("", 1.0),
            ("B", 1.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        assert_eq!(rate("50mbit"), Ok(50e6));
        assert_eq!(rate("10Gbit/s"), Ok(10e9));
        assert_eq!(rate("100 Mbps"), Ok(100e6));
        assert_eq!(time("60ms"), Ok(0.06));
        assert_eq!(time("1.5"), Ok(1.5));
        assert_eq!(fraction("98%"), Ok(0.98));
        assert_eq!(fraction("0.01"), Ok(0.01));
        assert_eq!(bytes("300kB"), Ok(300e3));
        assert_eq!(bytes("64KiB"), Ok(65536.0));
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        assert!(rate("fast").unwrap_err().contains("number"));
        assert!(time("5min").unwrap_err().contains("ms"));
        assert!(fraction("98").unwrap_err().contains("98%"));
        assert!(bytes("-5").is_err());
    }
}
