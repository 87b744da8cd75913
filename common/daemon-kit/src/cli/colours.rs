// SPDX-License-Identifier: Apache-2.0
//! Decides whether output has colours.

use std::ffi::OsStr;
use std::io::IsTerminal;

/// Returns whether a stream gets colours: if it is a terminal and NO_COLOR
/// (<https://no-color.org>) is not set.
pub fn colours(stream: &impl IsTerminal) -> bool {
    wanted(
        stream.is_terminal(),
        std::env::var_os("NO_COLOR").as_deref(),
    )
}

/// An empty NO_COLOR counts as not set.
fn wanted(terminal: bool, no_color: Option<&OsStr>) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_no_color_gets_them() {
        assert!(wanted(true, None));
        assert!(wanted(true, Some(OsStr::new(""))));
        for asked in ["1", "0", "false", " "] {
            assert!(!wanted(true, Some(OsStr::new(asked))), "{asked:?}");
        }
    }

    #[test]
    fn nothing_else_gets_them() {
        assert!(!wanted(false, None));
        assert!(!wanted(false, Some(OsStr::new(""))));
        assert!(!wanted(false, Some(OsStr::new("1"))));
    }
}
