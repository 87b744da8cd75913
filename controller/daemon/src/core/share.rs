// SPDX-License-Identifier: Apache-2.0
//! How far back charts reach when there are many links: memory does not grow with
//! their number.

/// So many links keep all that a link may; more share it.
const WHOLE_LINKS: usize = 16;

/// Part of what a link alone may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    links: usize,
}

impl Share {
    /// The part of each of so many links.
    pub fn among(links: usize) -> Self {
        Self { links }
    }

    /// The part of `most`, and no less than `least`.
    pub fn of(self, most: usize, least: usize) -> usize {
        if self.links <= WHOLE_LINKS {
            return most;
        }
        let part = most.saturating_mul(WHOLE_LINKS) / self.links;
        part.clamp(least.min(most), most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_links_keep_all_and_many_share_it() {
        assert_eq!(Share::among(0).of(1000, 10), 1000);
        assert_eq!(Share::among(WHOLE_LINKS).of(1000, 10), 1000);
        assert_eq!(Share::among(2 * WHOLE_LINKS).of(1000, 10), 500);
        assert_eq!(Share::among(1_000_000).of(1000, 10), 10);
        assert_eq!(Share::among(1_000_000).of(5, 10), 5);
    }
}
