// SPDX-License-Identifier: Apache-2.0
//! Capture files, compressed or not.
#![no_main]

use tidemark_collector::pcap::PcapReader;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(mut reader) = PcapReader::from_reader(Box::new(std::io::Cursor::new(data.to_vec())))
    else {
        return;
    };
    while let Ok(Some(packet)) = reader.next_packet() {
        let _ = int_report::decode(packet.payload, |_| {});
    }
});
