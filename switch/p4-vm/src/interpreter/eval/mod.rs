// SPDX-License-Identifier: Apache-2.0
//! Evaluates expressions in the arithmetic that the loader chose.
//!
//! When BMv2 would abort (division by zero, negative shift), the result is 0.

mod compiled;
mod int;
mod stacks;
mod tree;
mod typed;

pub(super) use stacks::{stack_field, stack_last};
pub(super) use typed::{display, header, index, low64, store_words, truth};
