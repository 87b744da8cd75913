// SPDX-License-Identifier: Apache-2.0
//! Registers, counters and meters, which outlive a packet.

use p4_ir::Program;
use p4_ir::bits::{bytes_from_words, words_for, words_from_bytes};

/// A cell of a counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes of the frames as received.
    pub bytes: u64,
}

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Debug, Default)]
pub(crate) struct Cells {
    pub registers: Vec<Register>,
    pub counters: Vec<Vec<Count>>,
    pub meters: Vec<Vec<Meter>>,
    /// State of the `random()` generator; the seed is fixed, so that runs can be repeated.
    pub random: u64,
    pub round_robin: u64,
    /// Number of failed assertions of the program.
    pub failed_assertions: u64,
    /// Buffer reused by hashes.
    pub scratch: Vec<u8>,
}

impl Cells {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            registers: program
                .registers
                .iter()
                .map(|r| Register::new(r.size, r.width))
                .collect(),
            counters: program
                .counters
                .iter()
                .map(|c| vec![Count::default(); c.size])
                .collect(),
            meters: program
                .meters
                .iter()
                .map(|m| vec![Meter::default(); m.size])
                .collect(),
            random: SEED,
            ..Self::default()
        }
    }

    pub(crate) fn seed(&mut self, seed: u64) {
        // Never 0, a state that the generator cannot leave.
        self.random = (SEED ^ seed.wrapping_mul(SEED)).max(1);
    }

    /// Draws from xorshift64*: good enough for a P4 program's `random()`.
    pub(crate) fn next_random(&mut self) -> u64 {
        let mut x = self.random;
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random = x;
        x.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

/// A register array.
#[derive(Debug, Clone)]
pub struct Register {
    /// Width of a cell in bits.
    pub width: u32,
    words_per_cell: usize,
    words: Vec<u64>,
}

impl Register {
    fn new(size: usize, width: u32) -> Self {
        let words_per_cell = words_for(width);
        Self {
            width,
            words_per_cell,
            words: vec![0; size * words_per_cell],
        }
    }

    /// Returns the words of a cell, most significant first.
    #[inline]
    pub fn cell(&self, index: usize) -> Option<&[u64]> {
        let start = index.checked_mul(self.words_per_cell)?;
        self.words
            .get(start..start.checked_add(self.words_per_cell)?)
    }

    /// Returns the words of a cell, most significant first.
    #[inline]
    pub fn cell_mut(&mut self, index: usize) -> Option<&mut [u64]> {
        let start = index.checked_mul(self.words_per_cell)?;
        self.words
            .get_mut(start..start.checked_add(self.words_per_cell)?)
    }

    /// Returns a cell of a register of at most 64 bits.
    #[inline]
    pub fn first_word(&self, index: usize) -> Option<u64> {
        if self.words_per_cell == 1 {
            return self.words.get(index).copied();
        }
        self.cell(index)?.first().copied()
    }

    /// Returns a cell of a register of at most 64 bits.
    #[inline]
    pub fn first_word_mut(&mut self, index: usize) -> Option<&mut u64> {
        if self.words_per_cell == 1 {
            return self.words.get_mut(index);
        }
        self.cell_mut(index)?.first_mut()
    }

    /// Reads a cell as `ceil(width / 8)` big-endian bytes.
    pub fn read_bytes(&self, index: usize) -> Option<Vec<u8>> {
        self.cell(index).map(|c| bytes_from_words(c, self.width))
    }

    /// Writes a cell from big-endian bytes; returns `false` if there is no such cell.
    pub fn write_bytes(&mut self, index: usize, value: &[u8]) -> bool {
        let words = words_from_bytes(value, self.width);
        self.cell_mut(index)
            .map(|c| c.copy_from_slice(&words))
            .is_some()
    }
}

/// Two-rate three-colour marker (RFC 2698), colour-blind. Without rates every packet is
/// green, as in BMv2.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meter {
    /// Rates; `None`: every packet is green.
    pub rates: Option<MeterRates>,
    committed: f64,
    peak: f64,
    last_us: u64,
}

/// Rates per microsecond and bursts, in packets or bytes.
#[derive(Debug, Clone, Copy)]
pub struct MeterRates {
    /// Committed information rate.
    pub committed_rate: f64,
    /// Committed burst size.
    pub committed_burst: f64,
    /// Peak information rate.
    pub peak_rate: f64,
    /// Peak burst size.
    pub peak_burst: f64,
}

impl Meter {
    /// Sets the rates and fills both buckets.
    pub fn set(&mut self, rates: Option<MeterRates>) {
        *self = Self {
            rates,
            committed: rates.map_or(0.0, |r| r.committed_burst),
            peak: rates.map_or(0.0, |r| r.peak_burst),
            last_us: self.last_us,
        };
    }

    /// Returns the colour of a packet: 0 green, 1 yellow, 2 red.
    pub fn colour(&mut self, now_us: u64, amount: f64) -> u64 {
        let Some(r) = self.rates else { return 0 };
        let elapsed = now_us.saturating_sub(self.last_us) as f64;
        self.last_us = now_us;
        self.committed = (self.committed + elapsed * r.committed_rate).min(r.committed_burst);
        self.peak = (self.peak + elapsed * r.peak_rate).min(r.peak_burst);
        if self.peak < amount {
            return 2;
        }
        self.peak -= amount;
        if self.committed < amount {
            return 1;
        }
        self.committed -= amount;
        0
    }
}
