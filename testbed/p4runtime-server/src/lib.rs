// SPDX-License-Identifier: Apache-2.0
//! P4Runtime server over any [`Target`] that can load a BMv2 program.

pub mod target;

pub use target::Target;
