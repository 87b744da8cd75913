// SPDX-License-Identifier: Apache-2.0
//! Reads UDP payloads from pcap files (classic format, either byte order, µs or
//! ns, plain or gzip).

mod input;
mod udp;

pub use input::{Position, open};

use std::io::{ErrorKind, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;
use udp::{ETHERNET, LINUX_SLL, RAW, find_udp};

/// No frame is larger; more is a broken file.
const MAX_FRAME: u32 = 256 * 1024;

/// Why a capture file cannot be read.
#[derive(Debug, Error)]
pub enum PcapError {
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{path}: not a pcap file (magic number {magic:08x}); pcapng is not read, convert it with `editcap -F pcap`"
    )]
    Magic { path: PathBuf, magic: u32 },
    #[error("{path}: link type {link} is not read (Ethernet 1, raw IP 101, Linux cooked 113 are)")]
    Link { path: PathBuf, link: u32 },
    #[error("{path}: frame {frame} claims {bytes} bytes; the file is broken there")]
    Frame {
        path: PathBuf,
        frame: u64,
        bytes: u32,
    },
}

/// A UDP datagram of a capture file.
#[derive(Debug)]
pub struct Packet<'a> {
    /// When it was captured, Unix time.
    pub time_ns: u64,
    /// Source address.
    pub src: IpAddr,
    /// Destination port.
    pub dst_port: u16,
    /// UDP payload.
    pub payload: &'a [u8],
}

/// Reads UDP datagrams from a capture file, one after the other.
pub struct PcapReader {
    path: PathBuf,
    input: Box<dyn Read>,
    swapped: bool,
    nanoseconds: bool,
    link: u32,
    frames: u64,
    frame: Vec<u8>,
    /// Frames that hold no whole UDP datagram.
    pub other_frames: u64,
    /// The file ended within a frame.
    pub truncated: bool,
    /// How much of the file has been read.
    pub position: Position,
}

impl PcapReader {
    /// Opens a file, plain or gzip.
    ///
    /// # Errors
    /// When the file cannot be read or is of another format.
    pub fn open(path: &Path) -> Result<Self, PcapError> {
        let (input, position) = open(path)?;
        Self::new(path, input, position)
    }

    /// Reads from something that is no file.
    ///
    /// # Errors
    /// As [`PcapReader::open`].
    pub fn from_reader(input: Box<dyn Read>) -> Result<Self, PcapError> {
        Self::new(Path::new("input"), input, Position::default())
    }

    fn new(path: &Path, mut input: Box<dyn Read>, position: Position) -> Result<Self, PcapError> {
        let mut header = [0u8; 24];
        input
            .read_exact(&mut header)
            .map_err(|source| PcapError::Io {
                path: path.to_path_buf(),
                source,
            })?;
        let magic = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let (swapped, nanoseconds) = match magic {
            0xa1b2_c3d4 => (false, false),
            0xa1b2_3c4d => (false, true),
            0xd4c3_b2a1 => (true, false),
            0x4d3c_b2a1 => (true, true),
            _ => {
                return Err(PcapError::Magic {
                    path: path.to_path_buf(),
                    magic,
                });
            }
        };
        let mut reader = Self {
            path: path.to_path_buf(),
            input,
            swapped,
            nanoseconds,
            link: 0,
            frames: 0,
            frame: Vec::new(),
            other_frames: 0,
            truncated: false,
            position,
        };
        reader.link = reader.word(&header, 20) & 0xffff;
        if !matches!(reader.link, ETHERNET | RAW | LINUX_SLL) {
            return Err(PcapError::Link {
                path: path.to_path_buf(),
                link: reader.link,
            });
        }
        Ok(reader)
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word: [u8; 4] = bytes
            .get(at..)
            .and_then(|b| b.first_chunk::<4>())
            .copied()
            .unwrap_or_default();
        if self.swapped {
            u32::from_be_bytes(word)
        } else {
            u32::from_le_bytes(word)
        }
    }

    /// The next UDP datagram; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read on.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, PcapError> {
        loop {
            let mut header = [0u8; 16];
            if !self.fill(Target::Header(&mut header))? {
                return Ok(None);
            }
            self.frames += 1;
            let bytes = self.word(&header, 8);
            if bytes > MAX_FRAME {
                return Err(PcapError::Frame {
                    path: self.path.clone(),
                    frame: self.frames,
                    bytes,
                });
            }
            self.frame.resize(bytes as usize, 0);
            if !self.fill(Target::Frame)? {
                return Ok(None);
            }
            let fraction = u64::from(self.word(&header, 4));
            let time_ns = u64::from(self.word(&header, 0)) * 1_000_000_000
                + if self.nanoseconds {
                    fraction
                } else {
                    fraction * 1000
                };
            if let Some(udp) = find_udp(&self.frame, self.link) {
                return Ok(Some(Packet {
                    time_ns,
                    src: udp.src,
                    dst_port: udp.dst_port,
                    payload: self.frame.get(udp.payload).unwrap_or_default(),
                }));
            }
            self.other_frames += 1;
        }
    }

    fn fill(&mut self, target: Target<'_>) -> Result<bool, PcapError> {
        let (buffer, at_boundary) = match target {
            Target::Header(b) => (&mut b[..], true),
            Target::Frame => (&mut self.frame[..], false),
        };
        let mut have = 0;
        while have < buffer.len() {
            match self.input.read(&mut buffer[have..]) {
                Ok(0) => {
                    self.truncated = !at_boundary || have > 0;
                    return Ok(false);
                }
                Ok(n) => have += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(PcapError::Io {
                        path: self.path.clone(),
                        source,
                    });
                }
            }
        }
        Ok(true)
    }
}

enum Target<'a> {
    Header(&'a mut [u8; 16]),
    Frame,
}
