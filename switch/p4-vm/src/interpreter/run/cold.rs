// SPDX-License-Identifier: Apache-2.0
//! Instructions that do not jump and are too rare or too long for the loop.

use super::Registers;
use crate::bytecode::Op;
use crate::interpreter::exec::Exec;
use crate::interpreter::hash;
use crate::packet::Packet;

impl Exec<'_> {
    #[inline(never)]
    pub(super) fn cold(
        &mut self,
        op: &Op,
        mut r: Registers,
        args: &[u64],
        p: &mut Packet,
    ) -> Registers {
        match op {
            Op::LoadSigned { bits, width } => {
                let up = 64 - u32::from(*width).clamp(1, 64);
                r.acc = ((bits.get(&p.words) << up) as i64) >> up;
            }
            Op::Eval(c) => r.acc = c.low64(self.env(p, args)) as i64,
            Op::IndexEval(c) => r.index = c.index(self.env(p, args)),
            Op::Count { counter } => {
                let cells = self.cells.counters.get_mut(*counter as usize);
                if let Some(c) = cells.and_then(|c| c.get_mut(r.index)) {
                    c.packets = c.packets.wrapping_add(1);
                    c.bytes = c.bytes.wrapping_add(u64::from(p.ingress_bytes));
                }
            }
            Op::Truncate => {
                let present = p.requests.truncate_bytes.unwrap_or(u32::MAX);
                p.requests.truncate_bytes = Some((r.acc as u32).min(present));
            }
            Op::Hash(h) => {
                let v = hash::gathered(h.algorithm, &h.input, &p.words, self.cells);
                let v = hash::below(v, h.max);
                h.to.set(&mut p.words, h.base.wrapping_add(v));
            }
            Op::Call(c) => {
                if let Some(code) = self.image.code.actions.get(c.action as usize) {
                    self.run_list(code, &c.args, p);
                }
            }
            Op::Other(i) => self.primitive(i, args, p),
            // Handled in the loop.
            _ => {}
        }
        r
    }
}
