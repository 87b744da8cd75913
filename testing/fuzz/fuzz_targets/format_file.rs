// SPDX-License-Identifier: Apache-2.0
//! Fuzzes a tracepoint's format file, and reading records in that format.
#![no_main]

use tcp_probe::format::Format;
use tcp_probe::layout::Layout;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(format) = Format::parse(text) else {
        return;
    };
    let mut layout = Layout::default();
    let _ = layout.set_probe(&format);
    let _ = layout.set_retransmit(&format);
    let _ = layout.set_cong_state(&format);
    let mut raw = [0xa5u8; 256];
    raw[..2].copy_from_slice(&format.id.to_ne_bytes());
    for length in [0, 8, 64, 256] {
        let _ = layout.read(1, &raw[..length]);
    }
});
