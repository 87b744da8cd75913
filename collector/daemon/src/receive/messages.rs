// SPDX-License-Identifier: Apache-2.0
//! Receives many messages per system call, into buffers that are reused.

use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::time::{SystemTime, UNIX_EPOCH};

use socket2::Socket;

use super::received::{Message, Received};

/// Maximum number of messages per system call.
const COUNT: usize = 64;
/// Distance between buffers: the longest that a message, coalesced or not, can be, and some cache
/// lines, so that the starts of the buffers do not compete for the same cache lines.
const BUFFER_BYTES: usize = 65_536 + 5 * 64;

/// Room for the control message with the segment size.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

/// Buffers of one thread, and the headers that describe them to the kernel.
pub(super) struct Messages {
    names: Box<[libc::sockaddr_storage]>,
    controls: Box<[Control]>,
    buffers: Box<[u8]>,
    vectors: Box<[libc::iovec]>,
    /// Point to all of the above, which never move.
    headers: Box<[libc::mmsghdr]>,
}

impl Messages {
    pub(super) fn new() -> Self {
        let mut this = Self {
            // SAFETY: all zeros is a value of these C structures.
            names: vec![unsafe { std::mem::zeroed() }; COUNT].into(),
            controls: vec![Control([0; 64]); COUNT].into(),
            buffers: vec![0; COUNT * BUFFER_BYTES].into(),
            // SAFETY: as above.
            vectors: vec![unsafe { std::mem::zeroed() }; COUNT].into(),
            // SAFETY: as above.
            headers: vec![unsafe { std::mem::zeroed() }; COUNT].into(),
        };
        for ((((header, vector), name), control), buffer) in this
            .headers
            .iter_mut()
            .zip(&mut this.vectors)
            .zip(&mut this.names)
            .zip(&mut this.controls)
            .zip(this.buffers.chunks_mut(BUFFER_BYTES))
        {
            vector.iov_base = buffer.as_mut_ptr().cast();
            vector.iov_len = buffer.len();
            let message = &mut header.msg_hdr;
            message.msg_iov = vector;
            message.msg_iovlen = 1;
            message.msg_name = std::ptr::from_mut(name).cast();
            message.msg_control = std::ptr::from_mut(control).cast();
            prepare(header);
        }
        this
    }

    /// Passes the available messages to `f`; with `wait`, waits for the first message up to the
    /// socket's timeout. Returns whether there may be more.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing, else the error of the system call.
    pub(super) fn receive(
        &mut self,
        socket: &Socket,
        wait: bool,
        f: impl FnOnce(&Received<'_>),
    ) -> io::Result<bool> {
        let flags = if wait {
            libc::MSG_WAITFORONE
        } else {
            libc::MSG_DONTWAIT
        };
        // SAFETY: every header points to a name, a control area, a vector and
        // through it to a buffer, all of which live as long as `self`.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                COUNT as libc::c_uint,
                flags,
                std::ptr::null_mut(),
            )
        };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        let rx_unix_ns = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |elapsed| {
                u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
            });
        let nobody = Message::nothing();
        let mut list = [nobody; COUNT];
        for (((entry, header), name), buffer) in list
            .iter_mut()
            .zip(self.headers.iter().take(received))
            .zip(self.names.iter())
            .zip(self.buffers.chunks(BUFFER_BYTES))
        {
            let length = header.msg_len as usize;
            (entry.exporter, entry.source_port) = source(name).unwrap_or((nobody.exporter, 0));
            entry.bytes = buffer.get(..length).unwrap_or(buffer);
            entry.segment_bytes = segment_bytes(&header.msg_hdr).unwrap_or(length);
        }
        f(&Received {
            rx_unix_ns,
            messages: list.get(..received).unwrap_or_default(),
            more: received == COUNT,
        });
        // The kernel has replaced the lengths by those that it used.
        self.headers.iter_mut().take(received).for_each(prepare);
        Ok(received == COUNT)
    }
}

/// Prepares a header for a call.
fn prepare(header: &mut libc::mmsghdr) {
    header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    header.msg_hdr.msg_controllen = size_of::<Control>();
}

/// Returns the length of the datagrams, if the kernel has coalesced them.
fn segment_bytes(header: &libc::msghdr) -> Option<usize> {
    // SAFETY: `header` is as the kernel filled it, and its control area lives.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(message) = control.as_ref() {
            if (message.cmsg_level, message.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO) {
                let value = libc::CMSG_DATA(control)
                    .cast::<libc::c_int>()
                    .read_unaligned();
                return usize::try_from(value).ok().filter(|&size| size > 0);
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    None
}

/// Returns the exporter's address and port; IPv4 addresses even from an IPv6 socket.
fn source(name: &libc::sockaddr_storage) -> Option<(IpAddr, u16)> {
    let place: *const libc::sockaddr_storage = name;
    match libc::c_int::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says which structure the storage holds.
            let name = unsafe { place.cast::<libc::sockaddr_in>().read() };
            let address = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
            Some((IpAddr::V4(address), u16::from_be(name.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { place.cast::<libc::sockaddr_in6>().read() };
            let address = IpAddr::V6(Ipv6Addr::from(name.sin6_addr.s6_addr));
            Some((address.to_canonical(), u16::from_be(name.sin6_port)))
        }
        _ => None,
    }
}
