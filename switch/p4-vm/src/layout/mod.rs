// SPDX-License-Identifier: Apache-2.0
//! Layouts computed once per program, instead of being looked up for every packet.

pub(crate) mod calculation;
pub(crate) mod compiled;
pub(crate) mod deparser;
pub(crate) mod fixed_input;
pub(crate) mod guard;
pub(crate) mod header_words;
pub(crate) mod ones_complement;
pub(crate) mod select;
pub(crate) mod shape;
