// SPDX-License-Identifier: Apache-2.0
//! Parses ports, rates, times and depths of the command line into the traffic manager's units.

use daemon_kit::cli::units::{self, Buffer};

/// Largest port number: v1model has 9 bits, and 511 means "drop".
const MAX_PORT: u32 = 510;
const MOST_BPS: f64 = 1e15;
const MOST_DELAY_S: f64 = 3600.0;

pub(crate) fn port_number(s: &str) -> Result<u32, String> {
    s.parse()
        .ok()
        .filter(|n| *n <= MAX_PORT)
        .ok_or_else(|| format!("port number \"{s}\": 0 to {MAX_PORT}"))
}

/// Parses `100mbit`, `1gbit`, or `unlimited`, which is 0, into bits per second.
pub(crate) fn rate(s: &str) -> Result<u64, String> {
    if s == "unlimited" || s == "0" {
        return Ok(0);
    }
    let bps = units::rate(s)
        .map_err(|e| format!("rate {e}, or unlimited"))?
        .round();
    if (1.0..MOST_BPS).contains(&bps) {
        Ok(bps as u64)
    } else {
        Err(format!(
            "rate \"{s}\": write 1bit to below 1000tbit, or unlimited"
        ))
    }
}

/// Parses `5ms`, `200us`, `10ns`, at most an hour, into nanoseconds.
pub(crate) fn delay(s: &str) -> Result<u64, String> {
    if s == "0" {
        return Ok(0);
    }
    let seconds = units::time(s).map_err(|e| format!("delay {e}"))?;
    if seconds <= MOST_DELAY_S {
        Ok((seconds * 1e9).round() as u64)
    } else {
        Err(format!("delay \"{s}\" is above an hour"))
    }
}

/// Parses `4096p`, `4096`, `4096pkts` or `unlimited` into packets of any size, so that neither
/// bytes nor a time can be converted.
pub(crate) fn depth(s: &str) -> Result<u32, String> {
    if s == "unlimited" {
        return Ok(0);
    }
    let text = s.strip_suffix('p').unwrap_or(s);
    let packets = match units::buffer(s) {
        Ok(Buffer::Packets(n)) => Some(n),
        _ => text.parse::<u32>().ok().map(f64::from),
    };
    let whole = packets.filter(|n| n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(n));
    whole.map(|n| n as u32).ok_or_else(|| {
        format!(
            "queue \"{s}\": counts whole packets, write for example 4096p, or unlimited; a limit in \
             bytes or ms is set by the controller (tidemark-controller set --limit 10ms)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!(rate("100mbit"), Ok(100_000_000));
        assert_eq!(rate("100Mbps"), Ok(100_000_000));
        assert_eq!(rate("2.5gbit"), Ok(2_500_000_000));
        assert_eq!(rate("unlimited"), Ok(0));
        assert_eq!(delay("5ms"), Ok(5_000_000));
        assert_eq!(delay("1.5us"), Ok(1_500));
        assert_eq!(delay("1s"), Ok(1_000_000_000));
        assert_eq!(depth("4096p"), Ok(4096));
        assert_eq!(depth("4096"), Ok(4096));
        assert_eq!(depth("100pkts"), Ok(100));
        assert_eq!(depth("40 packets"), Ok(40));
        assert_eq!(depth("unlimited"), Ok(0));
    }

    #[test]
    fn refuses_nonsense() {
        for s in [
            "", "100", "mbit", "-1mbit", "nanmbit", "infgbit", "0.1bit", "1e6gbit",
        ] {
            assert!(rate(s).is_err(), "{s}");
        }
        for s in ["5", "ms", "-1ms", "1e30s", "61min"] {
            assert!(delay(s).is_err(), "{s}");
        }
        for s in ["many", "1.5pkts", "-1", "9e9pkts", "10ms", "300kB", "300B"] {
            let said = depth(s).unwrap_err();
            assert!(said.contains("--limit 10ms"), "{said}");
        }
    }
}
