// SPDX-License-Identifier: Apache-2.0
//! Reads the UDP datagrams of a capture file.

use crate::error::PcapError;
use crate::fragments::Fragments;
use crate::frames::Frames;
use crate::input::Position;
use crate::udp::{Found, UdpDatagram, find_udp, in_transport, is_known};
use crate::unread::{Reason, Unread};
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

/// A UDP datagram of a capture file.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// Capture time, Unix time in ns.
    pub time_ns: u64,
    /// Source address.
    pub src: IpAddr,
    /// Destination port.
    pub dst_port: u16,
    /// UDP payload.
    pub payload: &'a [u8],
}

/// Reader of the UDP datagrams of a capture file, one after another.
pub struct Datagrams {
    frames: Frames,
    fragments: Fragments,
    /// Packet reassembled from fragments.
    whole: Vec<u8>,
    /// Counts of frames without a complete UDP datagram.
    pub unread: Unread,
}

impl Datagrams {
    /// Opens a file, pcap or pcapng, plain or compressed.
    ///
    /// # Errors
    /// The file cannot be read, or has another format or link type.
    pub fn open(path: &Path) -> Result<Self, PcapError> {
        Self::new(Frames::open(path)?)
    }

    /// Reads from an input that is not a file.
    ///
    /// # Errors
    /// Same as [`Datagrams::open`].
    pub fn from_reader(input: Box<dyn Read>) -> Result<Self, PcapError> {
        Self::new(Frames::from_reader(input)?)
    }

    fn new(frames: Frames) -> Result<Self, PcapError> {
        if let Some(link) = frames.link() {
            known(link, &frames)?;
        }
        Ok(Self {
            frames,
            fragments: Fragments::default(),
            whole: Vec::new(),
            unread: Unread::default(),
        })
    }

    /// Returns whether the file ended within a frame.
    pub fn truncated(&self) -> bool {
        self.frames.truncated
    }

    /// Returns how much of the file has been read.
    pub fn position(&self) -> &Position {
        &self.frames.position
    }

    /// Returns the number of frames read so far.
    pub fn frames(&self) -> u64 {
        self.frames.count()
    }

    /// Reads the next UDP datagram; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read further, or a frame has another link type.
    pub fn next_datagram(&mut self) -> Result<Option<Datagram<'_>>, PcapError> {
        self.whole.clear();
        Ok(self.next_place()?.map(|(time_ns, udp)| {
            let bytes = match self.whole.is_empty() {
                true => self.frames.last(),
                false => &self.whole,
            };
            Datagram {
                time_ns,
                src: udp.src,
                dst_port: udp.dst_port,
                payload: bytes.get(udp.payload).unwrap_or_default(),
            }
        }))
    }

    fn next_place(&mut self) -> Result<Option<(u64, UdpDatagram)>, PcapError> {
        loop {
            let Some(frame) = self.frames.next_frame()? else {
                return Ok(None);
            };
            let (time_ns, link) = (frame.time_ns, frame.link);
            let is_cut = (frame.wire_bytes as usize) > frame.data.len();
            let found = match find_udp(frame.data, link) {
                Ok(Found::Fragment(f)) => {
                    let piece = frame.data.get(f.bytes.clone()).unwrap_or_default();
                    match self.fragments.add(&f, piece) {
                        None => Err(Reason::Fragment),
                        Some(whole) => {
                            self.whole = whole;
                            in_transport(&self.whole, f.whole.protocol, f.whole.src, 0, 0)
                        }
                    }
                }
                found => found,
            };
            known(link, &self.frames)?;
            match found {
                Ok(Found::Datagram(udp)) => return Ok(Some((time_ns, udp))),
                // A fragment inside a reassembled packet.
                Ok(Found::Fragment(_)) => self.unread.add(Reason::Fragment),
                // The frame was captured completely, but is shorter than its packet.
                Err(Reason::Cut) if !is_cut => self.unread.add(Reason::Broken),
                Err(reason) => self.unread.add(reason),
            }
            self.whole.clear();
        }
    }
}

fn known(link: u32, frames: &Frames) -> Result<(), PcapError> {
    if is_known(link) {
        return Ok(());
    }
    let path = frames.path().to_path_buf();
    Err(PcapError::Link { path, link })
}
