// SPDX-License-Identifier: Apache-2.0
//! A network namespace with veth pairs, made through rtnetlink; it disappears with the last
//! thread and socket in it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// SAFETY of every block here: system calls on sockets that are open, with pointers
// to values that outlive the call and the sizes of these values.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::ffi::CString;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use traffic_manager::super_frame::{Gso, VnetHeader};

const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

/// Moves the calling thread into a new namespace without IPv6 background traffic.
pub(crate) fn enter_new_namespace() {
    let r = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    assert_eq!(
        r, 0,
        "this test needs root (CAP_SYS_ADMIN) to make a network namespace"
    );
    // Does not exist in kernels without IPv6.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

/// Runs `f` on a thread of its own, so that the namespace ends with the test.
pub(crate) fn in_namespace(f: impl FnOnce() + Send + 'static) {
    let result = std::thread::spawn(|| {
        enter_new_namespace();
        f();
    })
    .join();
    if let Err(e) = result {
        std::panic::resume_unwind(e);
    }
}

/// Returns the path of the calling thread's namespace.
pub(crate) fn namespace_path() -> String {
    let tid = unsafe { libc::syscall(libc::SYS_gettid) };
    format!("/proc/self/task/{tid}/ns/net")
}

fn attribute(out: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; 4]);
    fill(out);
    let length = (out.len() - at) as u16;
    out[at..at + 2].copy_from_slice(&length.to_ne_bytes());
    out[at + 2..at + 4].copy_from_slice(&kind.to_ne_bytes());
    out.resize(out.len().next_multiple_of(4), 0);
}

fn text(out: &mut Vec<u8>, kind: u16, s: &str) {
    attribute(out, kind, |o| {
        o.extend(s.as_bytes());
        o.push(0);
    });
}

/// `ip link add A type veth peer name B`, and both up.
pub(crate) fn add_veth(a: &str, b: &str) {
    let mut m = vec![0u8; 16 + 16];
    text(&mut m, IFLA_IFNAME, a);
    attribute(&mut m, IFLA_LINKINFO, |o| {
        text(o, IFLA_INFO_KIND, "veth");
        attribute(o, IFLA_INFO_DATA, |o| {
            attribute(o, VETH_INFO_PEER, |o| {
                o.extend([0; 16]);
                text(o, IFLA_IFNAME, b);
            });
        });
    });
    let flags =
        (libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
    let length = m.len() as u32;
    m[0..4].copy_from_slice(&length.to_ne_bytes());
    m[4..6].copy_from_slice(&libc::RTM_NEWLINK.to_ne_bytes());
    m[6..8].copy_from_slice(&flags.to_ne_bytes());
    unsafe {
        let fd = libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        );
        assert!(fd >= 0);
        let fd = OwnedFd::from_raw_fd(fd);
        assert_eq!(
            libc::send(fd.as_raw_fd(), m.as_ptr().cast(), m.len(), 0),
            m.len() as isize
        );
        let mut reply = [0u8; 4096];
        let n = libc::recv(fd.as_raw_fd(), reply.as_mut_ptr().cast(), reply.len(), 0);
        assert!(n >= 20);
        let code = i32::from_ne_bytes(reply[16..20].try_into().unwrap());
        assert_eq!(
            code,
            0,
            "veth {a}: {}",
            std::io::Error::from_raw_os_error(-code)
        );
    }
    up(a);
    up(b);
}

fn up(name: &str) {
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0);
        let fd = OwnedFd::from_raw_fd(fd);
        let mut r: libc::ifreq = zeroed();
        let c = CString::new(name).unwrap();
        for (o, b) in r.ifr_name.iter_mut().zip(c.as_bytes_with_nul()) {
            *o = *b as libc::c_char;
        }
        r.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        assert_eq!(
            libc::ioctl(fd.as_raw_fd(), libc::SIOCSIFFLAGS, &r),
            0,
            "{name} up"
        );
    }
}

/// `ethtool -K NAME tx off sg off tso off gso off gro off`.
pub(crate) fn offloads_off(name: &str) {
    /// `ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    const SIOCETHTOOL: u64 = 0x8946;
    // ETHTOOL_STXCSUM, _SSG, _STSO, _SGSO, _SGRO.
    for command in [0x17, 0x19, 0x1f, 0x24, 0x2c] {
        unsafe {
            let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            assert!(fd >= 0);
            let fd = OwnedFd::from_raw_fd(fd);
            let mut value = Value { command, data: 0 };
            let mut r: libc::ifreq = zeroed();
            let c = CString::new(name).unwrap();
            for (o, b) in r.ifr_name.iter_mut().zip(c.as_bytes_with_nul()) {
                *o = *b as libc::c_char;
            }
            r.ifr_ifru.ifru_data = (&raw mut value).cast();
            let done = libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL as libc::Ioctl, &r);
            assert_eq!(done, 0, "ethtool command {command:#x} of {name}");
        }
    }
}

/// A raw host on one end of a pair.
pub(crate) struct Host(OwnedFd);

