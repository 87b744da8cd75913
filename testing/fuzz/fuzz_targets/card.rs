// SPDX-License-Identifier: Apache-2.0
//! Fuzzes cards of the predecessor's programs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(card) = int_report::card::decode(data) {
        let packet = card.packet(1500);
        let report = card.report(1, 2, &packet);
        assert!(int_report::parse_inner(&report.inner).is_ok());
    }
});
