// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tidemark-control`, in one binary: the program is linked once.

mod properties;
mod replay;
mod sim;
mod simulated_link;
mod transitions;
mod worlds;
