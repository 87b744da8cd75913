// SPDX-License-Identifier: Apache-2.0
//! A port on a Linux interface: packet socket with a receive ring.

mod ring;
mod socket;

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};

use super::checksum;
use ring::{LINK_HEADER_BYTES, Ring, map_ring};
use socket::{bind, ifreq, ioctl, option, promiscuous, socket};

/// Frames per `sendmmsg`.
const TX_BATCH: usize = 64;
/// Counters of an interface since it was opened.
#[derive(Debug, Default, Clone, Copy)]
pub struct IoStats {
    /// Frames received.
    pub rx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Ring full: the kernel had to drop.
    pub rx_dropped: u64,
    /// Longer than the interface's MTU: segmentation offload is on.
    pub rx_oversize: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames that the interface did not take.
    pub tx_errors: u64,
}
/// An interface, opened for raw frames.
pub struct Interface {
    /// Its name.
    pub name: String,
    fd: OwnedFd,
    ring: Ring,
    next: u32,
    max_frame_bytes: u32,
    /// What was counted.
    pub stats: IoStats,
    scratch: Vec<u8>,
    staged: Vec<Vec<u8>>,
    /// Buffers of frames sent, for frames to come.
    pub spare: Vec<Vec<u8>>,
    warned_oversize: bool,
    warned_tx: bool,
}

/// A frame in the ring.
pub struct Received {
    /// CLOCK_REALTIME, ns.
    pub stamp_ns: u64,
}

impl Interface {
    /// Opens `name` in the present network namespace.
    ///
    /// # Errors
    /// No such interface, no CAP_NET_RAW, interface down.
    pub fn open(name: &str) -> Result<Self> {
        let fd = socket()?;
        let mut request = ifreq(name)?;
        ioctl(&fd, libc::SIOCGIFINDEX, &mut request).with_context(|| {
            format!("interface {name}: not found; check the name and its network namespace")
        })?;
        // SAFETY: SIOCGIFINDEX filled this member.
        let index = unsafe { request.ifr_ifru.ifru_ifindex };
        ioctl(&fd, libc::SIOCGIFMTU, &mut request)
            .with_context(|| format!("interface {name}: no MTU"))?;
        // SAFETY: SIOCGIFMTU filled this member.
        let mtu = u32::try_from(unsafe { request.ifr_ifru.ifru_mtu }).unwrap_or(1500);
        ioctl(&fd, libc::SIOCGIFFLAGS, &mut request)
            .with_context(|| format!("interface {name}: no flags"))?;
        // SAFETY: SIOCGIFFLAGS filled this member.
        let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
        if flags & libc::IFF_UP == 0 {
            bail!(
                "interface {name} is down; set it up first (for example `ip link set {name} up`)"
            );
        }
        let ring = map_ring(&fd, mtu).with_context(|| format!("interface {name}"))?;
        option(&fd, libc::PACKET_IGNORE_OUTGOING, &1i32)
            .context("PACKET_IGNORE_OUTGOING: needs Linux 4.20 or newer")?;
        // Queueing disciplines would queue a second time. Not everywhere there.
        let _ = option(&fd, libc::PACKET_QDISC_BYPASS, &1i32);
        bind(&fd, index).with_context(|| format!("interface {name}: cannot bind"))?;
        promiscuous(&fd, index)
            .with_context(|| format!("interface {name}: cannot receive all frames"))?;
        Ok(Self {
            name: name.to_owned(),
            fd,
            ring,
            next: 0,
            max_frame_bytes: mtu + LINK_HEADER_BYTES,
            stats: IoStats::default(),
            scratch: Vec::new(),
            staged: Vec::new(),
            spare: Vec::new(),
            warned_oversize: false,
            warned_tx: false,
        })
    }
    /// The socket, to wait on.
    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The oldest frame not yet taken, without taking it.
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

