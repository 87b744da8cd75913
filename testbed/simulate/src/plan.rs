// SPDX-License-Identifier: Apache-2.0
//! What a seed means: the link, its traffic, the targets, and the faults.

use crate::fault::{Fault, Kind};
use tidemark_seeded_rng::Rng;

/// Faults begin after, and have all ended by, ms.
const FAULTS_FROM_MS: u64 = 6_000;
const FAULTS_TO_MS: u64 = 24_000;
/// After the last fault the bounds hold again within so long, ms, where nobody else
/// writes limits.
const SETTLE_MS: u64 = 22_000;
/// Somebody else may leave a limit several halvings further away; each is a trial.
const STEPS_BACK_MS: u64 = 15_000;
/// And they are watched for so long, ms.
const WATCH_MS: u64 = 4_000;

fn settle_ms(faults: &[Fault]) -> u64 {
    let others = |f: &Fault| matches!(f.kind, Kind::SecondWriter(_) | Kind::MeetsTrial { .. });
    SETTLE_MS + STEPS_BACK_MS * u64::from(faults.iter().any(others))
}

/// A third of the seeds has one more: where limits are written, from the first on.
fn fault_of_writes(seed: u64) -> Option<Fault> {
    let mut r = Rng::of_part(seed, 7);
    Some(Fault {
        kind: Kind::draw_of_writes(&mut r)?,
        at_ms: r.between(300, FAULTS_TO_MS - 10_000),
        for_ms: r.between(2_000, 10_000),
    })
}

/// A run, before it has run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it was drawn from.
    pub seed: u64,
    /// Rate of the port.
    pub rate_bps: u64,
    /// Propagation and processing of all but the queue, both ways, ns.
    pub base_rtt_ns: u64,
    /// Senders from the first moment on.
    pub flows: usize,
    /// The bound of queueing delay that auto mode has to keep.
    pub delay_ms: f64,
    /// Limit of the port at the start.
    pub start_limit_bytes: u64,
    /// Smallest limit that the controller may write.
    pub min_limit_bytes: u64,
    /// Largest limit that the controller may write.
    pub max_limit_bytes: u64,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// When it ends, after the last fault, ms.
    pub end_ms: u64,
}

impl Plan {
    /// The run of a seed.
    pub fn of(seed: u64) -> Self {
        let mut r = Rng::of_part(seed, 0);
        let rate_bps = r.between(8, 16) * 1_000_000;
        let delay_ms = r.between(15, 30) as f64;
        let target_bytes = (delay_ms * rate_bps as f64 / 8e3) as u64;
        let start_limit_bytes = match r.index(3) {
            0 => target_bytes,
            1 => target_bytes * 2,
            _ => target_bytes * 4,
        };
        let count = r.index(5);
        let mut faults: Vec<Fault> = (0..count)
            .map(|_| Fault {
                at_ms: r.between(FAULTS_FROM_MS, FAULTS_TO_MS - 4_000),
                for_ms: r.between(100, 4_000),
                kind: Kind::draw(&mut r),
            })
            .collect();
        faults.sort_by_key(|f| f.at_ms);
        faults.extend(fault_of_writes(seed));
        let last = faults.iter().map(|f| f.at_ms + f.for_ms).max().unwrap_or(0);
        Self {
            seed,
            rate_bps,
            base_rtt_ns: r.between(10, 40) * 1_000_000,
            flows: r.between(3, 12) as usize,
            delay_ms,
            start_limit_bytes,
            min_limit_bytes: 15_140,
            max_limit_bytes: target_bytes * 5,
            end_ms: last.max(FAULTS_FROM_MS) + settle_ms(&faults) + WATCH_MS,
            faults,
        }
    }

    /// After the last fault the bounds hold again within so long, ms.
    pub fn settle_ms(&self) -> u64 {
        settle_ms(&self.faults)
    }

    /// The end follows the last fault.
    pub fn settle(&mut self) {
        let last = self.faults.iter().map(|f| f.at_ms + f.for_ms).max();
        let last = last.unwrap_or(0).max(FAULTS_FROM_MS);
        self.end_ms = last + self.settle_ms() + WATCH_MS;
    }

    /// When the last fault has ended, ms.
    pub fn quiet_ms(&self) -> u64 {
        self.end_ms.saturating_sub(self.settle_ms() + WATCH_MS)
    }

    /// Whether any fault is of a kind.
    pub fn has(&self, is: impl Fn(&Kind) -> bool) -> bool {
        self.faults.iter().any(|f| is(&f.kind))
    }
}
