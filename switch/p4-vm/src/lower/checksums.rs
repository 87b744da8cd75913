// SPDX-License-Identifier: Apache-2.0
//! Conditions of checksums.

use p4_ir::{FieldRef, TypedExpr};

use crate::image::Checksum;
use crate::layout::guard::Guard;
use crate::layout::shape::Shape;

pub(super) fn checksum(c: &p4_ir::Checksum) -> Checksum {
    let valid = c.valid.map(|v| Guard::new(FieldRef::alone(v, 1), 1, true));
    let mut guard: Vec<_> = valid.into_iter().collect();
    let condition = match c.condition.as_ref().and_then(guards) {
        Some(list) => {
            guard.extend(list);
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

/// Returns the fields that must or must not have certain values, if the condition is just that.
fn guards(condition: &TypedExpr) -> Option<Vec<Guard>> {
    match Shape::of(condition) {
        Shape::Field(f) if f.mask == 1 => Some(vec![Guard::new(f, 1, true)]),
        Shape::Test(t) => t.guards(),
        _ => None,
    }
}
