// SPDX-License-Identifier: Apache-2.0
//! Finds the next parser state, for keys of any kind.

use super::env::Env;
use super::eval::stack_last;
use crate::packet::Packet;
use crate::state::value_sets::ValueSets;
use crate::vector::own_words;
use p4_ir::FieldRef;
use p4_ir::bits::{BitWriter, read_wide, read64, words_for, words_from_bytes};
use p4_ir::{Case, END, KeySource, ParseState, Program};

/// Why parsing stopped: a value of the program's `error` type.
pub(super) struct Stop(pub u64);

/// Returns the state after `state`, once the packet has been parsed up to byte `at`.
pub(super) fn next_state(
    program: &Program,
    state: u32,
    p: &Packet,
    data: &[u8],
    at: usize,
    sets: &ValueSets,
) -> Result<u32, Stop> {
    let Some(s) = program.parse_states.get(state as usize) else {
        return Ok(END);
    };
    if s.key_words == 1 {
        let mut key = 0u64;
        for k in &s.key {
            let v = match &k.source {
                KeySource::Field(f) => f.get(&p.words),
                KeySource::StackLast { stack, field } => {
                    stack_last(Env::of(program, &p.words), *stack, *field)
                        .map_or(0, |f| f.get(&p.words))
                }
                KeySource::Lookahead { offset_bits } => {
                    lookahead(program, data, at, *offset_bits, k.width_bits)?
                }
            };
            key = (key.checked_shl(k.padded_bits).unwrap_or(0)) | v;
        }
        return Ok(pick(s, &[key], sets));
    }
    let mut bytes = Vec::new();
    let mut w = BitWriter::default();
    for k in &s.key {
        let mut value = vec![0u64; words_for(k.width_bits)];
        match &k.source {
            KeySource::Field(f) => field_value(&p.words, *f, &mut value),
            KeySource::StackLast { stack, field } => {
                if let Some(f) = stack_last(Env::of(program, &p.words), *stack, *field) {
                    field_value(&p.words, f, &mut value);
                }
            }
            KeySource::Lookahead { offset_bits } => {
                let from = at * 8 + *offset_bits as usize;
                if from + k.width_bits as usize > data.len() * 8 {
                    return Err(Stop(program.errors.packet_too_short));
                }
                read_wide(data, from, k.width_bits, &mut value);
            }
        }
        w.push(&mut bytes, 0, k.padded_bits - k.width_bits);
        w.push_wide(&mut bytes, &value, k.width_bits);
    }
    let key = words_from_bytes(&bytes, bytes.len() as u32 * 8);
    Ok(pick(s, &key, sets))
}

fn field_value(words: &[u64], f: FieldRef, out: &mut [u64]) {
    if let [one] = out {
        *one = f.get(words);
    } else {
        let own = own_words(words, f);
        out.iter_mut().zip(own).for_each(|(o, w)| *o = *w);
    }
}

fn lookahead(
    program: &Program,
    data: &[u8],
    at: usize,
    offset_bits: u32,
    width_bits: u32,
) -> Result<u64, Stop> {
    let from = at * 8 + offset_bits as usize;
    if from + width_bits as usize > data.len() * 8 {
        return Err(Stop(program.errors.packet_too_short));
    }
    Ok(read64(data, from, width_bits))
}

/// Returns the first matching transition; no match is `accept`, as in BMv2.
fn pick(s: &ParseState, key: &[u64], sets: &ValueSets) -> u32 {
    s.transitions
        .iter()
        .find(|t| match &t.case {
            Case::Default => true,
            Case::Value { value, mask } => key
                .iter()
                .zip(value.iter().zip(mask))
                .all(|(k, (v, m))| k & m == *v),
            Case::Set(id) => sets
                .get(*id as usize)
                .is_some_and(|s| s.iter().any(|v| v == key)),
        })
        .map_or(END, |t| t.next)
}
