// SPDX-License-Identifier: Apache-2.0
//! Limits how far back charts reach when there are many links, so that memory does not grow with
//! their number.

/// Up to this many links keep the maximum each; more links share it.
const WHOLE_LINKS: usize = 16;

/// Share of the maximum that each link may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    links: usize,
}

impl Share {
    /// Creates the share of each of this many links.
    pub fn among(links: usize) -> Self {
        Self { links }
    }

    /// Returns this share of `most`, but no less than `least`.
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