    /// Hands the oldest frame to `f` and takes it. An over-long frame is
    /// counted and not handed over.
    pub fn take(&mut self, f: impl FnOnce(&[u8])) {
        let header = self.header();
        let slot = self.ring.slot(self.next);
        let (at, kept) = (u32::from(header.tp_mac), header.tp_snaplen);
        let inside = at
            .checked_add(kept)
            .is_some_and(|e| e <= self.ring.slot_bytes);
        if header.tp_len > self.max_frame_bytes || kept < header.tp_len || !inside {
            self.oversize(header.tp_len);
        } else {
            // SAFETY: at + kept lies within the slot; the kernel leaves the
            // slot alone until the status is given back below.
            let frame = unsafe { std::slice::from_raw_parts(slot.add(at as usize), kept as usize) };
            self.stats.rx_packets += 1;
            let tagged = header.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
            let partial = header.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0;
            if (tagged || partial) && frame.len() >= 14 {
                self.scratch.clear();
                if tagged {
                    // The kernel keeps a received tag apart from the frame.
                    let tpid = if header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0 {
                        header.tp_vlan_tpid
                    } else {
                        0x8100
                    };
                    let (addresses, rest) = frame.split_at(12);
                    self.scratch.extend_from_slice(addresses);
                    self.scratch.extend_from_slice(&tpid.to_be_bytes());
                    self.scratch
                        .extend_from_slice(&header.tp_vlan_tci.to_be_bytes());
                    self.scratch.extend_from_slice(rest);
                } else {
                    self.scratch.extend_from_slice(frame);
                }
                if partial {
                    checksum::complete(&mut self.scratch);
                }
                self.stats.rx_bytes += self.scratch.len() as u64;
                f(&self.scratch);
            } else {
                self.stats.rx_bytes += frame.len() as u64;
                f(frame);
            }
        }
        self.ring
            .status(self.next)
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.ring.slots;
    }

    fn oversize(&mut self, bytes: u32) {
        self.stats.rx_oversize += 1;
        if !self.warned_oversize {
            self.warned_oversize = true;
            tracing::warn!(
                interface = self.name,
                bytes,
                "frame above the MTU dropped (more are only counted): turn GSO, TSO and GRO off at the sending host"
            );
        }
    }

    /// Stages a frame for [`Self::flush`].
    pub fn send(&mut self, frame: Vec<u8>) {
        self.staged.push(frame);
        if self.staged.len() >= TX_BATCH {
            self.flush();
        }
    }
    /// Sends what is staged.
    pub fn flush(&mut self) {
        if self.staged.is_empty() {
            return;
        }
        // SAFETY: all zero is a valid value of these C structures.
        let mut vectors: [libc::iovec; TX_BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; TX_BATCH] = unsafe { zeroed() };
        let n = self.staged.len().min(TX_BATCH);
        for ((f, v), m) in self.staged.iter().zip(&mut vectors).zip(&mut messages) {
            v.iov_base = f.as_ptr().cast_mut().cast();
            v.iov_len = f.len();
            m.msg_hdr.msg_iov = v;
            m.msg_hdr.msg_iovlen = 1;
        }
        let mut done = 0;
        while done < n {
            // SAFETY: messages[done..n] point into vectors and staged frames,
            // which all outlive the call.
            let sent = unsafe {
                libc::sendmmsg(
                    self.fd.as_raw_fd(),
                    messages.as_mut_ptr().add(done),
                    (n - done) as u32,
                    libc::MSG_DONTWAIT,
                )
            };
            if sent > 0 {
                let end = done + sent as usize;
                for f in self.staged.get(done..end).unwrap_or_default() {
                    self.stats.tx_packets += 1;
                    self.stats.tx_bytes += f.len() as u64;
                }
                done = end;
                continue;
            }
            let e = io::Error::last_os_error();
            if e.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            // This frame is lost, the ones after it get their chance.
            self.stats.tx_errors += 1;
            if !self.warned_tx {
                self.warned_tx = true;
                tracing::warn!(
                    interface = self.name,
                    "frame not sent (more are only counted): {e}"
                );
            }
            done += 1;
        }
        self.spare.append(&mut self.staged);
    }

    /// Clears a pending socket error such as "network is down".
    pub fn take_error(&self) -> Option<io::Error> {
        let mut code = 0i32;
        let mut length = size_of::<i32>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `code`.
        unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut code).cast(),
                &raw mut length,
            )
        };
        (code != 0).then(|| io::Error::from_raw_os_error(code))
    }

    /// Adds the kernel's drops since the last call.
    pub fn update_drops(&mut self) {
        // SAFETY: all zero is a valid tpacket_stats.
        let mut s: libc::tpacket_stats = unsafe { zeroed() };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `s`.
        let ok = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut s).cast(),
                &raw mut length,
            )
        };
        if ok == 0 {
            self.stats.rx_dropped += u64::from(s.tp_drops);
        }
    }
}
