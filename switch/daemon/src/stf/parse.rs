// SPDX-License-Identifier: Apache-2.0
//! Parses parts of the statements of `.stf` files.

use anyhow::{Context, Result, anyhow, bail};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub action: String,
    /// Arguments: name, if given, and value.
    pub args: Vec<(Option<String>, String)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub table: String,
    pub priority: i64,
    /// Match fields: key and value.
    pub matches: Vec<(String, String)>,
    pub action: Call,
}

pub(crate) fn hex(s: &str) -> Result<Vec<u8>> {
    let digits: String = s.split_whitespace().collect();
    if !digits.len().is_multiple_of(2) {
        bail!("odd number of hex digits");
    }
    digits
        .as_bytes()
        .chunks(2)
        .map(|c| {
            let pair = std::str::from_utf8(c)?;
            Ok(u8::from_str_radix(pair, 16)?)
        })
        .collect()
}

/// Parses `table [priority] key:value… action(args) [= id]`.
pub(super) fn entry(rest: &str) -> Result<Entry> {
    let rest = rest.split(" = ").next().unwrap_or(rest);
    let open = rest.find('(').ok_or_else(|| anyhow!("no action"))?;
    let start = rest
        .get(..open)
        .and_then(|h| h.trim_end().rfind(char::is_whitespace))
        .map_or(0, |i| i + 1);
    let (head, action) = rest.split_at(start);
    let mut words = head.split_whitespace();
    let table = words.next().ok_or_else(|| anyhow!("no table"))?.to_owned();
    let mut priority = 0;
    let mut matches = Vec::new();
    for w in words {
        match w.split_once(':') {
            Some((k, v)) => matches.push((k.to_owned(), v.to_owned())),
            None => priority = w.parse().with_context(|| format!("priority \"{w}\""))?,
        }
    }
    Ok(Entry {
        table,
        priority,
        matches,
        action: call(action)?,
    })
}

pub(super) fn call(s: &str) -> Result<Call> {
    let (action, rest) = s
        .trim()
        .split_once('(')
        .ok_or_else(|| anyhow!("no arguments"))?;
    let inner = rest.split_once(')').ok_or_else(|| anyhow!("missing )"))?.0;
    let args = inner
        .split(',')
        .map(str::trim)
        .filter(|a| !a.is_empty())
        .map(|a| match a.split_once(':') {
            Some((n, v)) => (Some(n.trim().to_owned()), v.trim().to_owned()),
            None => (None, a.to_owned()),
        })
        .collect();
    Ok(Call {
        action: action.trim().to_owned(),
        args,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_entries() {
        assert_eq!(
            entry("c.t 3 h.a:0x1* h.b:7 c.go(port:2, 5) = $x").unwrap(),
            Entry {
                table: "c.t".into(),
                priority: 3,
                matches: vec![("h.a".into(), "0x1*".into()), ("h.b".into(), "7".into())],
                action: Call {
                    action: "c.go".into(),
                    args: vec![(Some("port".into()), "2".into()), (None, "5".into())]
                }
            }
        );
        assert_eq!(hex("00 ff0A").unwrap(), [0, 0xff, 0x0a]);
        assert!(hex("abc").is_err());
    }
}
