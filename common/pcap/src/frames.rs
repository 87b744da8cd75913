// SPDX-License-Identifier: Apache-2.0
//! The frames of a capture file.

use crate::classic::{self, Classic};
use crate::error::PcapError;
use crate::input::{self, Position};
use crate::pcapng::{self, PcapNg};
use crate::step::{Broken, Place, Step};
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes read at once; the buffer grows for a longer block.
const READ_BYTES: usize = 1 << 18;

/// A frame of a capture.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When it was captured, Unix time.
    pub time_ns: u64,
    /// Its link type, as numbered by pcap.
    pub link: u32,
    /// Bytes that it had on the wire; more than `data` where the capture cut it.
    pub wire_bytes: u32,
    /// Its bytes.
    pub data: &'a [u8],
}

#[derive(Debug)]
enum Format {
    Classic(Classic),
    PcapNg(PcapNg),
}

/// Reads the frames of a file, one after the other.
pub struct Frames {
    path: PathBuf,
    input: Box<dyn Read>,
    format: Format,
    buffer: Vec<u8>,
    /// Of the buffer: what is read and not yet looked at.
    start: usize,
    end: usize,
    /// Of the buffer: the frame that was given last.
    last: Range<usize>,
    frames: u64,
    /// The file ended within a frame.
    pub truncated: bool,
    /// How much of the file has been read.
    pub position: Position,
}

impl Frames {
    /// Opens a file, plain or gzip; `-` is standard input.
    ///
    /// # Errors
    /// When the file cannot be read or is of another format.
    pub fn open(path: &Path) -> Result<Self, PcapError> {
        let (input, position) = input::open(path)?;
        Self::new(input::shown(path), input, position)
    }

    /// Reads from something that is no file.
    ///
    /// # Errors
    /// As [`Frames::open`].
    pub fn from_reader(input: Box<dyn Read>) -> Result<Self, PcapError> {
        Self::new(Path::new("input"), input, Position::default())
    }

    fn new(path: &Path, input: Box<dyn Read>, position: Position) -> Result<Self, PcapError> {
        let mut frames = Self {
            path: path.to_path_buf(),
            input,
            format: Format::PcapNg(PcapNg::default()),
            buffer: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            last: 0..0,
            frames: 0,
            truncated: false,
            position,
        };
        while frames.end < classic::HEADER_BYTES {
            if !frames.read_more()? {
                let what = match frames.end {
                    0 => "is empty",
                    _ => "is shorter than the header of one",
                };
                let path = frames.path;
                return Err(PcapError::Short { path, what });
            }
        }
        let header = frames.bytes();
        let magic = header.first_chunk().copied().unwrap_or_default();
        let magic = u32::from_le_bytes(magic);
        if magic != pcapng::SECTION {
            let Some(classic) = Classic::new(header) else {
                let path = path.to_path_buf();
                return Err(PcapError::Magic { path, magic });
            };
            frames.format = Format::Classic(classic);
            frames.start = classic::HEADER_BYTES;
            return Ok(frames);
        }
        let sections = PcapNg::begin(header).map_err(|b| frames.broken(&b))?;
        frames.format = Format::PcapNg(sections);
        Ok(frames)
    }

    /// The link type of every frame; `None` where each has its own (pcapng).
    pub fn link(&self) -> Option<u32> {
        match &self.format {
            Format::Classic(c) => Some(c.link),
            Format::PcapNg(_) => None,
        }
    }

    /// Frames that have been read.
    pub(crate) fn count(&self) -> u64 {
        self.frames
    }

    /// The file, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read on.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, PcapError> {
        let Some(place) = self.next_place()? else {
            return Ok(None);
        };
        let at = self.start;
        self.start += place.bytes;
        self.frames += 1;
        self.last = at + place.data.start..at + place.data.end;
        Ok(Some(Frame {
            time_ns: place.time_ns,
            link: place.link,
            wire_bytes: place.wire_bytes,
            data: self.last(),
        }))
    }

    /// The bytes of the frame that was given last.
    pub(crate) fn last(&self) -> &[u8] {
        self.buffer.get(self.last.clone()).unwrap_or_default()
    }

    /// Finds the next frame in the bytes read.
    fn next_place(&mut self) -> Result<Option<Place>, PcapError> {
        loop {
            // Not `bytes`, which would borrow the format as well.
            let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
            let step = match &mut self.format {
                Format::Classic(c) => c.step(bytes),
                Format::PcapNg(p) => p.step(bytes),
            };
            match step {
                Ok(Step::Frame(place)) => return Ok(Some(place)),
                Ok(Step::Other(bytes)) => self.start += bytes,
                Ok(Step::Incomplete) => {
                    if !self.read_more()? {
                        self.truncated = self.start < self.end;
                        return Ok(None);
                    }
                }
                Err(broken) => return Err(self.broken(&broken)),
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Makes room and reads once; false at the end of the file.
    fn read_more(&mut self) -> Result<bool, PcapError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.end * 2, 0);
        }
        loop {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.input.read(room) {
                Ok(n) => {
                    self.end += n;
                    return Ok(n > 0);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(self.io(source)),
            }
        }
    }

    fn io(&self, source: std::io::Error) -> PcapError {
        PcapError::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn broken(&self, broken: &Broken) -> PcapError {
        let (path, frame) = (self.path.clone(), self.frames + 1);
        match *broken {
            Broken::Length(bytes) => PcapError::Frame { path, frame, bytes },
            Broken::Block(what) => PcapError::Block { path, frame, what },
        }
    }
}
