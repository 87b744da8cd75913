// SPDX-License-Identifier: Apache-2.0
//! Schedules the links' estimates if one second does not suffice for all of them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tidemark_control::LinkControl;
use tidemark_estimators::LinkId;

/// A longer pass makes links wait longer for their turn. After [`PASSES`] passes in a row that
/// would take less than [`ROOMY`] with turns a second shorter, turns become a second shorter.
const LONG: Duration = Duration::from_millis(800);
const ROOMY: Duration = Duration::from_millis(700);
const PASSES: u32 = 3;
/// Maximum time between two turns of a link, s, however long a pass takes.
const MOST_S: u32 = 10;

/// Schedule in which a link is estimated every `every_s` seconds; under control, every second.
#[derive(Debug)]
pub struct Turns {
    every_s: AtomicU32,
    second: AtomicU32,
    roomy: AtomicU32,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            every_s: AtomicU32::new(1),
            second: AtomicU32::new(0),
            roomy: AtomicU32::new(0),
        }
    }
}

impl Turns {
    /// Seconds between two estimates of a link that is only observed.
    pub fn every_s(&self) -> u32 {
        self.every_s.load(Ordering::Relaxed)
    }

    /// Whether this pass estimates the link.
    pub(super) fn is_due(&self, id: LinkId, link: Option<&LinkControl>) -> bool {
        is_turn(id, self.second.load(Ordering::Relaxed), self.every_s())
            || link.is_none_or(|l| l.is_in_use() || l.estimate().is_none())
    }

    /// Notes that a pass ended, and how long it took.
    pub(super) fn ended(&self, took: Duration) {
        self.second.fetch_add(1, Ordering::Relaxed);
        let every_s = self.every_s();
        // Number of turns that a pass over all links needs, extrapolated from this part.
        let needed = (took.as_secs_f64() * f64::from(every_s) / LONG.as_secs_f64()).ceil();
        let is_roomy = every_s > 1 && took * every_s / (every_s - 1) < ROOMY;
        let roomy = u32::from(is_roomy) * (self.roomy.load(Ordering::Relaxed) + 1);
        let next = if took > LONG {
            (needed as u32).clamp(every_s, MOST_S)
        } else if roomy == PASSES {
            every_s - 1
        } else {
            every_s
        };
        (self.roomy).store(if next == every_s { roomy } else { 0 }, Ordering::Relaxed);
        if next != every_s {
            tracing::warn!(
                "estimates took {:.2} s of a second: each link that is only observed is estimated every {next} s",
                took.as_secs_f64()
            );
            self.every_s.store(next, Ordering::Relaxed);
        }
    }
}

fn is_turn(id: LinkId, second: u32, every_s: u32) -> bool {
    let turn = id.node_id.wrapping_add(id.port).wrapping_add(id.queue);
    second.wrapping_add(turn).is_multiple_of(every_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_take_turns_where_a_second_does_not_suffice() {
        let turns = Turns::default();
        assert_eq!(turns.every_s(), 1);
        // 2 s of work for all: three turns.
        let work = |every_s: u32| Duration::from_secs(2) / every_s;
        for _ in 0..2 {
            turns.ended(work(turns.every_s()));
            assert_eq!(turns.every_s(), 3);
        }
        for _ in 0..20 {
            turns.ended(Duration::from_millis(200) / turns.every_s());
        }
        assert_eq!(turns.every_s(), 1);
        for _ in 0..20 {
            turns.ended(Duration::from_secs(60));
        }
        assert_eq!(turns.every_s(), MOST_S);
    }

    /// For example after a collector's backlog has been processed, and passes are short again.
    #[test]
    fn each_link_has_every_second_again_where_that_suffices() {
        let turns = Turns::default();
        turns.ended(Duration::from_secs(60));
        assert_eq!(turns.every_s(), MOST_S);
        for _ in 0..PASSES * (MOST_S - 1) {
            turns.ended(Duration::from_millis(650) / turns.every_s());
        }
        assert_eq!(turns.every_s(), 1);
        turns.ended(Duration::from_millis(750));
        assert_eq!(turns.every_s(), 1);
    }

    #[test]
    fn each_link_has_one_turn_and_each_second_its_part() {
        for every_s in 1..=MOST_S {
            let of = |second| {
                let due = |port: &u32| is_turn(LinkId::new(7, *port, 0), second, every_s);
                (0..100).filter(due).collect::<Vec<u32>>()
            };
            let mut all: Vec<u32> = (0..every_s).flat_map(of).collect();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<u32>>());
            assert!((0..every_s).all(|s| of(s).len() <= 100usize.div_ceil(every_s as usize)));
        }
    }
}
