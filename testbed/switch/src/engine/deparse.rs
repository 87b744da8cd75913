// SPDX-License-Identifier: Apache-2.0
//! Checksums and the deparser: header vector to frame.

use super::eval::{self, Env, field_bits, own_words, word};
use super::exec::Exec;
use super::fields::store_number;
use super::hash::calculate;
use super::packet::Packet;
use crate::bmv2::bits::BitWriter;
use crate::bmv2::ir::{Checksum, Emit, Header};

impl Exec<'_> {
    /// False when a checksum that the program verifies is wrong.
    pub fn verify_checksums(&mut self, p: &Packet) -> bool {
        let program = self.program;
        let mut good = true;
        for c in program.checksums.iter().filter(|c| c.verify) {
            if self.applies(c, p) {
                let have = c.target.get(&p.words);
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
        if !program.deparse_code.is_empty() {
            self.run_list(&program.deparse_code, &[], p);
        }
        // What the buffer held is overwritten; it only grows the first time.
        let mut at = 0;
        for e in &program.emit {
            match e {
                Emit::Packed(h) => {
                    if word(&p.words, h.valid) == 0 {
                        continue;
                    }
                    let end = at + usize::from(h.bytes);
                    if out.len() < end + 8 {
                        out.resize(end + 8, 0);
                    }
                    if let Some(out) = out.get_mut(at..) {
                        h.write(&p.words, out);
                    }
                    at = end;
                }
                Emit::Header(h) => {
                    if let Some(h) = program.headers.get(*h as usize)
                        && word(&p.words, h.valid) != 0
                    {
                        out.truncate(at);
                        emit(h, &p.words, out);
                        at = out.len();
                    }
                }
            }
        }
        out.truncate(at);
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

/// Appends the header field by field.
fn emit(h: &Header, words: &[u64], out: &mut Vec<u8>) {
    let mut w = BitWriter::default();
    for f in &h.fields {
        if f.field.width <= 64 && !f.field.variable {
            w.push(out, f.field.get(words), f.field.width);
        } else {
            w.push_wide(out, own_words(words, f.field), field_bits(words, f.field));
        }
    }
    w.finish(out);
}
