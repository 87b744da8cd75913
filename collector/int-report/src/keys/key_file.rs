// SPDX-License-Identifier: Apache-2.0
//! Files with keys: hexadecimal, one per line.

use crate::keys::{MAX_KEY_BYTES, MAX_KEYS, MIN_KEY_BYTES, ReportKeys};
use durable_fs::read_secret;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The error for a file whose keys cannot be used; one line, without any of the file's content.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct KeyFileError {
    /// The file.
    pub path: PathBuf,
    /// The fault, and its remedy.
    pub problem: String,
}

impl ReportKeys {
    /// Reads one key, or two during a key change: hexadecimal, one per line; lines that begin with
    /// `#` are comments. The first key signs.
    ///
    /// # Errors
    /// If the file cannot be read, is readable by others, or does not hold such keys.
    pub fn read(path: &Path) -> Result<Self, KeyFileError> {
        let error = |problem: String| KeyFileError {
            path: path.to_path_buf(),
            problem,
        };
        let bytes = read_secret(path).map_err(|e| error(e.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        parse(&text).ok_or_else(|| {
            error(format!(
                "must hold one or two keys, one per line, of {} to {} hexadecimal digits; `openssl rand -hex 32` makes one",
                2 * MIN_KEY_BYTES,
                2 * MAX_KEY_BYTES
            ))
        })
    }
}

fn parse(text: &str) -> Option<ReportKeys> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|l| !l.is_empty() && !l.starts_with('#'));
    let keys: Option<Vec<Vec<u8>>> = lines.take(MAX_KEYS + 1).map(bytes).collect();
    let keys = keys?;
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    ReportKeys::new(&keys)
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex
        .chars()
        .map(|c| c.to_digit(16).map(|d| d as u8))
        .collect();
    let digits = digits?;
    let pairs = digits.chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(high << 4 | low),
            _ => None,
        })
        .collect()
}
