// SPDX-License-Identifier: Apache-2.0
//! The UDP datagrams of a capture file.

use crate::error::PcapError;
use crate::frames::Frames;
use crate::input::Position;
use crate::udp::{ETHERNET, LINUX_SLL, RAW, UdpDatagram, find_udp};
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

/// A UDP datagram of a capture file.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// When it was captured, Unix time.
    pub time_ns: u64,
    /// Source address.
    pub src: IpAddr,
    /// Destination port.
    pub dst_port: u16,
    /// UDP payload.
    pub payload: &'a [u8],
}

/// Reads the UDP datagrams of a capture file, one after the other.
pub struct Datagrams {
    frames: Frames,
    /// Frames that hold no whole UDP datagram.
    pub other_frames: u64,
}

impl Datagrams {
    /// Opens a file, pcap or pcapng, plain or gzip.
    ///
    /// # Errors
    /// When the file cannot be read, or is of another format or link type.
    pub fn open(path: &Path) -> Result<Self, PcapError> {
        Self::new(Frames::open(path)?)
    }

    /// Reads from something that is no file.
    ///
    /// # Errors
    /// As [`Datagrams::open`].
    pub fn from_reader(input: Box<dyn Read>) -> Result<Self, PcapError> {
        Self::new(Frames::from_reader(input)?)
    }

    fn new(frames: Frames) -> Result<Self, PcapError> {
        if let Some(link) = frames.link() {
            known(link, &frames)?;
        }
        Ok(Self {
            frames,
            other_frames: 0,
        })
    }

    /// The file ended within a frame.
    pub fn truncated(&self) -> bool {
        self.frames.truncated
    }

    /// How much of the file has been read.
    pub fn position(&self) -> &Position {
        &self.frames.position
    }

    /// The next UDP datagram; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read on, or a frame is of another link type.
    pub fn next_datagram(&mut self) -> Result<Option<Datagram<'_>>, PcapError> {
        Ok(self.next_place()?.map(|(time_ns, udp)| Datagram {
            time_ns,
            src: udp.src,
            dst_port: udp.dst_port,
            payload: self.frames.last().get(udp.payload).unwrap_or_default(),
        }))
    }

    fn next_place(&mut self) -> Result<Option<(u64, UdpDatagram)>, PcapError> {
        loop {
            let Some(frame) = self.frames.next_frame()? else {
                return Ok(None);
            };
            let (time_ns, link) = (frame.time_ns, frame.link);
            let udp = find_udp(frame.data, link);
            known(link, &self.frames)?;
            if let Some(udp) = udp {
                return Ok(Some((time_ns, udp)));
            }
            self.other_frames += 1;
        }
    }
}

fn known(link: u32, frames: &Frames) -> Result<(), PcapError> {
    if matches!(link, ETHERNET | RAW | LINUX_SLL) {
        return Ok(());
    }
    let path = frames.path().to_path_buf();
    Err(PcapError::Link { path, link })
}
