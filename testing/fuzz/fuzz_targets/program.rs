// SPDX-License-Identifier: Apache-2.0
//! Fuzzes programs that no compiler could have written.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tidemark_fuzz::program(data));
