// SPDX-License-Identifier: Apache-2.0
//! A ring of blocks that the kernel fills with packets (TPACKET_V3), for datagrams that arrive one
//! by one: saves a system call, and a copy out of the kernel, for each.
//!
//! The socket stays bound. It answers for the port, and receives fragmented datagrams, which the
//! ring sees only in fragments; a filter in the kernel drops the ring's datagrams there.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use nix::sys::socket::sockopt::SocketError;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt};
use socket2::Socket;

use super::filter;
use super::packet::{NoDatagram, Packet};
use super::received::{Message, Received};

/// Size of a block: room for the longest packet, and for as many short ones as justify a wake-up.
const BLOCK_BYTES: u32 = 1 << 20;
const FEWEST_BLOCKS: u32 = 4;
/// Time after which a block is handed over even if it is not full; the kernel rounds it up to its
/// own clock's tick.
const RETIRE_MS: u32 = 2;
/// Maximum number of messages passed on at once.
const TOGETHER: usize = 64;
/// Size of the `virtio_net_hdr` before a packet, which says whether it holds several datagrams.
const VNET_BYTES: usize = 10;
const VNET_GSO_UDP: u8 = 5;
/// Maximum number of blocks; the kernel itself is limited only by its memory.
const MOST_BLOCKS: u32 = 4096;
/// First kernel that does not drop coalesced datagrams for a ring with `virtio_net_hdr`.
const FIRST_KERNEL: (u32, u32) = (6, 2);

/// Why reports are not received through a ring.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum NoRing {
    #[error("receive.path is \"socket\"")]
    NotAsked,
    #[error("{0} names no single address of this machine; list the addresses in `listen`")]
    NoSingleAddress(SocketAddr),
    #[error("no permission to open packet sockets (CAP_NET_RAW)")]
    NoRight,
    #[error("Linux {0} passes no coalesced datagrams to a ring; 6.2 and later do")]
    OldKernel(String),
    #[error("cannot {what}: {source}")]
    Io {
        what: &'static str,
        #[source]
        source: io::Error,
    },
}

fn failed<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> NoRing {
    move |e| NoRing::Io {
        what,
        source: e.into(),
    }
}

/// One socket's ring.
#[derive(Debug)]
pub(super) struct Ring {
    socket: OwnedFd,
    base: *mut u8,
    blocks: u32,
    /// Index of the next block to read.
    next: u32,
    /// Longest packet whose datagram the ring takes, in bytes.
    longest_bytes: usize,
    drops: u32,
    /// Packets whose lengths or checksum were wrong.
    damaged: u32,
}

// SAFETY: only the owner of the `Ring` uses the mapping, one thread at a time.
unsafe impl Send for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `base` and the length are what mmap returned and was given.
        unsafe { libc::munmap(self.base.cast(), self.bytes()) };
    }
}

impl AsRawFd for Ring {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.socket.as_raw_fd()
    }
}

