// SPDX-License-Identifier: Apache-2.0
//! Parses quantities as people write them: `50mbit`, `10MB/s`, `60ms`, `98%`, `300kB`. The lab
//! parses them alike: `contract/units.toml` has the grammar, the units and the test cases.

include!("generated/units.rs");

struct Quantity {
    name: &'static str,
    example: &'static str,
    /// For each unit, its size in base units and its names.
    units: &'static [(f64, &'static [&'static str])],
}

impl Quantity {
    fn parse(&self, text: &str) -> Result<f64, String> {
        let (number, unit) = number_and_unit(text)?;
        let size = self.size_of(unit).ok_or_else(|| self.refusal(text, unit))?;
        let value = number * size;
        if value.is_finite() && (0.0..=MOST).contains(&value) {
            Ok(value)
        } else {
            Err(format!("\"{}\" is below 0 or too large", text.trim()))
        }
    }

    fn size_of(&self, unit: &str) -> Option<f64> {
        let same = |name: &&str| comparable(name) == comparable(unit);
        let mut all = self.units.iter();
        all.find(|(_, names)| names.iter().any(&same)).map(|u| u.0)
    }

    /// Returns whether two names mean the same unit.
    fn is_same(&self, one: &str, other: &str) -> bool {
        let named = |names: &[&str], unit| names.iter().any(|n| comparable(n) == comparable(unit));
        let mut all = self.units.iter();
        all.any(|(_, names)| named(names, one) && named(names, other))
    }

    fn refusal(&self, text: &str, unit: &str) -> String {
        let (text, name, example) = (text.trim(), self.name, self.example);
        let names = self
            .units
            .iter()
            .map(|(_, names)| names[0])
            .filter(|n| !n.is_empty());
        let names: Vec<&str> = names.collect();
        let problem = match [RATE, TIME, SIZE]
            .iter()
            .find(|q| q.size_of(unit).is_some())
        {
            _ if unit.is_empty() => "has no unit".to_owned(),
            Some(other) => format!("is a {}, not a {name}", other.name),
            None => format!("is not a {name}"),
        };
        match names.is_empty() {
            true => format!("\"{text}\" {problem}: write for example {example}"),
            false => format!(
                "\"{text}\" {problem}: write for example {example} (units: {})",
                names.join(", ")
            ),
        }
    }
}

/// Name of the size unit that counts packets.
const PACKETS: &str = "packets";

/// Largest value of any quantity, in its base unit.
const MOST: f64 = 1e18;

/// Normalises the case of a unit where case does not matter: everywhere except for `B` or `b`
/// at the end or before `/s` and `ps`.
fn comparable(unit: &str) -> (String, &str) {
    let second = ["/s", "ps"]
        .into_iter()
        .find(|end| unit.ends_with(end))
        .unwrap_or("");
    let stem = &unit[..unit.len() - second.len()];
    match stem.strip_suffix('B') {
        Some(prefix) => (prefix.to_ascii_lowercase() + "B", second),
        None => (stem.to_ascii_lowercase(), second),
    }
}

/// Splits a text into the leading number and the unit after it.
fn number_and_unit(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let plain = |c: char| c.is_ascii_digit() || c == '.' || c == '+' || c == '-';
    let mut end = text.find(|c| !plain(c)).unwrap_or(text.len());
    // `e` starts an exponent only if digits follow.
    if let Some(after) = text[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(after.starts_with(['+', '-']));
        let digits = after[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            end += 1 + sign + digits;
        }
    }
    let number = text[..end]
        .parse()
        .map_err(|_| format!("\"{text}\" does not start with a number"))?;
    Ok((number, text[end..].trim()))
}

/// Parses a rate to bits/s. `B` means bytes and `b` bits: `10MB/s` is 80 Mbit/s, `10Mb/s` is
/// 10 Mbit/s. Bytes need `/s` or `ps` after them, because `10MB` is a size.
///
/// # Errors
/// The text is not a rate; the message says how to write one.
pub fn rate(text: &str) -> Result<f64, String> {
    RATE.parse(text)
}

/// Parses a time to seconds. The unit is required, because units differ by factors of a million.
///
/// # Errors
/// The text is not a time; the message says how to write one.
pub fn time(text: &str) -> Result<f64, String> {
    TIME.parse(text)
}

/// Parses a size to bytes; a bare number counts as bytes.
///
/// # Errors
/// The text is not a size; the message says how to write one.
pub fn bytes(text: &str) -> Result<f64, String> {
    SIZE.parse(text)
}

/// The size of a queue, in the kind of unit in which it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// Size in bytes.
    Bytes(f64),
    /// Time to drain the queue at the rate of its port, in s.
    Seconds(f64),
    /// Number of packets of the port's packet size.
    Packets(f64),
}

