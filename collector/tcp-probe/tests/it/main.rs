// SPDX-License-Identifier: Apache-2.0
//! Integration tests of `tcp-probe`, in one binary: the program is linked once.

mod kernel;
mod simulated_runs;
