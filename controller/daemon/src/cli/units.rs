// SPDX-License-Identifier: Apache-2.0
//! Quantities as people write them: `50mbit`, `10MB/s`, `60ms`, `98%`, `300kB`.
//!
//! Own code: docs/decisions/0013-own-units-parser.md.

/// The number in front, and the unit after it.
fn number_and_unit(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let plain = |c: char| c.is_ascii_digit() || c == '.' || c == '+' || c == '-';
    let mut end = text.find(|c| !plain(c)).unwrap_or(text.len());
    // An exponent counts as one only where digits follow.
    if let Some(after) = text[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(after.starts_with(['+', '-']));
        let digits = after[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            end += 1 + sign + digits;
        }
    }
    let number: f64 = text[..end]
        .parse()
        .map_err(|_| format!("\"{text}\" does not start with a number"))?;
    Ok((number, text[end..].trim()))
}

/// A quantity in the base unit. `what` names such quantities in messages; `units`
/// are the names of the units with their size in the base unit.
fn quantity(text: &str, what: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let (number, unit) = number_and_unit(text)?;
    let names: Vec<&str> = units.iter().map(|u| u.0).collect();
    let mut all = units.iter();
    let factor = all
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .map(|u| u.1);
    let factor = factor.ok_or_else(|| {
        let names: Vec<&str> = names.into_iter().filter(|n| !n.is_empty()).collect();
        format!("\"{text}\": {what} end in {}", names.join(", "))
    })?;
    let value = number * factor;
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(format!("\"{text}\" is below 0 or too large"))
    }
}

const BITS: [(&str, f64); 5] = [
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("tbit", 1e12),
];

/// bits/s. A large B is bytes, a small b bits: `10MB/s` is 80 Mbit/s, `10Mb/s`
/// is 10. Bytes need `/s` or `ps` after them, since `10MB` is a size.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let per_second = trimmed
        .strip_suffix("/s")
        .or_else(|| trimmed.strip_suffix("ps"));
    let (number, unit) = number_and_unit(per_second.unwrap_or(trimmed))?;
    if unit.is_empty() {
        let hint = "say its unit, e.g. 50mbit, 10gbit, 10MB/s";
        return Err(format!("\"{trimmed}\" is a number without a unit; {hint}"));
    }
    let letter = unit.chars().last();
    let bits_per_unit = match letter {
        Some('B') => 8.0,
        Some('b') => 1.0,
        _ => return quantity(per_second.unwrap_or(trimmed), "rates", &BITS),
    };
    if letter == Some('B') && per_second.is_none() {
        let bits = number * 8.0;
        let prefix = unit[..unit.len() - 1].to_lowercase();
        return Err(format!(
            "\"{trimmed}\" is a size; write {trimmed}/s or {bits}{prefix}bit for a rate"
        ));
    }
    let scale =
        quantity(&format!("1{}bit", &unit[..unit.len() - 1]), "rates", &BITS).map_err(|_| {
            format!("\"{trimmed}\": rates end in bit, kbit, mbit, gbit, tbit, or kB/s, MB/s, GB/s")
        })?;
    let value = number * bits_per_unit * scale;
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(format!("\"{trimmed}\" is below 0 or too large"))
    }
}

/// Seconds. The unit decides by a factor of a million, so it has to be there.
pub(super) fn time(text: &str) -> Result<f64, String> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    quantity(text, "times", &units)
}

/// Fraction; `98%` or `0.98`.
pub(super) fn fraction(text: &str) -> Result<f64, String> {
    let v = ratio(text)?;
    if v <= 1.0 {
        Ok(v)
    } else if text.trim_end().ends_with('%') {
        Err(format!("\"{text}\" is above 100%"))
    } else {
        Err(format!(
            "\"{text}\" is above 1; write {text}% if it is in percent"
        ))
    }
}

/// A part that may be above the whole; `80%`, `1.2`.
pub(super) fn ratio(text: &str) -> Result<f64, String> {
    quantity(text, "fractions", &[("%", 0.01), ("", 1.0)])
}

