// SPDX-License-Identifier: Apache-2.0
//! Reads the frames of a capture file.

use crate::classic::{self, Classic};
use crate::error::PcapError;
use crate::input::{self, Position};
use crate::pcapng::{self, PcapNg};
use crate::step::{Broken, Place, Step};
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Initial size of the buffer, which grows for a longer block.
const READ_BYTES: usize = 1 << 18;

/// A frame of a capture.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Capture time, Unix time in ns.
    pub time_ns: u64,
    /// Link type, as numbered by pcap.
    pub link: u32,
    /// Length on the wire, in bytes; more than `data` if the capture cut the frame.
    pub wire_bytes: u32,
    /// Captured bytes.
    pub data: &'a [u8],
}

#[derive(Debug)]
enum Format {
    Classic(Classic),
    PcapNg(PcapNg),
}

/// Reader of the frames of a file, one after another.
pub struct Frames {
    path: PathBuf,
    input: Box<dyn Read>,
    format: Format,
    buffer: Vec<u8>,
    /// Range of the buffer that was read but not parsed yet.
    start: usize,
    end: usize,
    /// Range of the buffer with the last returned frame.
    last: Range<usize>,
    frames: u64,
    /// Whether the file ended within a frame.
    pub truncated: bool,
    /// How much of the file has been read.
    pub position: Position,
}

impl Frames {
    /// Opens a file, plain or compressed; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or has another format.
    pub fn open(path: &Path) -> Result<Self, PcapError> {
        let (input, position) = input::open(path)?;
        Self::new(input::shown(path), input, position)
    }

    /// Reads from an input that is not a file.
    ///
    /// # Errors
    /// Same as [`Frames::open`].
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

    /// Returns the link type of all frames; `None` if each frame has its own (pcapng).
    pub fn link(&self) -> Option<u32> {
        match &self.format {
            Format::Classic(c) => Some(c.link),
            Format::PcapNg(_) => None,
        }
    }

    /// Returns the number of frames read so far.
    pub(crate) fn count(&self) -> u64 {
        self.frames
    }

    /// Returns the path of the file as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the next frame; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read further.
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

    /// Returns the bytes of the last returned frame.
    pub(crate) fn last(&self) -> &[u8] {
        self.buffer.get(self.last.clone()).unwrap_or_default()
    }

    /// Finds the next frame in the bytes read.
    fn next_place(&mut self) -> Result<Option<Place>, PcapError> {
        loop {
            // Not `bytes()`, which would also borrow the format.
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

    /// Makes room and reads once; returns false at the end of the file.
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
