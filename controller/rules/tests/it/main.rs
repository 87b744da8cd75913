// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-rules`, in one binary: the program is linked once.

mod closed_loop;
mod papers;
mod predictions;