/// Parses a queue size: `64kB`, a time at the rate of the port such as `10ms`, or packets such
/// as `100pkts`; a bare number counts as bytes.
///
/// # Errors
/// The text is none of these; the message says how to write one.
pub fn buffer(text: &str) -> Result<Buffer, String> {
    let unit = number_and_unit(text)?.1;
    if TIME.size_of(unit).is_some() {
        return TIME.parse(text).map(Buffer::Seconds);
    }
    let told = |e| format!("{e}; or a time, 10ms; or packets, 100pkts");
    let bytes = SIZE.parse(text).map_err(told)?;
    let packet = SIZE
        .size_of(PACKETS)
        .filter(|_| SIZE.is_same(unit, PACKETS));
    Ok(packet.map_or(Buffer::Bytes(bytes), |packet_bytes| {
        Buffer::Packets(bytes / packet_bytes)
    }))
}

/// Parses a ratio, which may be above 1: `80%`, `1.2`.
///
/// # Errors
/// The text is not a ratio; the message says how to write one.
pub fn ratio(text: &str) -> Result<f64, String> {
    RATIO.parse(text)
}

/// Parses a fraction of at most 1: `98%` or `0.98`.
///
/// # Errors
/// The text is not a fraction, or is above 1.
pub fn fraction(text: &str) -> Result<f64, String> {
    match ratio(text)? {
        v if v <= 1.0 => Ok(v),
        _ if text.trim_end().ends_with('%') => Err(format!("\"{text}\" is above 100%")),
        _ => Err(format!(
            "\"{text}\" is above 1; write {text}% if it is in percent"
        )),
    }
}

/// Parses a number without a unit.
///
/// # Errors
/// The text is not a number, or has a unit.
pub fn number(text: &str) -> Result<f64, String> {
    NUMBER.parse(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Checks the cases of `contract/units.toml`, which also test the lab's parser.
    #[test]
    fn the_cases_of_the_table() {
        let table = include_str!("../../../../contract/units.toml");
        let quantities: toml::Table = toml::from_str(table).unwrap();
        let mut cases = 0;
        for quantity in [RATE, TIME, SIZE, RATIO, NUMBER] {
            for (text, value) in quantities[quantity.name]["cases"].as_table().unwrap() {
                cases += 1;
                let found = quantity.parse(text);
                match value.as_float() {
                    None => assert!(found.is_err(), "{text}: {found:?}"),
                    Some(v) => {
                        let found = found.unwrap_or_else(|e| panic!("{e}"));
                        assert!((found - v).abs() <= 1e-9 * v, "{text}: {found}, not {v}");
                    }
                }
            }
        }
        assert!(cases > 70);
    }

    #[test]
    fn a_buffer_keeps_the_unit_that_it_was_given_in() {
        for (text, value) in [
            ("300kB", Buffer::Bytes(300e3)),
            ("1514", Buffer::Bytes(1514.0)),
            ("10ms", Buffer::Seconds(0.01)),
            ("100pkts", Buffer::Packets(100.0)),
            ("40 Packets", Buffer::Packets(40.0)),
        ] {
            assert_eq!(buffer(text), Ok(value), "{text}");
        }
        for (text, word) in [
            ("-1ms", "below 0"),
            ("10Mb", "is a rate"),
            ("9x", "100pkts"),
        ] {
            let said = buffer(text).unwrap_err();
            assert!(said.contains(word), "{said}");
        }
    }

    #[test]
    fn refusals_say_what_to_write() {
        for (found, words) in [
            (
                rate("10MB"),
                ["is a size, not a rate", "50mbit (units: bit, kbit, mbit"],
            ),
            (rate("50"), ["has no unit", "MB/s"]),
            (rate("fast"), ["does not start with a number", ""]),
            (time("60"), ["has no unit", "ms"]),
            (bytes("10Mb"), ["is a rate, not a size", "kB"]),
            (number("12s"), ["is a time, not a number", "for example 12"]),
            (fraction("98"), ["is above 1", "98%"]),
            (fraction("120%"), ["is above 100%", ""]),
        ] {
            let e = found.unwrap_err();
            assert!(words.iter().all(|w| e.contains(w)), "{e}");
        }
    }
}