/// Bytes; a bare number counts as bytes.
pub(super) fn bytes(text: &str) -> Result<f64, String> {
    let units = [
        ("", 1.0),
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
    ];
    let bits = |unit: &str| unit.ends_with('b') && unit.len() < 3;
    if number_and_unit(text).is_ok_and(|(_, unit)| bits(unit)) {
        return Err(format!(
            "\"{text}\" is in bits; sizes are in bytes: B, kB, MB"
        ));
    }
    quantity(text, "sizes", &units)
}

/// The most flows that make sense.
const MOST_FLOWS: f64 = 1e7;

/// A number of flows.
pub(super) fn flows(text: &str) -> Result<f64, String> {
    plain(text, 0.0, MOST_FLOWS)
}

/// alpha: above 0.
pub(super) fn alpha(text: &str) -> Result<f64, String> {
    let v = plain(text, 0.0, 1e6)?;
    if v > 0.0 {
        Ok(v)
    } else {
        Err(format!("\"{text}\" must be above 0"))
    }
}

/// Delta: at least 1.
pub(super) fn delta(text: &str) -> Result<f64, String> {
    plain(text, 1.0, 1e6)
}

/// A number without a unit.
fn plain(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match number_and_unit(text)? {
        (v, "") if (least..=most).contains(&v) => Ok(v),
        (_, "") => Err(format!("\"{text}\" must be {least} to {most:e}")),
        (_, unit) => Err(format!("\"{text}\": a number has no unit (\"{unit}\")")),
    }
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
        assert_eq!(time("1.5s"), Ok(1.5));
        assert_eq!(fraction("98%"), Ok(0.98));
        assert_eq!(fraction("0.01"), Ok(0.01));
        assert_eq!(bytes("300kB"), Ok(300e3));
        assert_eq!(bytes("64KiB"), Ok(65536.0));
        assert_eq!(bytes("1514"), Ok(1514.0));
        assert_eq!(ratio("120%"), Ok(1.2));
        assert_eq!(flows("12"), Ok(12.0));
    }

    #[test]
    fn a_large_b_is_bytes() {
        assert_eq!(rate("10MB/s"), Ok(80e6));
        assert_eq!(rate("10MBps"), Ok(80e6));
        assert_eq!(rate("1.5 GB/s"), Ok(12e9));
        assert_eq!(rate("10Mb/s"), Ok(10e6));
        assert_eq!(rate("10mb"), Ok(10e6));
        assert_eq!(rate("800B/s"), Ok(6400.0));
        let e = rate("10MB").unwrap_err();
        assert!(e.contains("10MB/s") && e.contains("80mbit"), "{e}");
        assert!(bytes("10Mb").unwrap_err().contains("bits"));
    }

    #[test]
    fn exponents() {
        assert_eq!(rate("1e9bit"), Ok(1e9));
        assert_eq!(rate("1E2Mbit/s"), Ok(1e8));
        assert_eq!(fraction("1e-3"), Ok(1e-3));
        assert_eq!(bytes("1e6"), Ok(1e6));
        assert_eq!(time("2.5e+1ms"), Ok(0.025));
        // An e without digits is no exponent.
        assert!(time("2e").is_err());
    }

    #[test]
    fn a_unit_that_decides_has_to_be_there() {
        for text in ["1e9", "50", "50/s", "100ps"] {
            let e = rate(text).unwrap_err();
            assert!(e.contains("without a unit") && e.contains("mbit"), "{e}");
        }
        assert!(time("60").unwrap_err().contains("ms"));
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        assert!(rate("fast").unwrap_err().contains("number"));
        assert!(rate("5xb").unwrap_err().contains("mbit"));
        assert!(rate("1e999mbit").is_err() && rate("1e308tbit").is_err());
        assert!(time("5min").unwrap_err().contains("ms"));
        assert!(fraction("98").unwrap_err().contains("98%"));
        assert_eq!(fraction("120%").unwrap_err(), "\"120%\" is above 100%");
        assert!(bytes("-5").is_err());
        for text in ["inf", "nan", "-1", "1e300", "12x", ""] {
            assert!(flows(text).is_err(), "{text}");
            assert!(alpha(text).is_err(), "{text}");
            assert!(delta(text).is_err(), "{text}");
        }
        assert!(alpha("0").is_err() && delta("0.5").is_err());
    }
}
