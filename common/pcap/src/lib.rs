// SPDX-License-Identifier: Apache-2.0
//! Reads and writes capture files.
//!
//! | part | purpose |
//! |---|---|
//! | [`Frames`] | the frames of a file, pcap or pcapng, plain or compressed, one after another |
//! | [`Datagrams`] | the UDP datagrams in these frames |
//! | [`Writer`] | a pcap file with times in nanoseconds |
//! | [`open`] | any file, plain or compressed, and how much of it has been read |
//!
//! The crate `pcap-parser` parses the formats. This crate reads in pieces, checks lengths
//! before allocating memory for them, and converts times to nanoseconds. No file content
//! causes a panic.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod classic;
mod datagrams;
mod error;
mod fragments;
mod frames;
mod input;
mod pcapng;
mod step;
mod udp;
mod unread;
mod writer;

pub use datagrams::{Datagram, Datagrams};
pub use error::PcapError;
pub use frames::{Frame, Frames};
pub use input::{Position, STDIN, open};
pub use udp::{ETHERNET, LINUX_SLL, LINUX_SLL2, RAW};
pub use unread::{Reason, Unread};
pub use writer::Writer;

/// Largest frame, in bytes; a larger length means a broken file.
const MAX_FRAME_BYTES: u32 = 256 * 1024;
