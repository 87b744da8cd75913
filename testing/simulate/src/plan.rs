// SPDX-License-Identifier: Apache-2.0
//! The plan of a seed: link, traffic, targets, and faults.

use crate::fault::{Fault, Kind};
use crate::tcp::MSS;
use test_support::rng::Rng;

/// Faults begin after the first time and have ended by the second, ms.
const FAULTS_FROM_MS: u64 = 6_000;
const FAULTS_TO_MS: u64 = 24_000;
/// Time after the last fault until the bounds hold again, ms, if nobody else writes limits.
const SETTLE_MS: u64 = 22_000;
/// Additional time after somebody else's limit, several halvings away; each is a trial.
const STEPS_BACK_MS: u64 = 15_000;
const MIN_LIMIT_BYTES: u64 = 15_140;
/// Time for which the bounds are then observed, ms: loss is random.
const WATCH_DELAY_MS: u64 = 4_000;
const WATCH_LOSS_MS: u64 = 12_000;

fn settle_ms(faults: &[Fault]) -> u64 {
    let others = |f: &Fault| {
        use Kind::{KillWithinWrite, MeetsTrial, Operator, SecondWriter};
        matches!(
            f.kind,
            SecondWriter(_) | MeetsTrial { .. } | Operator(_) | KillWithinWrite(_)
        )
    };
    SETTLE_MS + STEPS_BACK_MS * u64::from(faults.iter().any(others))
}

/// For a third of the seeds, an additional fault of writing limits, from early on.
fn fault_of_writes(seed: u64) -> Option<Fault> {
    let mut r = Rng::of_part(seed, 7);
    Some(Fault {
        kind: Kind::draw_of_writes(&mut r)?,
        at_ms: r.between(300, FAULTS_TO_MS - 10_000),
        for_ms: r.between(2_000, 10_000),
    })
}

/// Seeds from here on have up to three additional faults: steps of the switch's clock, operators,
/// and kills within a write; and a third of them reports only samples. Plans of earlier seeds are
/// unchanged from when they found something.
pub const TRUST_FROM: u64 = 100_000;

fn faults_of_trust(seed: u64) -> Vec<Fault> {
    let mut r = Rng::of_part(seed, 9);
    let count = if seed < TRUST_FROM { 0 } else { r.index(4) };
    let mut fault = || Fault {
        kind: Kind::draw_of_trust(&mut r),
        at_ms: r.between(FAULTS_FROM_MS, FAULTS_TO_MS - 4_000),
        for_ms: r.between(300, 4_000),
    };
    (0..count).map(|_| fault()).collect()
}

/// Logarithms (base 2) of the sampling rates of flows with an even and an odd port: one in 2^n
/// packets is reported.
fn shifts(seed: u64) -> [u8; 2] {
    let mut r = Rng::of_part(seed, 10);
    if seed < TRUST_FROM || r.index(3) > 0 {
        return [0, 0];
    }
    [r.index(4) as u8, r.index(4) as u8]
}

/// Bound that auto mode has to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Queueing delay, ms.
    DelayMs(f64),
    /// Drops over arrivals.
    LossRate(f64),
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DelayMs(ms) => write!(f, "delay bound {ms} ms"),
            Self::LossRate(p) => write!(f, "loss bound {:.2} %", p * 100.0),
        }
    }
}

/// Gives a quarter of the seeds a bound on loss instead of delay. The limit that it requires gives
/// each flow a window of 6 to 10 segments, by the square root law.
fn loss_bound(seed: u64, flows: usize, bdp_bytes: u64) -> Option<(Bound, u64)> {
    let mut r = Rng::of_part(seed, 8);
    if r.index(4) > 0 {
        return None;
    }
    let window = r.between(60, 100) as f64 / 10.0;
    let in_flight_bytes = flows as f64 * window * f64::from(MSS + 54);
    // A window's mean is three quarters of its maximum.
    let asked_bytes = ((in_flight_bytes - bdp_bytes as f64) / 0.75).max(20_000.0);
    Some((Bound::LossRate(1.5 / (window * window)), asked_bytes as u64))
}

/// Plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of the plan.
    pub seed: u64,
    /// Rate of the port.
    pub rate_bps: u64,
    /// Round-trip time without queueing, ns.
    pub base_rtt_ns: u64,
    /// Number of senders from the start.
    pub flows: usize,
    /// The bound that auto mode has to keep.
    pub bound: Bound,
    /// Limit of the port at the start.
    pub start_limit_bytes: u64,
    /// Smallest limit that the controller may write.
    pub min_limit_bytes: u64,
    /// Largest limit that the controller may write.
    pub max_limit_bytes: u64,
    /// Sampling of flows with an even and an odd port: one in 2^n packets is reported.
    pub shifts: [u8; 2],
    /// Faults of the run.
    pub faults: Vec<Fault>,
    /// End of the run, after the last fault, ms.
    pub end_ms: u64,
}

impl Plan {
    /// Returns the plan of a seed.
    pub fn of(seed: u64) -> Self {
        let mut r = Rng::of_part(seed, 0);
        let rate_bps = r.between(8, 16) * 1_000_000;
        let delay_ms = r.between(15, 30) as f64;
        let target_bytes = (delay_ms * rate_bps as f64 / 8e3) as u64;
        let start = r.index(3);
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
        faults.extend(faults_of_trust(seed));
        let base_rtt_ns = r.between(10, 40) * 1_000_000;
        let flows = r.between(3, 12) as usize;
        let bdp_bytes = rate_bps / 8 * (base_rtt_ns / 1_000_000) / 1000;
        // Starts at the required limit, or two or four times away from it.
        let (bound, start_limit_bytes, max_limit_bytes) = match loss_bound(seed, flows, bdp_bytes) {
            Some((bound, asked)) => (bound, (asked >> start).max(MIN_LIMIT_BYTES), asked * 5),
            None => (
                Bound::DelayMs(delay_ms),
                target_bytes << start,
                target_bytes * 5,
            ),
        };
        let mut plan = Self {
            seed,
            rate_bps,
            base_rtt_ns,
            flows,
            bound,
            start_limit_bytes,
            min_limit_bytes: MIN_LIMIT_BYTES,
            max_limit_bytes,
            end_ms: 0,
            shifts: shifts(seed),
            faults,
        };
        plan.settle();
        plan
    }

    fn watch_ms(&self) -> u64 {
        match self.bound {
            Bound::DelayMs(_) => WATCH_DELAY_MS,
            Bound::LossRate(_) => WATCH_LOSS_MS,
        }
    }

    /// Returns the time after the last fault until the bounds must hold again, ms.
    pub fn settle_ms(&self) -> u64 {
        settle_ms(&self.faults)
    }

    /// Sets the end according to the last fault.
    pub fn settle(&mut self) {
        let last = self.faults.iter().map(|f| f.at_ms + f.for_ms).max();
        let last = last.unwrap_or(0).max(FAULTS_FROM_MS);
        self.end_ms = last + self.settle_ms() + self.watch_ms();
    }

    /// Returns the end of the last fault, ms.
    pub fn quiet_ms(&self) -> u64 {
        self.end_ms
            .saturating_sub(self.settle_ms() + self.watch_ms())
    }

    /// Returns whether only samples are reported.
    pub fn is_sampled(&self) -> bool {
        self.shifts != [0, 0]
    }

    /// Returns whether any fault satisfies a condition.
    pub fn has(&self, is: impl Fn(&Kind) -> bool) -> bool {
        self.faults.iter().any(|f| is(&f.kind))
    }
}
