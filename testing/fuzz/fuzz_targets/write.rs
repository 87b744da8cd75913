// SPDX-License-Identifier: Apache-2.0
//! Fuzzes P4Runtime writes, as encoded and damaged.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tidemark_fuzz::write(data));
