// SPDX-License-Identifier: Apache-2.0
//! Fuzzes capture files: pcap and pcapng.
#![no_main]

use tidemark_pcap::Datagrams;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(mut datagrams) = Datagrams::from_reader(Box::new(std::io::Cursor::new(data.to_vec())))
    else {
        return;
    };
    while let Ok(Some(datagram)) = datagrams.next_datagram() {
        let _ = int_report::decode(datagram.payload, |_| {});
    }
});
