// SPDX-License-Identifier: Apache-2.0
//! Classic BPF programs in the kernel, which choose the socket of a group for each datagram, and
//! the packets that the ring takes and the socket leaves.

use std::io;
use std::mem::size_of_val;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

/// Bases of offsets: into the packet from its IP header on, and into the kernel's own data about
/// the packet.
const NETWORK_HEADER: u32 = -0x10_0000_i32 as u32;
const ANCILLARY: u32 = -0x1000_i32 as u32;
/// `PACKET_HOST`: sent to this machine.
const TO_THIS_HOST: u32 = 0;
const UDP: u32 = 17;
/// Return value that accepts a whole packet.
const ALL: u32 = u32::MAX;
/// Bits set in a fragment of an IPv4 packet: more fragments follow, or it is not the first.
const IS_FRAGMENT: u32 = 0x3fff;
const IPV6_HEADER_BYTES: u32 = 40;

/// Instructions; a jump skips as many as it says.
struct Program(Vec<libc::sock_filter>);

impl Program {
    fn op(mut self, code: u32, k: u32) -> Self {
        self.0.push(libc::sock_filter {
            code: code as u16,
            jt: 0,
            jf: 0,
            k,
        });
        self
    }

    fn load(self, size: u32, at: u32) -> Self {
        self.op(libc::BPF_LD | size | libc::BPF_ABS, at)
    }

    /// Rejects the packet unless the loaded value is `k`.
    fn only(self, k: u32) -> Self {
        self.jump(libc::BPF_JEQ, k, 1, 0).op(libc::BPF_RET, 0)
    }

    fn jump(mut self, test: u32, k: u32, jt: u8, jf: u8) -> Self {
        let code = (libc::BPF_JMP | test | libc::BPF_K) as u16;
        self.0.push(libc::sock_filter { code, jt, jf, k });
        self
    }

    fn attach(&mut self, socket: &impl AsRawFd, level: i32, option: i32) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: self.0.len() as u16,
            filter: self.0.as_mut_ptr(),
        };
        // SAFETY: the kernel copies the program, whose length is given.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                option,
                (&raw const program).cast(),
                size_of_val(&program) as libc::socklen_t,
            )
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Loads the source port, or the word `beyond` bytes after it.
fn load_port(program: Program, ipv6: bool, beyond: u32) -> Program {
    if ipv6 {
        // After the fixed header: reports carry no extension headers.
        return program.load(libc::BPF_H, NETWORK_HEADER + IPV6_HEADER_BYTES + beyond);
    }
    let header_length = libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH;
    program.op(header_length, NETWORK_HEADER).op(
        libc::BPF_LD | libc::BPF_H | libc::BPF_IND,
        NETWORK_HEADER + beyond,
    )
}

/// Spreads a group's datagrams by their source port, which switches vary with the flow: a few
/// ports spread evenly that way, while the kernel's hash may put them all on one socket.
fn by_source_port(shards: usize, ipv6: bool) -> Program {
    load_port(Program(Vec::new()), ipv6, 0)
        .op(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, shards as u32)
        .op(libc::BPF_RET | libc::BPF_A, 0)
}

/// Steers datagrams to the sockets that share the port of `socket`.
pub(super) fn steer_port(socket: &impl AsRawFd, shards: usize, ipv6: bool) -> io::Result<()> {
    let mut program = by_source_port(shards, ipv6);
    program.attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF)
}

/// Steers packets to the rings of the group that `socket` belongs to.
pub(super) fn steer_rings(socket: &impl AsRawFd, shards: usize, ipv6: bool) -> io::Result<()> {
    let mut program = by_source_port(shards, ipv6);
    program.attach(socket, libc::SOL_PACKET, libc::PACKET_FANOUT_DATA)
}

/// Rejects all packets.
pub(super) fn take_nothing(socket: &impl AsRawFd) -> io::Result<()> {
    let mut nothing = Program(Vec::new()).op(libc::BPF_RET, 0);
    nothing.attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER)
}

/// Takes only UDP datagrams to `to` that are not fragmented.
pub(super) fn take_whole_datagrams(socket: &impl AsRawFd, to: SocketAddr) -> io::Result<()> {
    let to_host = Program(Vec::new())
        .load(libc::BPF_W, ANCILLARY + 4)
        .only(TO_THIS_HOST);
    let at = |offset: u32| NETWORK_HEADER + offset;
    let to_address = match to.ip() {
        IpAddr::V4(ip) => to_host
            .load(libc::BPF_B, at(9))
            .only(UDP)
            .load(libc::BPF_H, at(6))
            .jump(libc::BPF_JSET, IS_FRAGMENT, 0, 1)
            .op(libc::BPF_RET, 0)
            .load(libc::BPF_W, at(16))
            .only(ip.to_bits()),
        IpAddr::V6(ip) => {
            let words = ip.to_bits().to_be_bytes();
            let (words, _) = words.as_chunks::<4>();
            let udp = to_host.load(libc::BPF_B, at(6)).only(UDP);
            let places = (24..).step_by(4).zip(words);
            places.fold(udp, |p, (place, word)| {
                p.load(libc::BPF_W, at(place))
                    .only(u32::from_be_bytes(*word))
            })
        }
    };
    let mut program = load_port(to_address, to.is_ipv6(), 2)
        .only(to.port().into())
        .op(libc::BPF_RET, ALL);
    program.attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER)
}

/// Leaves to the ring the datagrams that it takes, in packets of up to `longest_bytes`. Longer
/// packets arrived as fragments, which the kernel has reassembled.
pub(super) fn leave_to_ring(
    socket: &impl AsRawFd,
    ipv6: bool,
    longest_bytes: u32,
) -> io::Result<()> {
    let start = Program(Vec::new());
    let (start, length_at, longest) = match ipv6 {
        false => (start, 2, longest_bytes),
        // The ring does not look behind extension headers.
        true => (
            start
                .load(libc::BPF_B, NETWORK_HEADER + 6)
                .jump(libc::BPF_JEQ, UDP, 1, 0)
                .op(libc::BPF_RET, ALL),
            4,
            longest_bytes.saturating_sub(IPV6_HEADER_BYTES),
        ),
    };
    let mut program = start
        .load(libc::BPF_H, NETWORK_HEADER + length_at)
        .jump(libc::BPF_JGT, longest, 1, 0)
        .op(libc::BPF_RET, 0)
        .op(libc::BPF_RET, ALL);
    program.attach(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER)
}

/// Removes the filter of a socket, which then receives everything again.
pub(super) fn leave_nothing(socket: &impl AsRawFd) {
    // SAFETY: the option takes no value.
    unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_DETACH_FILTER);
        libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::null(), 0);
    }
}
