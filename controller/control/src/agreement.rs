// SPDX-License-Identifier: Apache-2.0
//! Number of seconds for which the advice has asked for the same direction.
//!
//! [`Pool`](tidemark_advice::Pool) and the value that the advisor keeps make the advised number
//! steady; this module says when the advice has lasted long enough to act on it.

use std::cmp::Ordering;

/// Seconds in a row in which the advice was to raise, to lower or to keep the limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreement {
    direction: Option<Ordering>,
    seconds: u32,
}

impl Agreement {
    /// Adds the advice of one second and the limit in force, both in bytes.
    pub(crate) fn push(&mut self, advised: u64, in_force: Option<u64>) {
        let direction = in_force.map(|b| advised.cmp(&b));
        if direction != self.direction {
            *self = Self {
                direction,
                seconds: 0,
            };
        }
        self.seconds = self.seconds.saturating_add(1);
    }

    /// Restarts the count, because limit, traffic or targets changed.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of seconds in a row.
    pub(crate) fn seconds(&self) -> u32 {
        self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_one_direction_are_counted() {
        let mut a = Agreement::default();
        let mut after = |advised| {
            a.push(advised, Some(100));
            a.seconds()
        };
        assert_eq!([150, 120, 90, 80, 100].map(&mut after), [1, 2, 1, 2, 1]);
        a.restart();
        assert_eq!(a.seconds(), 0);
    }
}
