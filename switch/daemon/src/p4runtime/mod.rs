// SPDX-License-Identifier: Apache-2.0
//! The running switch as a P4Runtime target.

mod arrays;
mod convert;
mod entries;
mod target;

pub use entries::{insert, modify, set_default, set_group, set_member};
pub use target::EmbeddedTarget;
