// SPDX-License-Identifier: Apache-2.0
//! Fuzzes records of a perf ring, with the layout of a real kernel.
#![no_main]

use std::sync::OnceLock;
use tcp_probe::format::Format;
use tcp_probe::layout::Layout;
use tcp_probe::ring::Record;

static LAYOUT: OnceLock<Layout> = OnceLock::new();

fn layout() -> &'static Layout {
    LAYOUT.get_or_init(|| {
        let format = |text| Format::parse(text).unwrap();
        let mut layout = Layout::default();
        layout
            .set_probe(&format(include_str!(
                "../../../collector/tcp-probe/fixtures/tcp_probe.linux-6.18.format"
            )))
            .unwrap();
        layout
            .set_retransmit(&format(include_str!(
                "../../../collector/tcp-probe/fixtures/tcp_retransmit_skb.linux-6.18.format"
            )))
            .unwrap();
        layout
            .set_cong_state(&format(include_str!(
                "../../../collector/tcp-probe/fixtures/tcp_cong_state_set.linux-6.18.format"
            )))
            .unwrap();
        layout
    })
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&kind, body)) = data.split_first() else {
        return;
    };
    if let Record::Sample { time_ns, raw } = Record::read(kind.into(), body) {
        let _ = layout().read(time_ns, raw);
    }
});
