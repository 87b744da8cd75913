// SPDX-License-Identifier: Apache-2.0
//! The parser: from frame to header vector.

use super::env::Env;
use super::exec::Exec;
use super::headers::make_valid;
use super::transition::{Stop, next_state};
use crate::image::{ParseOp, ParseState};
use crate::packet::Packet;
use crate::state::value_sets::ValueSets;
use crate::vector::{set_word, word};
use p4_ir::FieldRef;
use p4_ir::bits::{read_wide, read64, words_for};
use p4_ir::{END, Header, Program};

/// Most states that a packet may pass: ends a loop that consumes nothing.
const MAX_STATES: u32 = 4096;

impl Exec<'_> {
    /// Parses `p.frame`; returns the error number, 0 if there was no error. Headers extracted
    /// before an error stay.
    pub(crate) fn parse(&mut self, p: &mut Packet, sets: &ValueSets) -> u64 {
        // Put back at the end: it can be read while the rest of the packet is written.
        let frame = std::mem::take(&mut p.frame);
        let data = frame.get(..p.payload.end).unwrap_or(&frame);
        let mut at = 0;
        let error = self.states(p, data, &mut at, sets);
        p.frame = frame;
        p.payload.start = at.min(p.payload.end);
        error
    }

    fn states(&mut self, p: &mut Packet, data: &[u8], at: &mut usize, sets: &ValueSets) -> u64 {
        let image = self.image;
        let program = &image.program;
        let mut state = program.parse_start;
        for _ in 0..MAX_STATES {
            let Some(s) = image.parse_states.get(state as usize) else {
                break;
            };
            if let Err(Stop(e)) = self.run_ops(s, p, data, at) {
                return e;
            }
            let next = match &s.select {
                Some(select) => Ok(select.next(&p.words)),
                None => next_state(program, state, p, data, *at, sets),
            };
            match next {
                Ok(END) => break,
                Ok(n) => state = n,
                Err(Stop(e)) => return e,
            }
        }
        0
    }

    fn run_ops(
        &mut self,
        s: &ParseState,
        p: &mut Packet,
        data: &[u8],
        at: &mut usize,
    ) -> Result<(), Stop> {
        let program = &self.image.program;
        let errors = &program.errors;
        for op in &s.ops {
            match op {
                ParseOp::Extract(h) => {
                    if let Some(h) = program.headers.get(*h as usize) {
                        extract(program, h, &mut p.words, data, at)?;
                    }
                }
                ParseOp::ExtractWords(h) => {
                    let bytes = usize::from(h.bytes);
                    if data.len().saturating_sub(*at) < bytes {
                        return Err(Stop(errors.packet_too_short));
                    }
                    h.read(&mut p.words, data, *at);
                    set_word(&mut p.words, h.valid, 1);
                    *at += bytes;
                }
                ParseOp::ExtractNext(stack) => {
                    let (h, next, slot) = next_element(program, *stack, &p.words)?;
                    extract(program, h, &mut p.words, data, at)?;
                    set_word(&mut p.words, slot, next + 1);
                }
                ParseOp::ExtractNextVariable { stack, bits } => {
                    let n = bits.index(Env::of(program, &p.words));
                    let (h, next, slot) = next_element(program, *stack, &p.words)?;
                    extract_variable(program, h, n, &mut p.words, data, at)?;
                    set_word(&mut p.words, slot, next + 1);
                }
                ParseOp::ExtractVariable { header, bits } => {
                    let n = bits.index(Env::of(program, &p.words));
                    if let Some(h) = program.headers.get(*header as usize) {
                        extract_variable(program, h, n, &mut p.words, data, at)?;
                    }
                }
                ParseOp::SetLookahead {
                    dst,
                    offset_bits,
                    width_bits,
                } => {
                    let from = *at * 8 + *offset_bits as usize;
                    if from + *width_bits as usize > data.len() * 8 {
                        return Err(Stop(errors.packet_too_short));
                    }
                    set_from_packet(&mut p.words, *dst, data, from, *width_bits);
                }
                ParseOp::Verify { condition, error } => {
                    if !condition.truth(Env::of(program, &p.words)) {
                        return Err(Stop(error.low64(Env::of(program, &p.words))));
                    }
                }
                ParseOp::Advance { bits } => {
                    let n = bits.index(Env::of(program, &p.words));
                    if n % 8 != 0 {
                        return Err(Stop(errors.invalid_argument));
                    }
                    if n / 8 > data.len().saturating_sub(*at) {
                        return Err(Stop(errors.packet_too_short));
                    }
                    *at += n / 8;
                }
                ParseOp::Run(code) => {
                    self.run_list(code, &[], p);
                }
            }
        }
        Ok(())
    }
}