/// Opens a ring of `buffer_bytes` for each socket of one address, in their order; from then on the
/// sockets receive what the rings leave.
pub(super) fn open_group(
    address: SocketAddr,
    sockets: &[&Socket],
    buffer_bytes: usize,
) -> Result<Vec<Ring>, NoRing> {
    let release = nix::sys::utsname::uname().map_err(failed("ask for the kernel's version"))?;
    let release = release.release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map(|n| n.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < FIRST_KERNEL {
        return Err(NoRing::OldKernel(release));
    }
    let Some(first) = sockets.first() else {
        return Ok(Vec::new());
    };
    let longest_bytes = mtu_of(address, first)?;
    let ipv6 = address.is_ipv6();
    let rings: Result<Vec<Ring>, NoRing> = sockets
        .iter()
        .map(|_| Ring::open(ipv6, buffer_bytes, longest_bytes))
        .collect();
    let rings = rings?;
    if let [first, others @ ..] = &rings[..]
        && !others.is_empty()
    {
        let program = libc::PACKET_FANOUT_CBPF;
        let id = make_group(first, program).map_err(failed("group the rings"))?;
        let group = program << 16 | id & 0xffff;
        filter::steer_rings(first, rings.len(), ipv6).map_err(failed("steer the rings"))?;
        for ring in others {
            set(ring, libc::PACKET_FANOUT, &group).map_err(failed("group the rings"))?;
        }
    }
    for ring in &rings {
        filter::take_whole_datagrams(ring, address).map_err(failed("filter the ring"))?;
    }
    for socket in sockets {
        filter::leave_to_ring(*socket, ipv6, longest_bytes as u32)
            .map_err(failed("filter the socket"))?;
    }
    Ok(rings)
}

/// Returns the MTU, in bytes, of the interface that has an address.
fn mtu_of(address: SocketAddr, socket: &Socket) -> Result<usize, NoRing> {
    let all = getifaddrs().map_err(failed("list the interfaces"))?;
    let has_it = |a: &nix::sys::socket::SockaddrStorage| match address {
        SocketAddr::V4(v4) => a.as_sockaddr_in().is_some_and(|a| a.ip() == *v4.ip()),
        SocketAddr::V6(v6) => a.as_sockaddr_in6().is_some_and(|a| a.ip() == *v6.ip()),
    };
    // All of 127.0.0.0/8 belongs to the loopback interface, which lists one address.
    let name = match address.ip().is_loopback() {
        true => Some("lo".to_owned()),
        false => {
            let mut all = all.filter(|a| a.address.as_ref().is_some_and(has_it));
            all.next().map(|a| a.interface_name)
        }
    };
    let name = name.ok_or(NoRing::NoSingleAddress(address))?;
    mtu_of_interface(socket, &name).map_err(failed("read the interface's MTU"))
}

fn mtu_of_interface(socket: &Socket, name: &str) -> io::Result<usize> {
    // SAFETY: all zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The last byte stays 0.
    let places = request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1);
    for (place, byte) in places.zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: this request reads and writes one ifreq, and then its MTU is set.
    let mtu = unsafe {
        Errno::result(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFMTU,
            &raw mut request,
        ))?;
        request.ifr_ifru.ifru_mtu
    };
    usize::try_from(mtu).map_err(io::Error::other)
}

/// Creates a group whose members are chosen by `program`, and returns its number.
fn make_group(ring: &Ring, program: u32) -> io::Result<u32> {
    let kind = program | libc::PACKET_FANOUT_FLAG_UNIQUEID;
    set(ring, libc::PACKET_FANOUT, &(kind << 16))?;
    let mut id = 0u32;
    get(ring, libc::PACKET_FANOUT, &mut id)?;
    Ok(id)
}

fn set<T>(socket: &impl AsRawFd, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads size_of::<T>() bytes of `value`.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    Ok(Errno::result(result).map(drop)?)
}

fn get<T>(socket: &impl AsRawFd, option: i32, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most the length that is given.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            ptr::from_mut(value).cast(),
            &raw mut length,
        )
    };
    Ok(Errno::result(result).map(drop)?)
}

