// SPDX-License-Identifier: Apache-2.0
//! The receive ring shared with the kernel.

use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;

use anyhow::{Context, Result};
use nix::sys::mman::{MapFlags, ProtFlags, mmap};

use super::socket::option;

/// Frames per receive ring.
const RING_FRAMES: u32 = 4096;
const BLOCK_BYTES: u32 = 1 << 17;
/// Bytes that the kernel puts before a frame, rounded up.
const SLOT_HEADER_BYTES: u32 = 96;
/// Length of an Ethernet header and one VLAN tag.
pub(super) const LINK_HEADER_BYTES: u32 = 18;

pub(super) struct Ring {
    base: *mut u8,
    bytes: usize,
    pub slot_bytes: u32,
    pub slots: u32,
}

// SAFETY: the owner of the `Ring` uses the mapping, one thread at a time.
unsafe impl Send for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `base` and `bytes` are what mmap returned and was given.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

impl Ring {
    pub(super) fn slot(&self, index: u32) -> *mut u8 {
        let offset = index as usize % self.slots as usize * self.slot_bytes as usize;
        // SAFETY: offset < slots * slot_bytes = bytes of the mapping.
        unsafe { self.base.add(offset) }
    }

    pub(super) fn status(&self, index: u32) -> &AtomicU32 {
        // SAFETY: tp_status is the first, aligned member of each slot's header
        // and shared with the kernel.
        unsafe { AtomicU32::from_ptr(self.slot(index).cast()) }
    }
}

pub(super) fn map_ring(fd: &OwnedFd, mtu: u32) -> Result<Ring> {
    option(
        fd,
        libc::PACKET_VERSION,
        &(libc::tpacket_versions::TPACKET_V2 as i32),
    )
    .context("TPACKET_V2")?;
    let slot_bytes = (mtu + LINK_HEADER_BYTES + SLOT_HEADER_BYTES)
        .next_power_of_two()
        .min(BLOCK_BYTES);
    let per_block = BLOCK_BYTES / slot_bytes;
    let slots = RING_FRAMES.next_multiple_of(per_block).min(per_block * 64);
    let request = libc::tpacket_req {
        tp_block_size: BLOCK_BYTES,
        tp_block_nr: slots / per_block,
        tp_frame_size: slot_bytes,
        tp_frame_nr: slots,
    };
    option(fd, libc::PACKET_RX_RING, &request).context("receive ring (memory?)")?;
    let bytes = slots as usize * slot_bytes as usize;
    let length = NonZeroUsize::new(bytes).context("an empty receive ring")?;
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a fresh shared mapping of the socket's ring, of its exact size.
    let base = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, fd, 0) }
        .context("mapping the receive ring")?;
    Ok(Ring {
        base: base.as_ptr().cast(),
        bytes,
        slot_bytes,
        slots,
    })
}
