// SPDX-License-Identifier: Apache-2.0
//! Bounds on the phases that are kept: their number, and the memory of their results.

use super::{Phase, PhaseLink, Phases, State};
use std::mem::size_of;
use tidemark_estimators::LinkId;

const MAX_PHASES: usize = 1000;
/// A link's estimate and advice take some 50 kB with 100 flows.
const MAX_BYTES: usize = 256 << 20;

impl Phases {
    /// Memory used by all phases, bytes, to within a factor of two.
    fn memory_bytes(&self) -> usize {
        self.all.iter().map(Phase::memory_bytes).sum()
    }

    /// Drops the oldest phases beyond the bounds, complete ones first; the newest stays.
    pub(super) fn bound(&mut self) {
        self.keep(MAX_PHASES, MAX_BYTES);
    }

    fn keep(&mut self, phases: usize, bytes: usize) {
        while self.all.len() > phases.max(1) || (self.all.len() > 1 && self.memory_bytes() > bytes)
        {
            let older = &self.all[..self.all.len() - 1];
            let complete = older.iter().position(|p| p.state == State::Complete);
            self.all.remove(complete.unwrap_or(0));
            self.forgotten += 1;
        }
    }
}

impl Phase {
    fn memory_bytes(&self) -> usize {
        let entry = size_of::<(LinkId, PhaseLink)>();
        let results = self.links.values().map(|l| l.result_bytes);
        size_of::<Self>() + self.links.len() * entry + results.sum::<usize>()
    }
}

impl PhaseLink {
    /// Notes the size of the results: nearly that of their JSON.
    pub(super) fn weigh(&mut self) {
        let estimate = serde_json::to_vec(&self.estimate.as_deref());
        let advice = serde_json::to_vec(&self.advice.as_deref());
        let length = |json: serde_json::Result<Vec<u8>>| json.map_or(0, |j| j.len());
        self.result_bytes = length(estimate) + length(advice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn phase(name: u64, state: State, result_bytes: usize) -> Phase {
        let link = PhaseLink {
            result_bytes,
            ..PhaseLink::default()
        };
        let id = LinkId {
            node_id: 1,
            port: 1,
            queue: 0,
        };
        Phase {
            state,
            ..Phase::of_run(
                &name.to_string(),
                (name, name),
                Default::default(),
                BTreeMap::from([(id, link)]),
            )
        }
    }

    fn names(phases: &Phases) -> Vec<&str> {
        phases.all.iter().map(|p| p.name.as_str()).collect()
    }

    #[test]
    fn the_oldest_complete_ones_go_first() {
        let mut phases = Phases::default();
        phases.add(phase(0, State::Running, 0));
        (1..=1001).for_each(|n| phases.add(phase(n, State::Complete, 0)));
        assert_eq!(phases.all.len(), MAX_PHASES);
        assert_eq!(phases.forgotten, 2);
        assert_eq!(names(&phases)[..2], ["0", "3"]);
    }

    #[test]
    fn running_ones_are_bounded_too() {
        let mut phases = Phases::default();
        (0..1100).for_each(|n| phases.add(phase(n, State::Running, 0)));
        assert_eq!(phases.all.len(), MAX_PHASES);
        assert_eq!(phases.forgotten, 100);
        assert!(phases.get("1099").is_some(), "the newest stays");
    }

    #[test]
    fn large_results_are_bounded_in_bytes() {
        let mut phases = Phases::default();
        for n in 0..10 {
            phases.add(phase(n, State::Complete, MAX_BYTES / 3));
            assert!(phases.memory_bytes() <= MAX_BYTES);
        }
        assert_eq!(names(&phases), ["8", "9"]);
        assert_eq!(phases.forgotten, 8);
        // A phase that is too large on its own is kept: it was asked for.
        phases.add(phase(10, State::Complete, 2 * MAX_BYTES));
        assert_eq!(names(&phases), ["10"]);
    }
}
