// SPDX-License-Identifier: Apache-2.0
//! Takes frames from the ring, and super-frames from the socket's buffer.

use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::Ordering;

use traffic_manager::super_frame::{Cutter, Gso, Refusal, VnetHeader};

use super::Interface;
use super::capture::Direction;

/// Longest super-frame with its tags and the kernel's header in front. Longer super-frames
/// (BIG TCP) are refused.
const LONGEST_BYTES: usize = (64 << 10) + 64;
const TAG_BYTES: usize = 4;
/// Length of destination and source address, after which a tag is placed.
const ADDRESS_BYTES: usize = 12;

/// A frame in the ring.
pub struct Received {
    /// Time of arrival: CLOCK_REALTIME, ns.
    pub stamp_ns: u64,
}

/// Frame or super-frame taken from the ring.
#[derive(Debug)]
pub enum Arrived<'a> {
    /// A single frame.
    Frame(&'a [u8]),
    /// Many frames in one.
    SuperFrame(Cutter),
}

impl Interface {
    /// Returns the oldest frame not yet taken, without taking it.
    pub fn peek(&self) -> Option<Received> {
        let status = self.ring.status(self.next).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let header = self.header();
        Some(Received {
            stamp_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
        })
    }

    fn header(&self) -> libc::tpacket2_hdr {
        // SAFETY: the slot begins with this header, which the kernel wrote
        // before it set TP_STATUS_USER; callers have seen that.
        unsafe { ptr::read(self.ring.slot(self.next).cast()) }
    }

