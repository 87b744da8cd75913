// SPDX-License-Identifier: Apache-2.0
//! Faults in a seed's run.

use super::network::Network;
use super::switch::Failing;
use std::time::Duration;
use test_support::rng::Rng;

/// Faults begin after the first time and have ended by the second, ms.
const FROM_MS: u64 = 3_000;
const TO_MS: u64 = 40_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Pieces take up to this long, ms.
    Slow(u64),
    /// Nothing passes; sent bytes arrive afterwards.
    Stall,
    /// All connections break repeatedly, after this time each, ms.
    Cuts(u64),
    /// Bits change with this probability per piece.
    Flips(f64),
    /// The switch loses its power.
    Restart,
    /// Writes fail, or are answered late.
    Writes(Failing),
    /// A controller with a higher election id takes over, writes a limit, and leaves.
    Usurper(u64),
    /// Our controller is killed in the middle of a call.
    Killed,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) at_ms: u64,
    pub(crate) for_ms: u64,
    pub(crate) kind: Kind,
}

/// Returns the faults of a seed.
pub(crate) fn faults(seed: u64) -> Vec<Fault> {
    let mut r = Rng::of_part(seed, 2);
    let mut one = |_| {
        let kind = match r.between(0, 7) {
            0 => Kind::Slow(r.between(5, 800)),
            1 => Kind::Stall,
            2 => Kind::Cuts(r.between(20, 2_000)),
            3 => Kind::Flips(0.02 + r.between(0, 200) as f64 / 1e3),
            4 => Kind::Restart,
            5 => Kind::Writes(Failing {
                refuses: r.between(0, 100) as f64 / 100.0,
                slow: r.between(0, 100) as f64 / 100.0,
                slow_ms: r.between(100, 4_000),
            }),
            6 => Kind::Usurper(r.between(20_000, 90_000)),
            _ => Kind::Killed,
        };
        let for_ms = r.between(100, 9_000);
        Fault {
            at_ms: r.between(FROM_MS, TO_MS - for_ms),
            for_ms,
            kind,
        }
    };
    let count = 1 + seed % 4;
    (0..count).map(&mut one).collect()
}

/// Returns the end of the last fault, ms.
pub(crate) fn quiet_ms(faults: &[Fault]) -> u64 {
    let ends = faults.iter().map(|f| f.at_ms + f.for_ms);
    ends.max().unwrap_or(0).max(FROM_MS)
}

/// Applies a fault to the network and the switch.
pub(crate) async fn strike(network: Network, fault: Fault) {
    tokio::time::sleep(Duration::from_millis(fault.at_ms)).await;
    let lasts = Duration::from_millis(fault.for_ms);
    match fault.kind {
        Kind::Slow(ms) => {
            network.set_slower_ms(ms);
            tokio::time::sleep(lasts).await;
            network.set_slower_ms(3);
        }
        Kind::Stall => {
            network.set_stalled(true);
            tokio::time::sleep(lasts).await;
            network.set_stalled(false);
        }
        Kind::Cuts(every_ms) => {
            for _ in 0..=fault.for_ms / every_ms {
                network.cut();
                tokio::time::sleep(Duration::from_millis(every_ms)).await;
            }
        }
        Kind::Flips(p) => {
            network.set_flips(p);
            tokio::time::sleep(lasts).await;
            network.set_flips(0.0);
            // Connections with changed bytes are not trusted any more.
            network.cut();
        }
        Kind::Restart => {
            network.power_off();
            tokio::time::sleep(lasts).await;
            network.power_on();
        }
        Kind::Writes(failing) => {
            network.switch().set_failing(failing);
            tokio::time::sleep(lasts).await;
            network.switch().set_failing(Failing::default());
        }
        // The world applies these faults.
        Kind::Usurper(_) | Kind::Killed => {}
    }
}
