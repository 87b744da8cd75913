// SPDX-License-Identifier: Apache-2.0
//! Joins runs of constant assignments: p4c emits one per field, and a header
//! that the program builds is mostly constants.

use crate::bmv2::ir::{Constant, Insn};

/// The same instructions, with jump targets adjusted.
pub fn merge(insns: Vec<Insn>) -> Vec<Insn> {
    let mut target = vec![false; insns.len() + 1];
    for i in &insns {
        if let Insn::Jump(t) | Insn::JumpIfZero { target: t, .. } = i
            && let Some(x) = target.get_mut(*t as usize)
        {
            *x = true;
        }
    }
    let count = insns.len();
    let mut place = Vec::with_capacity(count + 1);
    let mut out = Vec::with_capacity(count);
    let mut run: Vec<Constant> = Vec::new();
    for (i, insn) in insns.into_iter().enumerate() {
        if target.get(i).copied().unwrap_or(true) {
            end_run(&mut run, &mut out);
        }
        let Insn::SetConst(c) = insn else {
            end_run(&mut run, &mut out);
            place.push(out.len() as u32);
            out.push(insn);
            continue;
        };
        place.push(out.len() as u32);
        match run.iter_mut().find(|x| x.slot == c.slot) {
            Some(x) => {
                x.value = (x.value & c.keep) | c.value;
                x.keep &= c.keep;
            }
            None => run.push(c),
        }
    }
    end_run(&mut run, &mut out);
    place.push(out.len() as u32);
    for i in &mut out {
        if let Insn::Jump(t) | Insn::JumpIfZero { target: t, .. } = i {
            *t = place.get(*t as usize).copied().unwrap_or(u32::MAX);
        }
    }
    out
}

fn end_run(run: &mut Vec<Constant>, out: &mut Vec<Insn>) {
    match run.as_slice() {
        [] => return,
        [one] => out.push(Insn::SetConst(*one)),
        _ => out.push(Insn::SetConsts(run.as_slice().into())),
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(slot: u32, keep: u64, value: u64) -> Insn {
        Insn::SetConst(Constant { slot, keep, value })
    }

    #[test]
    fn joins_constants_but_not_across_a_jump_target() {
        let list = vec![
            set(0, !0xff, 1),
            set(1, 0, 7),
            set(0, !0xff00, 0x200),
            Insn::Jump(5),
            set(0, 0, 3),
            set(0, !0xff, 4),
            set(0, !0xff, 5),
            Insn::Exit,
        ];
        let out = merge(list);
        let Insn::SetConsts(first) = &out[0] else {
            panic!("{out:?}");
        };
        let constant = |slot, keep, value| Constant { slot, keep, value };
        assert_eq!(**first, [constant(0, !0xffff, 0x201), constant(1, 0, 7)]);
        assert!(matches!(out[1], Insn::Jump(3)));
        assert!(matches!(out[2], Insn::SetConst(c) if c == constant(0, 0, 3)));
        assert!(matches!(out[3], Insn::SetConst(c) if c == constant(0, !0xff, 5)));
        assert!(matches!(out[4], Insn::Exit));
    }

    #[test]
    fn a_jump_to_the_end_stays_one() {
        let out = merge(vec![Insn::Jump(3), set(0, 0, 1), set(1, 0, 1)]);
        assert_eq!(out.len(), 2);
        assert!(matches!(out[0], Insn::Jump(2)));
    }
}
