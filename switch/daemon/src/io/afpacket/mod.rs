// SPDX-License-Identifier: Apache-2.0
//! A port on a Linux interface: packet socket with a receive ring.
//!
//! Frames come and go behind a `virtio_net_hdr`, so that the host's super-frames pass whole:
//! received super-frames are cut here, and frames that leave back to back are merged.

mod capture;
mod receive;
mod ring;
mod socket;
mod stats;
mod transmit;

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::SocketError;

use capture::Capture;
pub use receive::{Arrived, Received};
use ring::{LINK_HEADER_BYTES, Ring, map_ring};
use socket::{bind, ifreq, ioctl, option, promiscuous, receive_buffer, socket};
pub use stats::IoStats;
use traffic_manager::super_frame::Transport;

/// Bytes of super-frames that may wait in the socket, outside the ring.
const SUPER_FRAME_BUFFER_BYTES: usize = 16 << 20;

/// An interface opened for raw frames.
pub struct Interface {
    /// Its name.
    pub name: String,
    fd: OwnedFd,
    ring: Ring,
    next: u32,
    max_frame_bytes: u32,
    /// Counters of the interface.
    pub stats: IoStats,
    /// Whether segments of one flow that leave back to back are sent as one super-frame.
    pub merge: bool,
    scratch: Vec<u8>,
    /// Buffer for the next received super-frame.
    pub buffer: Vec<u8>,
    staged: Vec<Vec<u8>>,
    /// Buffers of sent frames, for reuse.
    pub spare: Vec<Vec<u8>>,
    headers: Vec<Vec<u8>>,
    /// Whether the device takes super-frames of each transport, as far as known.
    takes: [bool; Transport::ALL.len()],
    warned_oversize: bool,
    warned_tx: bool,
    capture: Option<Box<Capture>>,
}

impl Interface {
    /// Opens `name` in the current network namespace.
    ///
    /// # Errors
    /// There is no such interface, it is down, or CAP_NET_RAW is missing.
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
        option(&fd, libc::PACKET_VNET_HDR, &1i32).context("PACKET_VNET_HDR")?;
        let ring = map_ring(&fd, mtu).with_context(|| format!("interface {name}"))?;
        // Frames longer than a slot of the ring wait in the socket's buffer.
        option(&fd, libc::PACKET_COPY_THRESH, &1i32).context("PACKET_COPY_THRESH")?;
        receive_buffer(&fd, SUPER_FRAME_BUFFER_BYTES);
        option(&fd, libc::PACKET_IGNORE_OUTGOING, &1i32)
            .context("PACKET_IGNORE_OUTGOING: needs Linux 4.20 or newer")?;
        // Queueing disciplines would queue a second time. The option may be missing.
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
            merge: true,
            scratch: Vec::new(),
            buffer: Vec::new(),
            staged: Vec::new(),
            spare: Vec::new(),
            headers: Vec::new(),
            takes: Transport::ALL.map(|_| true),
            warned_oversize: false,
            warned_tx: false,
            capture: None,
        })
    }

    /// Copies all frames to `NAME_in.pcap` and `NAME_out.pcap` in `folder` from now on. Received
    /// super-frames are copied whole.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn capture(&mut self, folder: &Path) -> Result<()> {
        self.capture = Some(Box::new(Capture::new(folder, &self.name)?));
        Ok(())
    }

    /// Returns the socket, to wait on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Clears a pending socket error such as "network is down".
    pub fn take_error(&self) -> Option<io::Error> {
        let code = getsockopt(&self.fd, SocketError).unwrap_or(0);
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
