// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-traffic`, in one binary: the program is linked once.

mod errors;
mod log;
mod loopback;
