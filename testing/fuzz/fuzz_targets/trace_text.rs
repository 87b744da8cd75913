// SPDX-License-Identifier: Apache-2.0
//! Fuzzes lines of trace_pipe.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for line in data.split(|b| *b == b'\n') {
        let _ = tcp_probe::text::lost_events(line);
        let _ = tcp_probe::text::parse_line(line);
    }
});
