// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-capture`, in one binary: the program is linked once.

mod crash;
mod damage;
mod old_capture;
