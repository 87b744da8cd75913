// SPDX-License-Identifier: Apache-2.0
//! An image with its state: a program as a switch uses it.

mod aqm;
mod by_name;
mod core;
mod packets;
mod pool;

pub use self::core::Engine;
