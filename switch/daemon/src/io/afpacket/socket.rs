// SPDX-License-Identifier: Apache-2.0
//! Opens, binds, queries and configures packet sockets.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt};

pub(super) fn socket() -> Result<OwnedFd> {
    // Without a protocol nothing is received until the socket is bound.
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    match nix::sys::socket::socket(AddressFamily::Packet, SockType::Raw, flags, None) {
        Err(Errno::EPERM) => {
            bail!("no permission for packet sockets; run as root (CAP_NET_RAW, CAP_NET_ADMIN)")
        }
        opened => opened.context("packet socket"),
    }
}

pub(super) fn ifreq(name: &str) -> Result<libc::ifreq> {
    // SAFETY: all zero is a valid ifreq.
    let mut r: libc::ifreq = unsafe { zeroed() };
    let c = CString::new(name).context("interface name contains a zero byte")?;
    let bytes = CStr::to_bytes_with_nul(&c);
    if bytes.len() > r.ifr_name.len() {
        bail!("interface name {name} is too long");
    }
    for (o, b) in r.ifr_name.iter_mut().zip(bytes) {
        *o = *b as libc::c_char;
    }
    Ok(r)
}

pub(super) fn ioctl(fd: &OwnedFd, request: libc::Ioctl, arg: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: these requests read and write one ifreq.
    let r = unsafe { libc::ioctl(fd.as_raw_fd(), request, ptr::from_mut(arg)) };
    Ok(Errno::result(r).map(drop)?)
}

pub(super) fn option<T>(fd: &OwnedFd, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads size_of::<T>() bytes of `value`.
    let r = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            name,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    Ok(Errno::result(r).map(drop)?)
}

pub(super) fn bind(fd: &OwnedFd, index: i32) -> io::Result<()> {
    // SAFETY: all zero is a valid sockaddr_ll.
    let mut a: libc::sockaddr_ll = unsafe { zeroed() };
    a.sll_family = libc::AF_PACKET as u16;
    a.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    a.sll_ifindex = index;
    // SAFETY: `a` is a sockaddr_ll of the length given.
    let r = unsafe {
        libc::bind(
            fd.as_raw_fd(),
            ptr::from_ref(&a).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    Ok(Errno::result(r).map(drop)?)
}

pub(super) fn promiscuous(fd: &OwnedFd, index: i32) -> io::Result<()> {
    let m = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    option(fd, libc::PACKET_ADD_MEMBERSHIP, &m)
}

/// Reserves room for frames that wait in the socket; less if the kernel limits it.
pub(super) fn receive_buffer(fd: &OwnedFd, bytes: usize) {
    // Frames are received with less room as well.
    let _ = setsockopt(fd, RcvBufForce, &bytes).or_else(|_| setsockopt(fd, RcvBuf, &bytes));
}
