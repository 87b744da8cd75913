// SPDX-License-Identifier: Apache-2.0
//! Captures of reports: classic pcap, nanoseconds, Ethernet, IPv4, UDP.

use crate::error::invalid;
use crate::report::Report;
use std::io::{self, Write};

const MAGIC: [u8; 4] = 0xa1b2_3c4d_u32.to_le_bytes();
const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// Of Ethernet, IPv4 and UDP.
const HEADERS_BYTES: usize = 42;
const UDP_LENGTH_AT: usize = 38;
const UDP_HEADER_BYTES: usize = 8;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// The UDP payloads of a capture.
pub(crate) fn read(capture: &[u8]) -> io::Result<Vec<Report>> {
    if capture.get(..4) != Some(&MAGIC) {
        return Err(invalid("not a little-endian pcap with nanoseconds"));
    }
    let mut reports = Vec::new();
    let mut rest = capture.get(FILE_HEADER_BYTES..).unwrap_or_default();
    while !rest.is_empty() {
        let (report, after) = record(rest).ok_or_else(|| invalid("the pcap is cut off"))?;
        reports.push(report);
        rest = after;
    }
    Ok(reports)
}

fn record(bytes: &[u8]) -> Option<(Report, &[u8])> {
    let end = RECORD_HEADER_BYTES + word(bytes, 8)? as usize;
    let frame = bytes.get(RECORD_HEADER_BYTES..end)?;
    let length = frame.get(UDP_LENGTH_AT..UDP_LENGTH_AT + 2)?;
    let udp_bytes = usize::from(u16::from_be_bytes(length.try_into().ok()?));
    let payload =
        frame.get(HEADERS_BYTES..HEADERS_BYTES + udp_bytes.checked_sub(UDP_HEADER_BYTES)?)?;
    let report = Report {
        captured_ns: u64::from(word(bytes, 0)?) * 1_000_000_000 + u64::from(word(bytes, 4)?),
        payload: payload.to_vec(),
    };
    Some((report, bytes.get(end..)?))
}

/// Writes a capture of the reports, in frames from 192.0.2.10 to 192.0.2.1.
pub(crate) fn write(out: &mut impl Write, reports: &[Report]) -> io::Result<()> {
    out.write_all(&MAGIC)?;
    for half in [2u16, 4] {
        out.write_all(&half.to_le_bytes())?;
    }
    for word in [0u32, 0, 65_535, 1] {
        out.write_all(&word.to_le_bytes())?;
    }
    for report in reports {
        let frame_bytes = (HEADERS_BYTES + report.payload.len()) as u32;
        let seconds = (report.captured_ns / 1_000_000_000) as u32;
        let ns = (report.captured_ns % 1_000_000_000) as u32;
        for word in [seconds, ns, frame_bytes, frame_bytes] {
            out.write_all(&word.to_le_bytes())?;
        }
        out.write_all(&headers(report.payload.len() as u16))?;
        out.write_all(&report.payload)?;
    }
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
    // No checksum of the datagram: IPv4 allows that.
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
        let mut file = Vec::new();
        write(&mut file, &reports).unwrap();
        assert_eq!(read(&file).unwrap(), reports);
        file.pop();
        let error = read(&file).unwrap_err().to_string();
        assert!(error.contains("cut off"), "{error}");
        assert!(read(b"PK").is_err());
    }
}