/// Returns the header to extract into, its index, and the slot of the stack's counter.
fn next_element<'p>(
    program: &'p Program,
    stack: u32,
    words: &[u64],
) -> Result<(&'p Header, u64, u32), Stop> {
    let full = || Stop(program.errors.stack_out_of_bounds);
    let s = program.stacks.get(stack as usize).ok_or_else(full)?;
    let next = word(words, s.next);
    let h = s
        .headers
        .get(next as usize)
        .and_then(|h| program.headers.get(*h as usize))
        .ok_or_else(full)?;
    Ok((h, next, s.next))
}

fn set_from_packet(words: &mut [u64], f: FieldRef, data: &[u8], at_bits: usize, width: u32) {
    if f.width <= 64 && width <= 64 {
        f.set(words, read64(data, at_bits, width));
        return;
    }
    // A lookahead wider than the field keeps its low bits.
    let (skip, width) = (width.saturating_sub(f.width), width.min(f.width));
    let start = f.slot as usize;
    if let Some(out) = words.get_mut(start..start + words_for(f.width)) {
        read_wide(data, at_bits + skip as usize, width, out);
    }
}

fn extract(
    program: &Program,
    h: &Header,
    words: &mut [u64],
    data: &[u8],
    at: &mut usize,
) -> Result<(), Stop> {
    let bytes = (h.fixed_bits / 8) as usize;
    if data.len().saturating_sub(*at) < bytes {
        return Err(Stop(program.errors.packet_too_short));
    }
    if h.word_bytes.is_empty() {
        extract_fields(h, words, data, *at * 8, 0);
    } else if let Some(out) = words.get_mut(h.words.clone()) {
        let mut from = *at;
        for (w, n) in out.iter_mut().zip(&h.word_bytes) {
            *w = read64(data, from * 8, u32::from(*n) * 8);
            from += usize::from(*n);
        }
    }
    make_valid(h, words);
    *at += bytes;
    Ok(())
}

fn extract_fields(
    h: &Header,
    words: &mut [u64],
    data: &[u8],
    mut at_bits: usize,
    variable_bits: u32,
) {
    for f in &h.fields {
        let width = if f.variable {
            set_word(words, f.slot.wrapping_sub(1), u64::from(variable_bits));
            variable_bits
        } else {
            f.width
        };
        let start = f.slot as usize;
        if let Some(out) = words.get_mut(start..start + words_for(f.width)) {
            read_wide(data, at_bits, width, out);
        }
        at_bits += width as usize;
    }
}

fn extract_variable(
    program: &Program,
    h: &Header,
    bits: usize,
    words: &mut [u64],
    data: &[u8],
    at: &mut usize,
) -> Result<(), Stop> {
    let errors = &program.errors;
    if !bits.is_multiple_of(8) {
        return Err(Stop(errors.invalid_argument));
    }
    let most = h
        .variable
        .and_then(|i| h.fields.get(i))
        .map_or(0, |f| f.width as usize);
    let total = (h.fixed_bits as usize).saturating_add(bits);
    if data.len().saturating_sub(*at) < total / 8 {
        return Err(Stop(errors.packet_too_short));
    }
    if bits > most {
        return Err(Stop(errors.header_too_short));
    }
    extract_fields(h, words, data, *at * 8, bits as u32);
    make_valid(h, words);
    *at += total / 8;
    Ok(())
}
