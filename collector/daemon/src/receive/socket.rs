// SPDX-License-Identifier: Apache-2.0
//! Opens the sockets.

use std::io;
use std::mem::size_of_val;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBufForce, UdpGroSegment};
use socket2::{Domain, Protocol, Socket, Type};

use super::error::BindError;
use super::options::{ReceiveConfig, ReceivePath};
use super::ring::{NoRing, Ring, open_group};
use super::{filter, messages::Messages, received::Received};

/// How long a thread waits for datagrams before it checks whether to stop.
const IDLE: Duration = Duration::from_millis(IDLE_MS as u64);
const IDLE_MS: u16 = 50;
/// Longest time that a block of a ring is open, whatever the tick of the kernel's clock.
const RETIRED_MS: u16 = 25;

#[derive(Debug)]
pub(super) struct ReportSocket {
    pub socket: Socket,
    pub address: SocketAddr,
    pub ring: Option<Ring>,
}

impl ReportSocket {
    /// Passes the available datagrams to `f`, in one or several batches; with `wait`, waits for the
    /// first. Returns whether there is more.
    ///
    /// # Errors
    /// `WouldBlock` or `TimedOut` if there is nothing, else the error of a system call.
    pub(super) fn receive(
        &mut self,
        messages: &mut Messages,
        wait: bool,
        mut f: impl FnMut(&Received<'_>),
    ) -> io::Result<bool> {
        let Some(ring) = &mut self.ring else {
            return messages.receive(&self.socket, wait, f);
        };
        if !ring.has_block() {
            // Also when stopping: a block that is not full is handed over in a moment.
            ring.wait(&self.socket, if wait { IDLE_MS } else { RETIRED_MS })?;
        }
        let took = ring.receive(&mut f);
        match messages.receive(&self.socket, false, f) {
            Err(e) if took && e.kind() == io::ErrorKind::WouldBlock => Ok(ring.has_block()),
            of_socket => Ok(of_socket? || ring.has_block()),
        }
    }

    /// Returns the datagrams that found no room, or were damaged. With a ring, this is the ring's
    /// count: the kernel counts every datagram that the ring takes as a drop of the socket, whose
    /// own losses show only in the numbers of the reports.
    pub(super) fn kernel_drops(&mut self) -> Option<u32> {
        if let Some(ring) = &mut self.ring {
            return Some(ring.drops());
        }
        const SO_MEMINFO: libc::c_int = 55;
        const SK_MEMINFO_DROPS: usize = 8;
        let mut info = [0u32; 9];
        let mut length = size_of_val(&info) as libc::socklen_t;
        // SAFETY: `info` has the length that is given.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                SO_MEMINFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        (result == 0).then_some(info[SK_MEMINFO_DROPS])
    }
}

/// Binds the sockets of one address.
pub(super) fn bind_group(
    address: SocketAddr,
    options: &ReceiveConfig,
) -> Result<Vec<ReportSocket>, BindError> {
    let mut address = address;
    let shared = options.shards > 1;
    if shared {
        // Sockets that share a port would also share it with another collector, each receiving a
        // part: check first that the port is free.
        let alone = open(address)?;
        bind(&alone, address)?;
        address = local_address(&alone, address)?;
    }
    let mut sockets: Vec<ReportSocket> = Vec::with_capacity(options.shards);
    for _ in 0..options.shards {
        let socket = open(address)?;
        if shared {
            socket
                .set_reuse_port(true)
                .map_err(|source| failed("share the port (SO_REUSEPORT)", address, source))?;
        }
        set_buffer(&socket, address, options.buffer_bytes)?;
        socket
            .set_read_timeout(Some(IDLE))
            .map_err(|source| failed("set the time to wait", address, source))?;
        // Linux 5.0 and later.
        let gro = options.gro && setsockopt(&socket, UdpGroSegment, &true).is_ok();
        if options.gro && !gro {
            tracing::warn!(%address, "this kernel cannot hand over coalesced datagrams (UDP_GRO)");
        }
        bind(&socket, address)?;
        let address = local_address(&socket, address)?;
        sockets.push(ReportSocket {
            socket,
            address,
            ring: None,
        });
    }
    if let (true, Some(first)) = (shared, sockets.first()) {
        // Without the program the kernel spreads datagrams by its own hash of the addresses.
        if let Err(error) = filter::steer_port(&first.socket, options.shards, address.is_ipv6()) {
            tracing::warn!(%error, %address, "kernel refused the steering program");
        }
    }
    Ok(sockets)
}

/// Opens the rings of the sockets of one address.
///
/// # Errors
/// Why the sockets have no rings.
pub(super) fn open_rings(
    group: &mut [ReportSocket],
    options: &ReceiveConfig,
) -> Result<(), NoRing> {
    let Some(first) = group.first().filter(|_| options.path == ReceivePath::Ring) else {
        return Err(NoRing::NotAsked);
    };
    let address = first.address;
    let sockets: Vec<&Socket> = group.iter().map(|s| &s.socket).collect();
    // Otherwise the sockets would receive coalesced datagrams, each of which the ring has.
    let gro = |on: bool| {
        let all = sockets.iter();
        // Kernels without UDP_GRO have nothing to turn off.
        all.for_each(|s| {
            let _ = setsockopt(*s, UdpGroSegment, &on);
        });
    };
    gro(false);
    let rings = open_group(address, &sockets, options.buffer_bytes).inspect_err(|_| {
        sockets.iter().for_each(|s| filter::leave_nothing(*s));
        gro(options.gro);
    })?;
    for (socket, ring) in group.iter_mut().zip(rings) {
        socket.ring = Some(ring);
    }
    Ok(())
}

fn open(address: SocketAddr) -> Result<Socket, BindError> {
    Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )
    .map_err(|source| failed("open a UDP socket", address, source))
}

fn bind(socket: &Socket, address: SocketAddr) -> Result<(), BindError> {
    socket
        .bind(&address.into())
        .map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::InUse { address },
            io::ErrorKind::AddrNotAvailable => BindError::NotLocal { address },
            io::ErrorKind::PermissionDenied => BindError::Permission { address },
            _ => failed("listen", address, source),
        })
}

fn local_address(socket: &Socket, asked: SocketAddr) -> Result<SocketAddr, BindError> {
    socket
        .local_addr()
        .map_err(|source| failed("find the port", asked, source))?
        .as_socket()
        .ok_or_else(|| {
            failed(
                "find the port",
                asked,
                io::Error::other("not an IP address"),
            )
        })
}

fn failed(what: &'static str, address: SocketAddr, source: io::Error) -> BindError {
    BindError::Io {
        what,
        address,
        source,
    }
}

/// Sets the receive buffer; with CAP_NET_ADMIN it may exceed the system's limit.
fn set_buffer(socket: &Socket, address: SocketAddr, bytes: usize) -> Result<(), BindError> {
    // The kernel takes a C integer.
    if setsockopt(socket, RcvBufForce, &bytes.min(i32::MAX as usize)).is_err() {
        socket
            .set_recv_buffer_size(bytes)
            .map_err(|source| failed("set the receive buffer", address, source))?;
    }
    let granted = socket
        .recv_buffer_size()
        .map_err(|source| failed("read the receive buffer's size", address, source))?;
    // The kernel doubles what it is asked for, to allow for its own overhead.
    let granted = granted / 2;
    if granted < bytes {
        tracing::warn!(
            asked_bytes = bytes,
            granted_bytes = granted,
            %address,
            "receive buffer is limited: raise net.core.rmem_max or give CAP_NET_ADMIN"
        );
    }
    Ok(())
}
