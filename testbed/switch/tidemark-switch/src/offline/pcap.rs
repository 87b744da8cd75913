// SPDX-License-Identifier: Apache-2.0
//! Classic pcap files of Ethernet frames: both byte orders, microseconds and
//! nanoseconds, optionally compressed with gzip.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::read::MultiGzDecoder;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const ETHERNET: u32 = 1;
/// Longer frames mean a damaged file.
const MAX_FRAME_BYTES: u32 = 1 << 18;

/// A frame of a capture.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    /// Since the epoch.
    pub time_ns: u64,
    /// Its bytes.
    pub data: Vec<u8>,
}
/// Reads a capture, packed or not.
pub struct Reader {
    input: Box<dyn Read>,
    swapped: bool,
    fraction_ns: u64,
}

impl Reader {
    /// # Errors
    /// No such file, or not a pcap of Ethernet frames.
    pub fn open(path: &Path) -> Result<Self> {
        let file = BufReader::new(File::open(path).context("cannot open")?);
        let gzip = path.extension().is_some_and(|e| e == "gz");
        Self::new(if gzip {
            Box::new(BufReader::new(MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        })
    }

    /// # Errors
    /// Not a pcap of Ethernet frames.
    pub fn new(mut input: Box<dyn Read>) -> Result<Self> {
        let mut h = [0u8; 24];
        input.read_exact(&mut h).context("not a pcap: too short")?;
        let magic = word(&h, 0, false);
        let (swapped, fraction_ns) = match (magic, magic.swap_bytes()) {
            (MICROSECONDS, _) => (false, 1000),
            (NANOSECONDS, _) => (false, 1),
            (_, MICROSECONDS) => (true, 1000),
            (_, NANOSECONDS) => (true, 1),
            (0x0a0d_0d0a, _) => {
                bail!("is a pcapng; convert it: editcap -F nsecpcap in.pcapng out.pcap")
            }
            _ => bail!(
                "not a pcap (first bytes {:02x?})",
                &h.get(..4).unwrap_or_default()
            ),
        };
        let link = word(&h, 20, swapped) & 0x0fff_ffff;
        if link != ETHERNET {
            bail!("link type {link} is not Ethernet (1)");
        }
        Ok(Self {
            input,
            swapped,
            fraction_ns,
        })
    }

    /// `None` at the end.
    ///
    /// # Errors
    /// A file that ends within a frame, or a frame that the capture cut.
    pub fn next_frame(&mut self) -> Result<Option<Frame>> {
        let mut h = [0u8; 16];
        match self.input.read(&mut h[..1])? {
            0 => return Ok(None),
            _ => self
                .input
                .read_exact(&mut h[1..])
                .context("ends within a frame")?,
        }
        let part = |i: usize| word(&h, i * 4, self.swapped);
        let (kept, whole) = (part(2), part(3));
        if kept > MAX_FRAME_BYTES {
            bail!("frame of {kept} bytes: the file is damaged");
        }
        if kept < whole {
            bail!("holds only {kept} of a frame's {whole} bytes: capture without a snap length");
        }
        let mut data = vec![0; kept as usize];
        self.input
            .read_exact(&mut data)
            .context("ends within a frame")?;
        Ok(Some(Frame {
            time_ns: u64::from(part(0)) * 1_000_000_000 + u64::from(part(1)) * self.fraction_ns,
            data,
        }))
    }
}

fn word(h: &[u8], at: usize, swapped: bool) -> u32 {
    let b = h
        .get(at..at + 4)
        .and_then(|b| <[u8; 4]>::try_from(b).ok())
        .unwrap_or_default();
    if swapped {
        u32::from_be_bytes(b)
    } else {
        u32::from_le_bytes(b)
    }
}

/// Writes nanosecond times, little-endian.
pub struct Writer<W: Write>(W);

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(mut output: W) -> io::Result<Self> {
        for v in [NANOSECONDS, 0x0004_0002, 0, 0, MAX_FRAME_BYTES, ETHERNET] {
            output.write_all(&v.to_le_bytes())?;
        }
        Ok(Self(output))
    }
    /// Adds a frame.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        let length = frame.len() as u32;
        let (s, ns) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        for v in [s as u32, ns as u32, length, length] {
            self.0.write_all(&v.to_le_bytes())?;
        }
        self.0.write_all(frame)
    }
    /// Writes what is buffered.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Vec<u8>) -> Result<Vec<Frame>> {
        let mut r = Reader::new(Box::new(io::Cursor::new(bytes)))?;
        let mut out = Vec::new();
        while let Some(f) = r.next_frame()? {
            out.push(f);
        }
        Ok(out)
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        let mut w = Writer::new(&mut bytes).unwrap();
        w.write(1_500_000_001, &[1, 2, 3]).unwrap();
        w.write(2_000_000_000, &[]).unwrap();
        w.finish().unwrap();
        let frames = read(bytes.clone()).unwrap();
        assert_eq!(frames.len(), 2);
        assert_eq!(
            (frames[0].time_ns, frames[0].data.as_slice()),
            (1_500_000_001, &[1, 2, 3][..])
        );
        bytes.truncate(bytes.len() - 1);
        let e = read(bytes).unwrap_err();
        assert!(e.to_string().contains("ends within a frame"), "{e}");
    }

    #[test]
    fn microseconds_of_the_other_byte_order() {
        let mut bytes = Vec::new();
        for v in [MICROSECONDS, 0x0002_0004, 0, 0, 65535, 1, 3, 7, 1, 1] {
            bytes.extend(v.to_be_bytes());
        }
        bytes.push(9);
        let frames = read(bytes).unwrap();
        assert_eq!(
            frames,
            [Frame {
                time_ns: 3_000_007_000,
                data: vec![9]
            }]
        );
    }

    #[test]
    fn refuses_what_is_no_whole_ethernet_capture() {
        assert!(read(b"not a capture at all, is it".to_vec()).is_err());
        let mut cut = Vec::new();
        for v in [NANOSECONDS, 0, 0, 0, 64, 1, 0, 0, 1, 60] {
            cut.extend(v.to_le_bytes());
        }
        cut.push(0);
        let e = read(cut).unwrap_err();
        assert!(e.to_string().contains("snap length"), "{e}");
    }
}
