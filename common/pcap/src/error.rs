// SPDX-License-Identifier: Apache-2.0
//! Errors of capture files.

use std::path::PathBuf;
use thiserror::Error;

/// Error for a capture file that cannot be read. Each names the file; frames count from 1.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum PcapError {
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: is not a pcap: it {what}")]
    Short { path: PathBuf, what: &'static str },
    #[error("{path}: is not a pcap or pcapng (it starts with the number {magic:08x})")]
    Magic { path: PathBuf, magic: u32 },
    #[error(
        "{path}: link type {link} is not supported (Ethernet 1, raw IP 101, Linux cooked 113 and 276, loopback 0 and 108, PPP 9 are)"
    )]
    Link { path: PathBuf, link: u32 },
    #[error("{path}: frame {frame} claims {bytes} bytes; the file is broken there")]
    Frame {
        path: PathBuf,
        frame: u64,
        bytes: u32,
    },
    #[error("{path}: before frame {frame}: {what}")]
    Block {
        path: PathBuf,
        frame: u64,
        what: &'static str,
    },
}
