// SPDX-License-Identifier: Apache-2.0
//! Number of LBP flows that are active at a time.

use super::flows::Flow;

/// Times within the window at which LBP flows start and stop sending.
pub(super) struct Activity {
    always: f64,
    starts_ns: Vec<u64>,
    ends_ns: Vec<u64>,
}

impl Activity {
    pub fn of(lbp: &[&Flow<'_, '_>]) -> Self {
        let mut all = Self {
            always: 0.0,
            starts_ns: Vec::new(),
            ends_ns: Vec::new(),
        };
        for f in lbp {
            if f.weight() >= 1.0 {
                all.always += 1.0;
            } else {
                all.starts_ns.extend(f.stretches.iter().map(|s| s.0));
                all.ends_ns.extend(f.stretches.iter().map(|s| s.1));
            }
        }
        all.starts_ns.sort_unstable();
        all.ends_ns.sort_unstable();
        all
    }

    /// A constant number of flows throughout the window.
    #[cfg(test)]
    pub fn steady(flows: f64) -> Self {
        Self {
            always: flows,
            starts_ns: Vec::new(),
            ends_ns: Vec::new(),
        }
    }

    /// Number of LBP flows active at any time within `[from_ns, to_ns]`.
    pub fn during(&self, from_ns: u64, to_ns: u64) -> f64 {
        let begun = self.starts_ns.partition_point(|&s| s <= to_ns);
        let ended = self.ends_ns.partition_point(|&e| e < from_ns);
        self.always + begun.saturating_sub(ended) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_come_and_go_count_while_they_are_there() {
        let a = Activity {
            always: 3.0,
            starts_ns: vec![0, 10, 20],
            ends_ns: vec![5, 15, 40],
        };
        let counted = [(0, 0), (6, 9), (12, 22), (16, 19), (50, 60)].map(|(f, t)| a.during(f, t));
        assert_eq!(counted, [4.0, 3.0, 5.0, 3.0, 3.0]);
    }
}
