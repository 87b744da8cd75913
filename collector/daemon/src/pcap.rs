// SPDX-License-Identifier: Apache-2.0
//! Reads UDP payloads from pcap files (classic format, either byte order, µs or
//! ns, plain or gzip).

use flate2::read::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use thiserror::Error;

/// No frame is larger; more is a broken file.
const MAX_FRAME: u32 = 256 * 1024;
const ETHERNET: u32 = 1;
const RAW: u32 = 101;
const LINUX_SLL: u32 = 113;

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

/// How much of a file has been read; `read` of `size` bytes.
#[derive(Clone, Debug, Default)]
pub struct Position {
    read: Rc<Cell<u64>>,
    pub size: u64,
}

impl Position {
    /// 0 to 1.
    pub fn fraction(&self) -> f64 {
        if self.size == 0 {
            return 1.0;
        }
        (self.read.get() as f64 / self.size as f64).min(1.0)
    }
}

struct Counted {
    file: File,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.read.set(self.read.get() + n as u64);
        Ok(n)
    }
}

/// Opens a file, through gzip if it begins as gzip does.
///
/// # Errors
/// When it cannot be opened.
pub fn open(path: &Path) -> Result<(Box<dyn Read>, Position), PcapError> {
    let io = |source| PcapError::Io {
        path: path.to_path_buf(),
        source,
    };
    let file = File::open(path).map_err(io)?;
    let position = Position {
        read: Rc::default(),
        // A pipe has none.
        size: file.metadata().map_or(0, |m| m.len()),
    };
    let read = position.read.clone();
    let mut file = BufReader::with_capacity(1 << 18, Counted { file, read });
    let compressed = file.fill_buf().map_err(io)?.starts_with(&[0x1f, 0x8b]);
    let input: Box<dyn Read> = if compressed {
        Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    };
    Ok((input, position))
}

/// A UDP datagram of a capture file.
#[derive(Debug)]
pub struct Packet<'a> {
    pub time_ns: u64,
    pub src: IpAddr,
    pub dst_port: u16,
    pub payload: &'a [u8],
}

/// See the module.
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
            if let Some((src, dst_port, start, end)) = udp(&self.frame, self.link) {
                return Ok(Some(Packet {
                    time_ns,
                    src,
                    dst_port,
                    payload: self.frame.get(start..end).unwrap_or_default(),
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

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)
        .and_then(|b| b.first_chunk::<2>())
        .map(|b| u16::from_be_bytes(*b))
}

/// Source, destination port and payload range of the UDP datagram in a frame.
fn udp(frame: &[u8], link: u32) -> Option<(IpAddr, u16, usize, usize)> {
    let (mut ethertype, mut at) = match link {
        ETHERNET => (be16(frame, 12)?, 14),
        LINUX_SLL => (be16(frame, 14)?, 16),
        _ => (
            if frame.first()? >> 4 == 6 {
                0x86dd
            } else {
                0x0800
            },
            0,
        ),
    };
    while matches!(ethertype, 0x8100 | 0x88a8) {
        ethertype = be16(frame, at + 2)?;
        at += 4;
    }
    let (src, udp_at) = match ethertype {
        0x0800 => {
            let header = frame.get(at..)?.first_chunk::<20>()?;
            let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
            if header[0] >> 4 != 4 || header[9] != 17 || fragment != 0 {
                return None;
            }
            let src = Ipv4Addr::new(header[12], header[13], header[14], header[15]);
            (IpAddr::V4(src), at + usize::from(header[0] & 15) * 4)
        }
        0x86dd => {
            let header = frame.get(at..)?.first_chunk::<40>()?;
            if header[6] != 17 {
                return None;
            }
            let src: [u8; 16] = header[8..24].try_into().ok()?;
            (IpAddr::V6(Ipv6Addr::from(src)), at + 40)
        }
        _ => return None,
    };
    let dst_port = be16(frame, udp_at + 2)?;
    // The UDP length, not the frame's: frames have padding and trailers.
    let length = usize::from(be16(frame, udp_at + 4)?);
    let end = udp_at + length;
    (length >= 8 && end <= frame.len()).then_some((src, dst_port, udp_at + 8, end))
}
