// SPDX-License-Identifier: Apache-2.0
//! Parses the part of a line before the fields, and numbers.

/// The tracepoint of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Probe,
    Retransmit,
    CongState,
}

/// A line of a known tracepoint.
pub(super) struct Found<'a> {
    pub kind: Kind,
    /// `None` if the stamp is not a number.
    pub time_ns: Option<u64>,
    /// Text after `name: `.
    pub fields: &'a [u8],
}

const NAMES: [(&[u8], Kind); 3] = [
    (b"tcp_probe: ", Kind::Probe),
    (b"tcp_retransmit_skb: ", Kind::Retransmit),
    (b"tcp_cong_state_set: ", Kind::CongState),
];

/// Returns tracepoint and fields of the text after a timestamp.
#[inline]
fn named(rest: &[u8]) -> Option<(Kind, &[u8])> {
    NAMES
        .iter()
        .find_map(|(name, kind)| Some((*kind, rest.strip_prefix(*name)?)))
}

/// Like [`named`], for a name as in `perf script`, after spaces, perhaps the event's period, and
/// the group, or as in `trace-cmd report --ts-diff`, after the time since the last event.
fn named_with_more(rest: &[u8]) -> Option<(Kind, &[u8])> {
    let rest = rest.trim_ascii_start();
    let rest = match rest.strip_prefix(b"(+") {
        Some(since) => since.get(memchr::memchr(b')', since)? + 1..)?,
        None => rest.get(rest.iter().take_while(|b| b.is_ascii_digit()).count()..)?,
    };
    let rest = rest.trim_ascii_start();
    named(rest.strip_prefix(b"tcp:").unwrap_or(rest))
}

/// Whether a line is of an event with a time: `… seconds.fraction: name: …`.
pub(super) fn is_of_a_trace(line: &[u8]) -> bool {
    let mut from = 0;
    while let Some(at) = find_colon_space(line, from) {
        from = at + 1;
        if stamp(line, at).is_some() {
            return true;
        }
    }
    false
}

/// Reads the time that ends at `end`.
fn stamp(line: &[u8], end: usize) -> Option<u64> {
    let before = line.get(..end)?;
    let start = before.iter().rposition(|&b| b == b' ').map_or(0, |p| p + 1);
    timestamp_ns(before.get(start..)?)
}

/// Splits `comm-pid [cpu] flags time: name: fields`. The command may contain anything, including
/// spaces and colons: the name counts only after ` time: `. `trace-cmd report` pads the name with
/// spaces; `perf script` puts spaces and the group before it.
#[inline]
pub(super) fn find_event(line: &[u8]) -> Option<Found<'_>> {
    if line.first() == Some(&b'#') {
        return None;
    }
    let mut from = 0;
    let mut bad_time = None;
    while let Some(at) = find_colon_space(line, from) {
        from = at + 1;
        let rest = line.get(at + 2..)?;
        let Some((kind, fields)) = named(rest).or_else(|| named_with_more(rest)) else {
            continue;
        };
        let time_ns = stamp(line, at);
        let found = Found {
            kind,
            time_ns,
            fields: trim_end(fields).trim_ascii_start(),
        };
        if time_ns.is_some() {
            return Some(found);
        }
        // Perhaps the command has the name of a tracepoint: search on.
        bad_time = bad_time.or(Some(found));
    }
    bad_time
}

#[inline]
fn find_colon_space(line: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr(b':', line.get(at..)?)?;
        if line.get(at + 1) == Some(&b' ') {
            return Some(at);
        }
        at += 1;
    }
}

fn trim_end(fields: &[u8]) -> &[u8] {
    match fields {
        [rest @ .., b'\r', b'\n'] | [rest @ .., b'\n'] => rest,
        all => all,
    }
}

/// Parses `seconds.fraction`, with up to nine digits of fraction, to ns.
#[inline]
fn timestamp_ns(text: &[u8]) -> Option<u64> {
    let dot = text.iter().position(|&b| b == b'.')?;
    let seconds = decimal(text.get(..dot)?)?;
    let fraction = text.get(dot + 1..)?;
    let scale = 10u64.checked_pow(9u32.checked_sub(u32::try_from(fraction.len()).ok()?)?)?;
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(decimal(fraction)?.checked_mul(scale)?)
}

/// Parses digits only, at least one.
#[inline]
pub(super) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    let mut value = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // 19 digits fit in 64 bits.
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// Parses hexadecimal digits only, 1 to 16 of them.
#[inline]
pub(super) fn hex(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    let mut value = 0u64;
    for &byte in text {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return None,
        };
        value = value << 4 | u64::from(digit);
    }
    Some(value)
}

/// Parses a decimal number, or a hexadecimal one after `0x`.
#[inline]
pub(super) fn number(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x") {
        Some(digits) => hex(digits),
        None => decimal(text),
    }
}
