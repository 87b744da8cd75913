// SPDX-License-Identifier: Apache-2.0
//! Pages of long lists.

use super::error::ApiError;
use std::fmt::Display;
use std::ops::Range;

/// One page of a list, and where the next one begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub range: Range<usize>,
    /// `None` on the last page.
    pub next_offset: Option<usize>,
}

/// Returns the page that begins at `offset` and holds at most `most` of `all` items.
pub(super) fn of(all: usize, offset: Option<usize>, most: usize) -> Page {
    let start = offset.unwrap_or(0).min(all);
    let end = start.saturating_add(most).min(all);
    Page {
        range: start..end,
        next_offset: (end < all).then_some(end),
    }
}

/// Returns the number of items asked for by the parameter `field`.
///
/// # Errors
/// 400 if the number is 0 or above `most`.
pub(super) fn asked<N: PartialOrd + From<u8> + Display>(
    field: &str,
    asked: Option<N>,
    default: N,
    most: N,
) -> Result<N, ApiError> {
    let asked = asked.unwrap_or(default);
    match N::from(1) <= asked && asked <= most {
        true => Ok(asked),
        false => Err(ApiError::bad(field, format!("must be 1 to {most}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_to_the_end() {
        for all in [0, 1, 9, 10, 11, 25] {
            let (mut seen, mut next) = (0, Some(0));
            while let Some(offset) = next {
                let page = of(all, Some(offset), 10);
                assert_eq!(page.range.start, seen);
                seen = page.range.end;
                next = page.next_offset;
            }
            assert_eq!(seen, all);
        }
    }

    #[test]
    fn beyond_the_end_there_is_nothing() {
        let none = Page {
            range: 5..5,
            next_offset: None,
        };
        assert_eq!(of(5, Some(usize::MAX), 10), none);
    }
}
