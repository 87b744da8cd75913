// SPDX-License-Identifier: Apache-2.0
//! Fuzzes telemetry reports of every version, and their inner packets. Reports that decode and can
//! be encoded decode to equal reports again, and the fast path for the most frequent report agrees
//! with the decoder.
#![no_main]

use int_report::encode::encode;
use int_report::{Report, decode, fast_path, parse_inner, peek_header};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = peek_header(data);
    let mut reports: Vec<Report<'_>> = Vec::new();
    let result = decode(data, |r| {
        let _ = parse_inner(&r.inner);
        reports.push(*r);
    });
    if let Some(fast) = fast_path(data) {
        assert_eq!(result, Ok(1));
        assert_eq!(fast.report(), reports[0]);
        assert_eq!(Ok(fast.inner()), parse_inner(&reports[0].inner));
    }
    if let Ok(n) = result {
        assert_eq!(n, reports.len());
        if let Ok(bytes) = encode(&reports) {
            let mut again = 0;
            let n = decode(&bytes, |r| {
                assert_eq!(r.sequence, reports[again].sequence);
                assert_eq!(r.queue_occupancy, reports[again].queue_occupancy);
                assert_eq!(r.ingress_ts, reports[again].ingress_ts);
                again += 1;
            });
            assert_eq!(n, Ok(reports.len()));
        }
    }
});