impl Ring {
    /// Opens a ring that takes nothing yet.
    fn open(ipv6: bool, buffer_bytes: usize, longest_bytes: usize) -> Result<Self, NoRing> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // Without a protocol nothing is received until the socket is bound.
        let socket = nix::sys::socket::socket(AddressFamily::Packet, SockType::Raw, flags, None);
        let socket = match socket {
            Err(Errno::EPERM | Errno::EACCES) => return Err(NoRing::NoRight),
            opened => opened.map_err(failed("open a packet socket"))?,
        };
        filter::take_nothing(&socket).map_err(failed("filter the ring"))?;
        let version = libc::tpacket_versions::TPACKET_V3 as i32;
        set(&socket, libc::PACKET_VERSION, &version).map_err(failed("use TPACKET_V3"))?;
        set(&socket, libc::PACKET_VNET_HDR, &1i32).map_err(failed("ask for coalescing"))?;
        let blocks = u32::try_from(buffer_bytes / BLOCK_BYTES as usize).unwrap_or(MOST_BLOCKS);
        let blocks = blocks.clamp(FEWEST_BLOCKS, MOST_BLOCKS);
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES,
            tp_block_nr: blocks,
            tp_frame_size: BLOCK_BYTES,
            tp_frame_nr: blocks,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(&socket, libc::PACKET_RX_RING, &request).map_err(failed("make a ring (memory?)"))?;
        let length = NonZeroUsize::new(blocks as usize * BLOCK_BYTES as usize);
        let length = length.ok_or(Errno::EINVAL).map_err(failed("make a ring"))?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a fresh shared mapping of the socket's ring, of its exact size.
        let base = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, &socket, 0) }
            .map_err(failed("map the ring"))?;
        let ring = Self {
            socket,
            base: base.as_ptr().cast(),
            blocks,
            next: 0,
            longest_bytes,
            drops: 0,
            damaged: 0,
        };
        ring.bind(ipv6).map_err(failed("bind the ring"))?;
        Ok(ring)
    }

    /// Binds to every interface: a packet arrives once, from the interface that received it.
    fn bind(&self, ipv6: bool) -> io::Result<()> {
        let protocol = if ipv6 {
            libc::ETH_P_IPV6
        } else {
            libc::ETH_P_IP
        };
        // SAFETY: all zero is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (protocol as u16).to_be();
        // SAFETY: `address` is a sockaddr_ll of the length given.
        let result = unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        Ok(Errno::result(result).map(drop)?)
    }

    fn bytes(&self) -> usize {
        self.blocks as usize * BLOCK_BYTES as usize
    }

    fn block(&self, index: u32) -> *mut libc::tpacket_block_desc {
        let offset = index as usize % self.blocks as usize * BLOCK_BYTES as usize;
        // SAFETY: within the mapping.
        unsafe { self.base.add(offset).cast() }
    }

    fn status(&self, index: u32) -> &AtomicU32 {
        // SAFETY: the word lies in the block's header, which is aligned and shared with
        // the kernel.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.block(index)).hdr.bh1.block_status) }
    }

    fn is_ready(&self, index: u32) -> bool {
        self.status(index).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Passes to `f` the datagrams of the next block that is full, or older than [`RETIRE_MS`];
    /// returns false if there is none.
    pub(super) fn receive(&mut self, mut f: impl FnMut(&Received<'_>)) -> bool {
        if !self.is_ready(self.next) {
            return false;
        }
        let more = self.is_ready(self.next + 1);
        let mut damaged = 0;
        let mut batch = Batch::new();
        for (stamp_ns, packet) in self.packets() {
            match packet.message(self.longest_bytes) {
                Ok(message) => {
                    if batch.is_full() {
                        batch.hand_on(true, &mut f);
                    }
                    batch.push(stamp_ns, message);
                }
                Err(NoDatagram::OfSocket) => {}
                Err(NoDatagram::Damaged) => damaged += 1,
            }
        }
        batch.hand_on(more, &mut f);
        self.damaged = self.damaged.wrapping_add(damaged);
        let free = libc::TP_STATUS_KERNEL;
        self.status(self.next).store(free, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        true
    }

    /// Waits until a block is ready or the socket is readable, for at most `ms`.
    ///
    /// # Errors
    /// The error of the ring's socket, or of the call.
    pub(super) fn wait(&self, socket: &Socket, ms: u16) -> io::Result<()> {
        let read = PollFlags::POLLIN;
        let mut both = [
            PollFd::new(self.socket.as_fd(), read),
            PollFd::new(socket.as_fd(), read),
        ];
        poll(&mut both, PollTimeout::from(ms))?;
        let [ring, _] = both;
        if ring
            .revents()
            .is_some_and(|r| r.contains(PollFlags::POLLERR))
        {
            // Reading the error clears it.
            let error = getsockopt(&self.socket, SocketError)?;
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
        }
        Ok(())
    }

    /// Whether a block is ready to be taken.
    pub(super) fn has_block(&self) -> bool {
        self.is_ready(self.next)
    }

    /// Returns the packets of the next block, each with its Unix time in ns.
    fn packets(&self) -> impl Iterator<Item = (u64, Packet<'_>)> {
        let block: *const u8 = self.block(self.next).cast_const().cast();
        // SAFETY: the kernel wrote the header before it handed the block over.
        let header = unsafe { (*self.block(self.next)).hdr.bh1 };
        // SAFETY: the block lies within the mapping, and the kernel leaves it alone until
        // its status is given back, which needs the ring that this borrows.
        let bytes = unsafe { std::slice::from_raw_parts(block, BLOCK_BYTES as usize) };
        let mut at = header.offset_to_first_pkt as usize;
        (0..header.num_pkts).map_while(move |_| {
            let head = bytes.get(at..at + size_of::<libc::tpacket3_hdr>())?;
            // SAFETY: the slice is as long as the structure, for which any bytes are valid.
            let head: libc::tpacket3_hdr = unsafe { ptr::read_unaligned(head.as_ptr().cast()) };
            let link = at + usize::from(head.tp_mac);
            let network = at + usize::from(head.tp_net);
            let packet = packet(bytes, link, network, &head)?;
            at += head.tp_next_offset as usize;
            let stamp_ns = u64::from(head.tp_sec) * 1_000_000_000 + u64::from(head.tp_nsec);
            Some((stamp_ns, packet))
        })
    }

    /// Returns the number of packets that found no free block, or were damaged.
    pub(super) fn drops(&mut self) -> u32 {
        // SAFETY: all zero is a value of this C structure.
        let mut stats: libc::tpacket_stats_v3 = unsafe { zeroed() };
        // Reading sets the kernel's count to 0.
        if get(&self.socket, libc::PACKET_STATISTICS, &mut stats).is_ok() {
            self.drops = self.drops.wrapping_add(stats.tp_drops);
        }
        self.drops.wrapping_add(self.damaged)
    }
}

/// Returns a packet of a block; `link` and `network` are the offsets of its headers.
fn packet<'a>(
    block: &'a [u8],
    link: usize,
    network: usize,
    head: &libc::tpacket3_hdr,
) -> Option<Packet<'a>> {
    let vnet = block.get(link.checked_sub(VNET_BYTES)?..)?;
    let &[_, gso, _, _, s0, s1, ..] = vnet.first_chunk::<VNET_BYTES>()?;
    let segment = usize::from(u16::from_ne_bytes([s0, s1]));
    let known = libc::TP_STATUS_CSUMNOTREADY | libc::TP_STATUS_CSUM_VALID;
    Some(Packet {
        ip: block.get(network..link + head.tp_snaplen as usize)?,
        segment_bytes: (gso == VNET_GSO_UDP).then_some(segment),
        is_checked: head.tp_status & known != 0,
    })
}

/// Messages that are passed on together, with the time of the last.
struct Batch<'a> {
    list: [Message<'a>; TOGETHER],
    count: usize,
    rx_unix_ns: u64,
}

impl<'a> Batch<'a> {
    fn new() -> Self {
        Self {
            list: [Message::nothing(); TOGETHER],
            count: 0,
            rx_unix_ns: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.count == TOGETHER
    }

    fn push(&mut self, stamp_ns: u64, message: Message<'a>) {
        if let Some(place) = self.list.get_mut(self.count) {
            *place = message;
            self.count += 1;
            self.rx_unix_ns = stamp_ns;
        }
    }

    fn hand_on(&mut self, more: bool, f: &mut impl FnMut(&Received<'_>)) {
        let messages = self.list.get(..self.count).unwrap_or_default();
        f(&Received {
            rx_unix_ns: self.rx_unix_ns,
            messages,
            more,
        });
        self.count = 0;
    }
}
