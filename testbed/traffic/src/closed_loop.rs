// SPDX-License-Identifier: Apache-2.0
//! Users who think, transfer, wait for the end, and think again (OI §4.2).

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, Exp};

use crate::spec::{ClosedLoop, Size};

/// One user's sequence of transfers: equal for equal seed, source and user. A transfer's start time
/// also depends on the duration of earlier ones.
#[derive(Debug)]
pub(crate) struct User {
    random: StdRng,
    think: Exp<f64>,
    size: Size,
}

/// A think time, and the size of the transfer that follows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Turn {
    pub think_s: f64,
    pub bytes: u64,
}

impl User {
    /// Makes a user; `index` is the source's in the spec. `None` if the mean is invalid (never in a
    /// checked spec).
    pub(crate) fn new(source: &ClosedLoop, seed: u64, index: usize, user: u32) -> Option<Self> {
        // Odd multipliers: distinct streams for distinct numbers, also distinct from `poisson`'s.
        let own = seed
            ^ (index as u64 + 1).wrapping_mul(0xD1B5_4A32_D192_ED03)
            ^ (u64::from(user) + 1).wrapping_mul(0x2545_F491_4F6C_DD1D);
        Some(Self {
            random: StdRng::seed_from_u64(own),
            think: Exp::new(1.0 / source.think_s).ok()?,
            size: source.size.clone(),
        })
    }
}

impl Iterator for User {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        Some(Turn {
            think_s: self.think.sample(&mut self.random),
            bytes: self.size.draw(&mut self.random),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(seed: u64, user: u32) -> Vec<Turn> {
        let source: ClosedLoop = serde_json::from_str(
            r#"{"name": "u", "users": 3, "think_s": 5.0, "destination": "127.0.0.1:1",
                "size": {"distribution": "fixed", "bytes": 9}}"#,
        )
        .unwrap();
        let user = User::new(&source, seed, 0, user).unwrap();
        user.take(4000).collect()
    }

    #[test]
    fn users_think_as_long_as_asked_and_each_for_itself() {
        let all = turns(1, 0);
        let mean = all.iter().map(|t| t.think_s).sum::<f64>() / all.len() as f64;
        // Standard deviation of the mean 0.08.
        assert!((mean - 5.0).abs() < 0.4, "{mean}");
        assert_eq!(turns(1, 0), turns(1, 0));
        assert_ne!(turns(1, 0), turns(1, 1));
        assert_ne!(turns(1, 0), turns(2, 0));
    }
}
