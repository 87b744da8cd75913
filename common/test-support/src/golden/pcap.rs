// SPDX-License-Identifier: Apache-2.0
//! Reads and writes captures of reports in Ethernet, IPv4 and UDP frames.

use crate::golden::error::invalid;
use crate::golden::report::Report;
use std::io::{self, Write};
use std::path::Path;
use tidemark_pcap::{Datagrams, ETHERNET, Writer};

/// Reads the UDP payloads of a capture.
pub(crate) fn read(file: &Path) -> io::Result<Vec<Report>> {
    let mut datagrams = Datagrams::open(file).map_err(io::Error::other)?;
    let mut reports = Vec::new();
    while let Some(d) = datagrams.next_datagram().map_err(io::Error::other)? {
        reports.push(Report {
            captured_ns: d.time_ns,
            payload: d.payload.to_vec(),
        });
    }
    if datagrams.truncated() || datagrams.unread.total() > 0 {
        let what = format!("{}: the pcap is cut off, or not of reports", file.display());
        return Err(invalid(what));
    }
    Ok(reports)
}

/// Writes a capture of the reports, in frames from 192.0.2.10 to 192.0.2.1.
pub(crate) fn write(out: impl Write, reports: &[Report]) -> io::Result<()> {
    let mut out = Writer::new(out, ETHERNET)?;
    for report in reports {
        let mut frame = headers(report.payload.len() as u16);
        frame.extend_from_slice(&report.payload);
        out.write(report.captured_ns, &frame)?;
    }
    out.finish()?;
    Ok(())
}

fn headers(payload_bytes: u16) -> Vec<u8> {
    let mut ip = vec![0x45, 0];
    ip.extend((payload_bytes + 28).to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 10, 192, 0, 2, 1]);
    let mut sum: u32 = ip
        .chunks(2)
        .map(|b| b.iter().fold(0, |half, &byte| half << 8 | u32::from(byte)))
        .sum();
    sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !(sum as u16);
    let mut headers = vec![2, 0, 0, 0, 0, 10, 2, 0, 0, 0, 0, 11, 8, 0];
    headers.extend(ip.get(..10).unwrap_or_default());
    headers.extend(checksum.to_be_bytes());
    headers.extend(ip.get(12..).unwrap_or_default());
    // The UDP checksum is 0 (none), which IPv4 allows.
    for half in [49_152, 32_766, payload_bytes + 8, 0] {
        headers.extend(half.to_be_bytes());
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let reports = vec![
            Report {
                captured_ns: 1_500_000_001,
                payload: vec![1, 2, 3],
            },
            Report {
                captured_ns: 7,
                payload: vec![],
            },
        ];
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("reports.pcap");
        let mut bytes = Vec::new();
        write(&mut bytes, &reports).unwrap();
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(read(&file).unwrap(), reports);
        bytes.pop();
        std::fs::write(&file, &bytes).unwrap();
        let error = read(&file).unwrap_err().to_string();
        assert!(error.contains("cut off"), "{error}");
        std::fs::write(&file, b"PK").unwrap();
        assert!(read(&file).is_err());
    }
}
