// SPDX-License-Identifier: Apache-2.0
//! Fuzzes frames, whole and damaged, through Tidemark's program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tidemark_fuzz::frame(data));
