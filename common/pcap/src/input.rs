// SPDX-License-Identifier: Apache-2.0
//! Opens a file, plain or compressed, and tracks how much of it has been read.

use crate::error::PcapError;
use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::rc::Rc;

/// Size of the buffer for detecting compression. Longer reads bypass the buffer, so that the
/// bytes of a plain file are copied only once.
const PROBE_BYTES: usize = 1 << 16;

/// How much of a file has been read: `read` of `size` bytes.
#[derive(Clone, Debug, Default)]
pub struct Position {
    read: Rc<Cell<u64>>,
    /// Size of the file in bytes; 0 if unknown.
    pub size: u64,
}

impl Position {
    /// Returns the fraction that has been read, 0 to 1; `None` if the size is unknown.
    pub fn fraction(&self) -> Option<f64> {
        (self.size > 0).then(|| (self.read.get() as f64 / self.size as f64).min(1.0))
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

/// The path that means standard input.
pub const STDIN: &str = "-";

/// Returns the path as shown in errors.
pub(crate) fn shown(path: &Path) -> &Path {
    if path == Path::new(STDIN) {
        Path::new("standard input")
    } else {
        path
    }
}

fn file(path: &Path) -> std::io::Result<File> {
    if path == Path::new(STDIN) {
        return Ok(File::from(std::io::stdin().as_fd().try_clone_to_owned()?));
    }
    File::open(path)
}

/// Most memory that decompression may need: enough for zstd's `--ultra` and xz's `-9`.
const MAX_WINDOW_LOG: u32 = 27;
const MAX_XZ_BYTES: u64 = 128 << 20;

fn xz<R: BufRead>(file: R) -> std::io::Result<XzDecoder<R>> {
    let stream = Stream::new_stream_decoder(MAX_XZ_BYTES, CONCATENATED)?;
    Ok(XzDecoder::new_stream(file, stream))
}

/// Opens a file or standard input, and decompresses gzip, zstd, bzip2 and xz. The reader is not
/// buffered for small reads.
///
/// # Errors
/// The file cannot be opened.
pub fn open(path: &Path) -> Result<(Box<dyn Read>, Position), PcapError> {
    let io = |source| PcapError::Io {
        path: shown(path).to_path_buf(),
        source,
    };
    let file = file(path).map_err(io)?;
    let position = Position {
        read: Rc::default(),
        // A pipe has no size.
        size: file.metadata().map_or(0, |m| m.len()),
    };
    let read = position.read.clone();
    let mut file = BufReader::with_capacity(PROBE_BYTES, Counted { file, read });
    let input: Box<dyn Read> = match file.fill_buf().map_err(io)? {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut unpacked = zstd::Decoder::with_buffer(file).map_err(io)?;
            unpacked.window_log_max(MAX_WINDOW_LOG).map_err(io)?;
            Box::new(unpacked)
        }
        [b'B', b'Z', b'h', ..] => Box::new(MultiBzDecoder::new(file)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Box::new(xz(file).map_err(io)?),
        _ => Box::new(file),
    };
    Ok((input, position))
}
