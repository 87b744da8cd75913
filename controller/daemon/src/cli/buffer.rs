// SPDX-License-Identifier: Apache-2.0
//! Converts limits given in milliseconds or packets to bytes at their port.

use super::table;
use daemon_kit::cli::units::Buffer;

/// Size of a full frame, used if nothing was measured.
const FULL_FRAME_BYTES: f64 = 1514.0;

/// Rate and packet size of a port, for the conversion to bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortSizes {
    drain_bps: Option<f64>,
    packet_bytes: f64,
}

/// A size in bytes, and how it was computed; `words` is empty if it was given in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InBytes {
    pub bytes: f64,
    pub words: String,
}

impl PortSizes {
    /// Creates the sizes; 0 means unknown.
    pub(super) fn new(drain_bps: f64, packet_bytes: f64) -> Self {
        Self {
            drain_bps: (drain_bps > 0.0).then_some(drain_bps),
            packet_bytes: if packet_bytes > 0.0 {
                packet_bytes
            } else {
                FULL_FRAME_BYTES
            },
        }
    }

    /// Converts a size; `None` if it needs the rate of the port, which is unknown.
    pub(super) fn of(&self, buffer: Buffer) -> Option<InBytes> {
        let (bytes, words) = match buffer {
            Buffer::Bytes(bytes) => (bytes, String::new()),
            Buffer::Seconds(s) => {
                let bps = self.drain_bps?;
                let (ms, mbps) = (table::number(s * 1e3), table::number(bps / 1e6));
                (s * bps / 8.0, format!("{ms} ms at {mbps} Mbit/s"))
            }
            Buffer::Packets(n) => {
                let (n_words, size) = (table::number(n), table::number(self.packet_bytes));
                let words = format!("{n_words} packets of {size} bytes");
                (n * self.packet_bytes, words)
            }
        };
        Some(InBytes { bytes, words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_becomes_bytes_and_says_how() {
        let known = PortSizes::new(100e6, 1500.0);
        let of = |b| known.of(b).unwrap();
        let ms = of(Buffer::Seconds(0.01));
        assert!((ms.bytes - 125_000.0).abs() < 1e-6, "{ms:?}");
        assert_eq!(ms.words, "10.0 ms at 100 Mbit/s");
        let packets = of(Buffer::Packets(100.0));
        assert_eq!(
            (packets.bytes, packets.words.as_str()),
            (150e3, "100 packets of 1500 bytes")
        );
        assert_eq!(of(Buffer::Bytes(7.0)).words, "");
        let unknown = PortSizes::new(0.0, 0.0);
        assert_eq!(unknown.of(Buffer::Seconds(0.01)), None);
        assert_eq!(unknown.of(Buffer::Packets(2.0)).unwrap().bytes, 3028.0);
    }
}
