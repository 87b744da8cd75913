// SPDX-License-Identifier: Apache-2.0
//! Checksums and the deparser: header vector to frame.

use super::eval::{self, Env, field_bits, field_words, word};
use super::exec::{Exec, store_number};
use super::hash::calculate;
use super::packet::Packet;
use crate::bmv2::bits::BitWriter;
use crate::bmv2::ir::{Checksum, Header};

impl Exec<'_> {
    /// False when a checksum that the program verifies is wrong.
    pub fn verify_checksums(&mut self, p: &Packet) -> bool {
        let program = self.program;
        let mut good = true;
        for c in program.checksums.iter().filter(|c| c.verify) {
            if self.applies(c, p) {
                let have = word(&p.words, c.target.slot);
                good &= self.checksum(c, p) == have;
            }
        }
        good
    }

    fn update_checksums(&mut self, p: &mut Packet) {
        let program = self.program;
        for c in program.checksums.iter().filter(|c| c.update) {
            if self.applies(c, p) {
                let v = self.checksum(c, p);
                store_number(&mut p.words, c.target, v);
            }
        }
    }

    fn applies(&self, c: &Checksum, p: &Packet) -> bool {
        let env = Env {
            program: self.program,
            words: &p.words,
            args: &[],
        };
        c.target_valid.is_none_or(|v| word(&p.words, v) != 0)
            && c.condition.as_ref().is_none_or(|e| eval::truth(e, env))
    }

    fn checksum(&mut self, c: &Checksum, p: &Packet) -> u64 {
        self.program
            .calculations
            .get(c.calculation as usize)
            .map_or(0, |calc| {
                calculate(
                    calc,
                    self.program,
                    &p.words,
                    p.payload(),
                    &mut self.cells.scratch,
                    &mut self.cells.round_robin,
                )
            })
    }

    /// Replaces `out` by the frame as it leaves.
    pub fn deparse(&mut self, p: &mut Packet, out: &mut Vec<u8>) {
        self.update_checksums(p);
        let program = self.program;
        if !program.deparse_prims.is_empty() {
            self.run(&program.deparse_prims, &[], p);
        }
        out.clear();
        for h in &program.deparse_order {
            if let Some(h) = program.headers.get(*h as usize)
                && word(&p.words, h.valid) != 0
            {
                emit(h, &p.words, out);
            }
        }
        // What truncation would cut off need not be copied.
        let payload = p.payload();
        let room = match p.requests.truncate_bytes {
            Some(n) => (n as usize).saturating_sub(out.len()),
            None => payload.len(),
        };
        out.extend_from_slice(payload.get(..room).unwrap_or(payload));
        if let Some(n) = p.requests.truncate_bytes {
            out.truncate(n as usize);
        }
    }
}

fn emit(h: &Header, words: &[u64], out: &mut Vec<u8>) {
    if h.runs.is_empty() {
        let mut w = BitWriter::default();
        for f in &h.fields {
            if f.field.width <= 64 && !f.field.variable {
                w.push(out, word(words, f.field.slot), f.field.width);
            } else {
                w.push_wide(out, field_words(words, f.field), field_bits(words, f.field));
            }
        }
        w.finish(out);
        return;
    }
    for r in &h.runs {
        let first = usize::from(r.first_field);
        let mut v = 0u64;
        for f in h
            .compact
            .get(first..first + usize::from(r.fields))
            .unwrap_or_default()
        {
            v = v.checked_shl(f.width).unwrap_or(0) | word(words, f.slot);
        }
        // Eight bytes always and then the right length: cheaper than copying
        // few bytes.
        let end = out.len() + usize::from(r.bytes);
        let left = v << (64 - 8 * u32::from(r.bytes.clamp(1, 8)));
        out.extend_from_slice(&left.to_be_bytes());
        out.truncate(end);
    }
}
