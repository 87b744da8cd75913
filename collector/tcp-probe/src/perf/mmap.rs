// SPDX-License-Identifier: Apache-2.0
//! A ring buffer shared with the kernel.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;

/// Size of a memory page, bytes.
pub(super) fn page_bytes() -> usize {
    // SAFETY: no arguments that could be wrong.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// The mapping: one page of control data, then the ring.
#[derive(Debug)]
pub(super) struct Ring {
    fd: OwnedFd,
    base: NonNull<u8>,
    mapped_bytes: usize,
    page_bytes: usize,
    ring_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone; the kernel's side is
// synchronised by the atomic head and tail.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `pages` (a power of two) pages of the event `fd`.
    pub(super) fn map(fd: OwnedFd, pages: usize) -> io::Result<Self> {
        let page_bytes = page_bytes();
        let mapped_bytes = (pages + 1) * page_bytes;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast::<u8>())
            .ok_or_else(|| io::Error::other("mmap returned address zero"))?;
        Ok(Self {
            fd,
            base,
            mapped_bytes,
            page_bytes,
            ring_bytes: pages * page_bytes,
        })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Gives `f` all that is readable, in one piece or, across the end of the
    /// ring, in two; then frees it.
    pub(super) fn consume(&mut self, f: impl FnOnce(&[u8], &[u8])) {
        let page = self.base.as_ptr().cast::<perf_event_mmap_page>();
        // SAFETY: the control page is mapped for the life of `self`; both fields
        // are aligned 64-bit words that kernel and reader access atomically.
        let (head, tail) = unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*page).data_head),
                AtomicU64::from_ptr(&raw mut (*page).data_tail),
            )
        };
        // Acquire: the records are read after the head that announces them.
        let end = head.load(Ordering::Acquire);
        let start = tail.load(Ordering::Relaxed);
        let length = usize::try_from(end.wrapping_sub(start)).unwrap_or(usize::MAX);
        if length == 0 {
            return;
        }
        let length = length.min(self.ring_bytes);
        // `ring_bytes` is a power of two.
        let at = (start as usize) & (self.ring_bytes - 1);
        let first = length.min(self.ring_bytes - at);
        // SAFETY: both ranges lie within the mapping, and the kernel does not
        // write between tail and head until the tail is moved below.
        unsafe {
            let data = self.base.as_ptr().add(self.page_bytes);
            f(
                std::slice::from_raw_parts(data.add(at), first),
                std::slice::from_raw_parts(data, length - first),
            );
        }
        // Release: the records have been read before the room is given back.
        tail.store(end, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` has mapped; no reference to it remains.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), self.mapped_bytes);
        }
    }
}
