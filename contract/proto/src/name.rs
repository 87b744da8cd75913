// SPDX-License-Identifier: Apache-2.0
//! Names of hosts and phases, which callers choose.

/// Longest name, in bytes.
const MAX_BYTES: usize = 64;
/// The rule of [`is_name`], in words.
pub const NAME_RULE: &str = "1 to 64 letters, digits and -_.:%, not starting with - or %";

/// Returns whether a name is safe to show in terminals and spreadsheets, without escapes or
/// formulas: ASCII letters, digits and `-_.:%`, as in host names and addresses.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:%".contains(c);
    (1..=MAX_BYTES).contains(&text.len())
        && text.chars().all(plain)
        && !text.starts_with(['-', '%'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_or_a_spreadsheet_would_take_for_its_own_is_no_name() {
        for name in [
            "web-1",
            "10.0.0.1",
            "fe80::1%eth0",
            "::1",
            "_x",
            "a".repeat(64).as_str(),
        ] {
            assert!(is_name(name), "{name}");
        }
        let long = "a".repeat(65);
        for bad in [
            "", "=1+1", "@x", "+1", "-1", "a\nb", "\x1b[2J", "a\0", "a b", "a,b", "é", &long,
        ] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