impl Host {
    pub(crate) fn open(name: &str) -> Self {
        unsafe {
            let fd = libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC,
                i32::from((libc::ETH_P_ALL as u16).to_be()),
            );
            assert!(fd >= 0);
            let fd = OwnedFd::from_raw_fd(fd);
            let c = CString::new(name).unwrap();
            let mut a: libc::sockaddr_ll = zeroed();
            a.sll_family = libc::AF_PACKET as u16;
            a.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
            a.sll_ifindex = libc::if_nametoindex(c.as_ptr()) as i32;
            assert!(a.sll_ifindex > 0, "{name}");
            let r = libc::bind(
                fd.as_raw_fd(),
                (&raw const a).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            );
            assert_eq!(r, 0);
            let one = 1i32;
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_IGNORE_OUTGOING,
                (&raw const one).cast(),
                4,
            );
            let bytes: i32 = 32 << 20;
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                (&raw const bytes).cast(),
                size_of::<i32>() as u32,
            );
            let t = libc::timeval {
                tv_sec: 5,
                tv_usec: 0,
            };
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                (&raw const t).cast(),
                size_of::<libc::timeval>() as u32,
            );
            Self(fd)
        }
    }

    pub(crate) fn send(&self, frame: &[u8]) {
        let n = unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(
            n,
            frame.len() as isize,
            "{}",
            std::io::Error::last_os_error()
        );
    }

    /// Makes frames bypass the queueing discipline.
    pub(crate) fn bypass_qdisc(&self) {
        let one = 1i32;
        let r = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                (&raw const one).cast(),
                4,
            )
        };
        assert_eq!(r, 0);
    }

    /// Sends all frames in one call; returns how many the interface took.
    pub(crate) fn send_all(&self, frames: &[Vec<u8>]) -> usize {
        let mut vectors: Vec<libc::iovec> = frames
            .iter()
            .map(|f| libc::iovec {
                iov_base: f.as_ptr().cast_mut().cast(),
                iov_len: f.len(),
            })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = vectors
            .iter_mut()
            .map(|v| unsafe {
                let mut m: libc::mmsghdr = zeroed();
                m.msg_hdr.msg_iov = v;
                m.msg_hdr.msg_iovlen = 1;
                m
            })
            .collect();
        let n = unsafe {
            libc::sendmmsg(
                self.0.as_raw_fd(),
                messages.as_mut_ptr(),
                messages.len() as u32,
                0,
            )
        };
        usize::try_from(n).unwrap_or(0)
    }

    /// Sends like a stack with offloads: checksum (of TCP over IPv4) and, unless
    /// `segment_bytes` is 0, segmentation are left to the device.
    pub(crate) fn send_unsegmented(&self, frame: &[u8], segment_bytes: u16) {
        let set = |on: i32| unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_VNET_HDR,
                (&raw const on).cast(),
                4,
            )
        };
        assert_eq!(set(1), 0);
        let vnet = VnetHeader {
            needs_checksum: true,
            gso: match segment_bytes {
                0 => Gso::None,
                _ => Gso::TcpV4,
            },
            header_bytes: 54,
            segment_bytes,
            checksum_start: 34,
            checksum_offset: 16,
            ..VnetHeader::NONE
        };
        self.send_as(frame, &vnet);
        assert_eq!(set(0), 0);
    }

    /// From now on, frames go and come behind a vnet header.
    pub(crate) fn use_vnet(&self) {
        let on = 1i32;
        let r = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_VNET_HDR,
                (&raw const on).cast(),
                4,
            )
        };
        assert_eq!(r, 0);
    }

    /// Sends a frame behind its vnet header.
    pub(crate) fn send_as(&self, frame: &[u8], vnet: &VnetHeader) {
        self.send(&[&vnet.write()[..], frame].concat());
    }

    /// Receives a frame and its vnet header, see [`Self::use_vnet`].
    pub(crate) fn receive_as(&self) -> Option<(VnetHeader, Vec<u8>)> {
        let b = self.receive()?;
        let (vnet, frame) = b.split_first_chunk()?;
        Some((VnetHeader::read(vnet), frame.to_vec()))
    }

    /// Receives a frame; `None` after 5 s of silence.
    pub(crate) fn receive(&self) -> Option<Vec<u8>> {
        let mut b = vec![0u8; 66_000];
        let n = unsafe { libc::recv(self.0.as_raw_fd(), b.as_mut_ptr().cast(), b.len(), 0) };
        b.truncate(usize::try_from(n).ok()?);
        Some(b)
    }

    /// Has the kernel timestamp received frames, for [`Self::receive_stamped`].
    pub(crate) fn stamp(&self) {
        let on = 1i32;
        let fd = self.0.as_raw_fd();
        let r = unsafe {
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPNS,
                (&raw const on).cast(),
                4,
            )
        };
        assert_eq!(r, 0);
    }

    /// Receives a frame and its wall-clock arrival time in ns; `None` after 5 s of silence.
    pub(crate) fn receive_stamped(&self) -> Option<(u64, Vec<u8>)> {
        let mut b = vec![0u8; 66_000];
        let mut control = [0u64; 16];
        unsafe {
            let mut v = libc::iovec {
                iov_base: b.as_mut_ptr().cast(),
                iov_len: b.len(),
            };
            let mut m: libc::msghdr = zeroed();
            m.msg_iov = &raw mut v;
            m.msg_iovlen = 1;
            m.msg_control = control.as_mut_ptr().cast();
            m.msg_controllen = size_of_val(&control);
            let n = libc::recvmsg(self.0.as_raw_fd(), &raw mut m, 0);
            b.truncate(usize::try_from(n).ok()?);
            let c = libc::CMSG_FIRSTHDR(&raw const m);
            assert!(!c.is_null() && (*c).cmsg_type == libc::SCM_TIMESTAMPNS);
            let t: libc::timespec = libc::CMSG_DATA(c).cast::<libc::timespec>().read_unaligned();
            Some((t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64, b))
        }
    }
}
