// SPDX-License-Identifier: Apache-2.0
//! Capture files, for everything here that reads or writes them.
//!
//! | part | what |
//! |---|---|
//! | [`Frames`] | the frames of a file, pcap or pcapng, plain or gzip, one after the other |
//! | [`Datagrams`] | the UDP datagrams in these frames |
//! | [`Writer`] | a pcap file with times in nanoseconds |
//! | [`open`] | any file, plain or gzip, and how much of it has been read |
//!
//! The formats are parsed by the crate `pcap-parser`. Reading in pieces, checks of lengths
//! before there is memory for them, and times in nanoseconds are here. Nothing panics on
//! what a file holds.

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

/// No frame is larger; more is a broken file.
const MAX_FRAME_BYTES: u32 = 256 * 1024;
