// SPDX-License-Identifier: Apache-2.0
//! Evaluates expressions with a shape: common shapes need no walk over a tree.

use super::typed;
use crate::interpreter::env::Env;
use crate::layout::compiled::Compiled;
use crate::layout::shape::{Shape, read};

impl Compiled {
    /// Evaluates a common shape; `None` for all other expressions.
    #[inline(always)]
    fn by_shape(&self, env: Env<'_>) -> Option<i64> {
        match &self.shape {
            Shape::Field(f) => Some(read(env.words, *f)),
            Shape::Const(v) => Some(*v),
            Shape::Chain(x) => Some(x.value(env.words)),
            Shape::Test(t) => Some(i64::from(t.holds(env.words, env.args))),
            Shape::Tree => None,
        }
    }

    /// Returns the low 64 bits of the value.
    #[inline(always)]
    pub(crate) fn low64(&self, env: Env<'_>) -> u64 {
        match self.by_shape(env) {
            Some(v) => v as u64,
            None => typed::low64(&self.typed, env),
        }
    }

    /// Returns the value as an index; `usize::MAX` if it is negative or huge.
    #[inline(always)]
    pub(crate) fn index(&self, env: Env<'_>) -> usize {
        match self.by_shape(env) {
            Some(v) => usize::try_from(v).unwrap_or(usize::MAX),
            None => typed::index(&self.typed, env),
        }
    }

    #[inline(always)]
    pub(crate) fn truth(&self, env: Env<'_>) -> bool {
        match self.by_shape(env) {
            Some(v) => v != 0,
            None => typed::truth(&self.typed, env),
        }
    }
}
