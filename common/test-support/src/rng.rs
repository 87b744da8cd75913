// SPDX-License-Identifier: Apache-2.0
//! Random numbers that are the same everywhere and forever (xorshift64*, seeded by
//! SplitMix64): a seed in a bug report must still reproduce the run next year.

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const PART: u64 = 0xd1b5_4a32_d192_ed03;
const OFFSET: u64 = 0x1234_5678_9abc_def1;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Returns the stream of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        Self::spread(seed.wrapping_mul(SEED) ^ OFFSET)
    }

    /// Returns the stream of one part of a run. Parts have separate streams, so that
    /// leaving out a fault does not change the numbers of other parts.
    #[must_use]
    pub fn of_part(seed: u64, part: u64) -> Self {
        let seeded = seed.wrapping_mul(SEED).wrapping_add(OFFSET);
        Self::spread(seeded.wrapping_add(part.wrapping_mul(PART)))
    }

    fn spread(mut z: u64) -> Self {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((z ^ (z >> 31)) | 1)
    }

    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number in `low..=high`; `low` if the range is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        match high.saturating_sub(low).checked_add(1) {
            Some(n) => low + self.next_u64() % n,
            None => self.next_u64(),
        }
    }

    /// Returns a number in `0..n`; 0 if the range is empty.
    pub fn index(&mut self, n: usize) -> usize {
        (self.next_u64() % n.max(1) as u64) as usize
    }

    /// Returns a number in `[0, 1)`.
    pub fn fraction(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns true with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.fraction() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds in tests and documents identify runs, so their numbers must never change.
    #[test]
    fn a_seed_is_the_same_for_ever() {
        assert_eq!(Rng::of(1).next_u64(), OF);
        assert_eq!(Rng::of_part(1, 2).next_u64(), OF_PART);
        assert_ne!(Rng::of_part(1, 3).next_u64(), OF_PART);
    }

    #[test]
    fn numbers_keep_their_bounds() {
        let mut r = Rng::of(7);
        let mut seen = [0u32; 5];
        for _ in 0..1_000 {
            let n = r.between(3, 7);
            assert!((3..=7).contains(&n));
            seen[n as usize - 3] += 1;
            assert!((0.0..1.0).contains(&r.fraction()));
            assert!(r.index(4) < 4);
        }
        assert!(seen.iter().all(|n| *n > 100), "{seen:?}");
        assert_eq!((r.index(0), r.between(9, 9)), (0, 9));
        let often = (0..10_000).filter(|_| r.chance(0.25)).count();
        assert!((2_200..2_800).contains(&often), "{often}");
    }

    const OF: u64 = 0x8880_6525_100e_5e8d;
    const OF_PART: u64 = 0x06a5_48b9_c39d_99d1;
}