    /// Passes the oldest frame to `f` and takes it. A frame that is too long, or a
    /// super-frame that cannot be cut, is only counted.
    pub fn take(&mut self, f: impl FnOnce(Arrived<'_>)) {
        let header = self.header();
        if header.tp_status & libc::TP_STATUS_COPY != 0 {
            self.take_long(&header, f);
        } else {
            self.take_short(&header, f);
        }
        self.ring
            .status(self.next)
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.ring.slots;
    }

    /// Takes a frame that fits into its slot.
    fn take_short(&mut self, header: &libc::tpacket2_hdr, f: impl FnOnce(Arrived<'_>)) {
        let slot = self.ring.slot(self.next);
        let (at, kept) = (u32::from(header.tp_mac), header.tp_snaplen);
        let inside = at >= VnetHeader::BYTES as u32
            && at
                .checked_add(kept)
                .is_some_and(|e| e <= self.ring.slot_bytes);
        if !inside || kept < header.tp_len {
            // Longer than its slot while the socket's buffer was full.
            self.stats.rx_dropped += 1;
            return;
        }
        // SAFETY: at + kept lies within the slot, and the vnet header lies before
        // `at`; the kernel leaves the slot alone until its status is given back.
        let (vnet, frame) = unsafe {
            let start = slot.add(at as usize);
            let vnet = ptr::read_unaligned(start.sub(VnetHeader::BYTES).cast());
            (
                VnetHeader::read(&vnet),
                std::slice::from_raw_parts(start, kept as usize),
            )
        };
        let tag = tag(header);
        if vnet.gso != Gso::None {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            buffer.extend_from_slice(frame);
            self.super_frame(buffer, vnet, tag, f);
        } else if header.tp_len > self.max_frame_bytes {
            self.oversize(header.tp_len);
        } else if tag.is_some() || vnet.needs_checksum {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.clear();
            scratch.extend_from_slice(frame);
            insert_tag(&mut scratch, tag);
            if vnet.needs_checksum {
                traffic_manager::super_frame::complete(&mut scratch);
            }
            self.count(1, scratch.len());
            self.copy(&scratch);
            f(Arrived::Frame(&scratch));
            self.scratch = scratch;
        } else {
            self.count(1, frame.len());
            self.copy(frame);
            f(Arrived::Frame(frame));
        }
    }

    /// Takes a frame that waits in the socket's buffer as a whole.
    fn take_long(&mut self, header: &libc::tpacket2_hdr, f: impl FnOnce(Arrived<'_>)) {
        let mut vnet = [0u8; VnetHeader::BYTES];
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.reserve(LONGEST_BYTES);
        let mut parts = [
            libc::iovec {
                iov_base: vnet.as_mut_ptr().cast(),
                iov_len: vnet.len(),
            },
            libc::iovec {
                iov_base: buffer.as_mut_ptr().cast(),
                iov_len: LONGEST_BYTES,
            },
        ];
        // SAFETY: all zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len();
        // SAFETY: the message points to buffers of the lengths given, which
        // outlive the call.
        let n = unsafe {
            libc::recvmsg(
                self.fd.as_raw_fd(),
                &raw mut message,
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
            )
        };
        let Some(bytes) = usize::try_from(n)
            .ok()
            .and_then(|n| n.checked_sub(vnet.len()))
        else {
            self.stats.rx_dropped += 1;
            self.buffer = buffer;
            return;
        };
        let vnet = VnetHeader::read(&vnet);
        let whole = bytes <= LONGEST_BYTES;
        // SAFETY: this many bytes were reserved, and the kernel wrote them.
        unsafe { buffer.set_len(bytes.min(LONGEST_BYTES)) };
        if vnet.gso == Gso::None {
            self.oversize(header.tp_len);
            self.buffer = buffer;
        } else if whole {
            self.super_frame(buffer, vnet, tag(header), f);
        } else {
            self.refuse(Refusal::Length, header.tp_len);
            self.buffer = buffer;
        }
    }

    fn super_frame(
        &mut self,
        mut frame: Vec<u8>,
        mut vnet: VnetHeader,
        tag: Option<[u8; TAG_BYTES]>,
        f: impl FnOnce(Arrived<'_>),
    ) {
        if insert_tag(&mut frame, tag) {
            vnet.checksum_start = vnet.checksum_start.saturating_add(TAG_BYTES as u16);
        }
        let bytes = frame.len() as u32;
        self.copy(&frame);
        match Cutter::new(frame, &vnet, self.max_frame_bytes as usize) {
            Ok(cutter) => {
                self.stats.rx_super_frames += 1;
                self.count(cutter.segments_left() as u64, cutter.bytes_left());
                f(Arrived::SuperFrame(cutter));
            }
            Err((why, frame)) => {
                self.refuse(why, bytes);
                self.buffer = frame;
            }
        }
    }

    #[inline]
    fn copy(&mut self, frame: &[u8]) {
        if let Some(c) = &mut self.capture {
            c.add(Direction::In, frame);
        }
    }

    fn count(&mut self, packets: u64, bytes: usize) {
        self.stats.rx_packets += packets;
        self.stats.rx_bytes += bytes as u64;
    }

    fn refuse(&mut self, why: Refusal, bytes: u32) {
        let count = self.stats.refused(why);
        *count += 1;
        if *count == 1 {
            tracing::warn!(
                interface = self.name,
                bytes,
                "super-frame dropped (more are only counted): {why}; without segmentation offload at the sending \
                 host it would pass (`ethtool -K DEVICE tso off gso off`)"
            );
        }
    }

    fn oversize(&mut self, bytes: u32) {
        self.stats.rx_oversize += 1;
        if !self.warned_oversize {
            self.warned_oversize = true;
            tracing::warn!(
                interface = self.name,
                bytes,
                "frame above the MTU dropped (more are only counted): set one MTU at both ends"
            );
        }
    }
}

/// Returns the VLAN tag that the kernel keeps separate from a received frame.
fn tag(header: &libc::tpacket2_hdr) -> Option<[u8; TAG_BYTES]> {
    if header.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let tpid = if header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0 {
        header.tp_vlan_tpid
    } else {
        0x8100
    };
    let ([a, b], [c, d]) = (tpid.to_be_bytes(), header.tp_vlan_tci.to_be_bytes());
    Some([a, b, c, d])
}

/// Puts a tag back in its place; returns `false` if there is no tag.
fn insert_tag(frame: &mut Vec<u8>, tag: Option<[u8; TAG_BYTES]>) -> bool {
    match tag {
        Some(tag) if frame.len() >= ADDRESS_BYTES => {
            frame.splice(ADDRESS_BYTES..ADDRESS_BYTES, tag);
            true
        }
        _ => false,
    }
}
