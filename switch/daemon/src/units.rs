// SPDX-License-Identifier: Apache-2.0
//! Rates, times and depths as people write them on the command line.

/// `100mbit`, `1gbit`, `500kbit`, `1000bit`, `unlimited`; in bits per second.
pub(crate) fn rate(s: &str) -> Result<u64, String> {
    if s == "unlimited" || s == "0" {
        return Ok(0);
    }
    scaled(
        s,
        &[("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)],
    )
    .filter(|n| *n >= 1)
    .ok_or_else(|| format!("rate \"{s}\": write for example 100mbit, 1gbit, 500kbit, or unlimited"))
}

/// `5ms`, `200us`, `10ns`, `1s`; in nanoseconds.
pub(crate) fn delay(s: &str) -> Result<u64, String> {
    if s == "0" {
        return Ok(0);
    }
    scaled(s, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)])
        .filter(|n| *n <= 3_600_000_000_000)
        .ok_or_else(|| format!("delay \"{s}\": write for example 5ms, 200us, 10ns"))
}

/// `4096p`, `4096`, `unlimited`; in packets.
pub(crate) fn depth(s: &str) -> Result<u32, String> {
    if s == "unlimited" {
        return Ok(0);
    }
    s.strip_suffix('p')
        .unwrap_or(s)
        .parse()
        .map_err(|_| format!("queue \"{s}\": write for example 4096p, or unlimited"))
}

fn scaled(s: &str, units: &[(&str, f64)]) -> Option<u64> {
    let (number, factor) = units
        .iter()
        .find_map(|(u, f)| s.strip_suffix(u).map(|n| (n, *f)))?;
    let n: f64 = number.parse().ok()?;
    let v = (n * factor).round();
    (n.is_finite() && n >= 0.0 && v < 1e15).then_some(v as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!(rate("100mbit"), Ok(100_000_000));
        assert_eq!(rate("2.5gbit"), Ok(2_500_000_000));
        assert_eq!(rate("unlimited"), Ok(0));
        assert_eq!(delay("5ms"), Ok(5_000_000));
        assert_eq!(delay("1.5us"), Ok(1_500));
        assert_eq!(delay("1s"), Ok(1_000_000_000));
        assert_eq!(depth("4096p"), Ok(4096));
        assert_eq!(depth("unlimited"), Ok(0));
    }

    #[test]
    fn refuses_nonsense() {
        for s in ["", "100", "mbit", "-1mbit", "nanmbit", "infgbit"] {
            assert!(rate(s).is_err(), "{s}");
        }
        for s in ["5", "ms", "-1ms", "1e30s"] {
            assert!(delay(s).is_err(), "{s}");
        }
        assert!(depth("many").is_err());
    }
}
