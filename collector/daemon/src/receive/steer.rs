// SPDX-License-Identifier: Apache-2.0
//! Which socket of a group a datagram goes to: by the low bits of its source
//! port, which switches vary with the flow. A few ports spread evenly that way,
//! while the kernel's hash may put them all on one socket.

use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;

use socket2::Socket;

/// `BPF_LD | BPF_H | BPF_IND`, and so on: classic BPF.
const LOAD_HALF_INDIRECT: u16 = 0x48;
const LOAD_HALF: u16 = 0x28;
const LOAD_X_IPV4_HEADER_LENGTH: u16 = 0xb1;
const MODULO: u16 = 0x94;
const RETURN_A: u16 = 0x16;
/// Offsets from here on count from the IP header.
const NETWORK_HEADER: u32 = -0x10_0000_i32 as u32;

/// Attaches the program to the group that `socket` belongs to.
pub(super) fn by_source_port(socket: &Socket, shards: usize, ipv6: bool) -> io::Result<()> {
    let shards = u32::try_from(shards).map_err(io::Error::other)?;
    let op = |code, k| libc::sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    };
    let mut program = if ipv6 {
        // After the fixed header: reports carry no extension headers.
        vec![op(LOAD_HALF, NETWORK_HEADER + 40)]
    } else {
        vec![
            op(LOAD_X_IPV4_HEADER_LENGTH, NETWORK_HEADER),
            op(LOAD_HALF_INDIRECT, NETWORK_HEADER),
        ]
    };
    program.extend([op(MODULO, shards), op(RETURN_A, 0)]);
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the program, whose length is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const filter).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
