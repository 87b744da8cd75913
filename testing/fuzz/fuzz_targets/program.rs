// SPDX-License-Identifier: Apache-2.0
//! Programs as a compiler could not have written them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tidemark_fuzz::program(data));
