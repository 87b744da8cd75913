// SPDX-License-Identifier: Apache-2.0
//! Why a capture file cannot be read.

use std::path::PathBuf;
use thiserror::Error;

/// Why a capture file cannot be read. Each names the file; frames count from 1.
#[derive(Debug, Error)]
pub enum PcapError {
    /// The file cannot be opened, read or unpacked.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Neither pcap nor pcapng.
    #[error("{path}: neither pcap nor pcapng (magic number {magic:08x})")]
    Magic {
        /// The file.
        path: PathBuf,
        /// Its first four bytes, little-endian.
        magic: u32,
    },
    /// Frames of a network that is not known here.
    #[error("{path}: link type {link} is not read (Ethernet 1, raw IP 101, Linux cooked 113 are)")]
    Link {
        /// The file.
        path: PathBuf,
        /// As pcap numbers them.
        link: u32,
    },
    /// A length that cannot be.
    #[error("{path}: frame {frame} claims {bytes} bytes; the file is broken there")]
    Frame {
        /// The file.
        path: PathBuf,
        /// Which frame.
        frame: u64,
        /// What it claims to have.
        bytes: u32,
    },
    /// A part of a pcapng file that contradicts itself or has no time.
    #[error("{path}: before frame {frame}: {what}")]
    Block {
        /// The file.
        path: PathBuf,
        /// The frame that would come next.
        frame: u64,
        /// What is wrong.
        what: &'static str,
    },
}
