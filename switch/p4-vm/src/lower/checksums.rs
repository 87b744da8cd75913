// SPDX-License-Identifier: Apache-2.0
//! Conditions of checksums.

use p4_ir::{FieldRef, TypedExpr};

use crate::image::Checksum;
use crate::layout::guard::Guard;
use crate::layout::shape::Shape;

pub(super) fn checksum(c: &p4_ir::Checksum) -> Checksum {
    let valid = c.valid.map(|v| Guard::new(FieldRef::alone(v, 1), 1));
    let mut guard: Vec<_> = valid.into_iter().collect();
    let equalities = c.condition.as_ref().and_then(equalities);
    let condition = match equalities {
        Some(list) => {
            guard.extend(list.into_iter().map(|(f, v)| Guard::new(f, v)));
            guard.dedup();
            None
        }
        None => c.condition.as_ref().map(Into::into),
    };
    Checksum {
        target: c.target,
        calculation: c.calculation,
        verify: c.verify,
        update: c.update,
        guard,
        condition,
    }
}

/// The fields that must have these values, if that is all.
fn equalities(condition: &TypedExpr) -> Option<Vec<(FieldRef, u64)>> {
    match Shape::of(condition) {
        Shape::Field(f) if f.mask == 1 => Some(vec![(f, 1)]),
        Shape::Test(t) => t.equalities(),
        _ => None,
    }
}
