// SPDX-License-Identifier: Apache-2.0
//! Socket options and TCP_INFO.

use std::fmt::Display;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};

use crate::spec::{Flow, Listener};

/// Unsent data in the socket beyond what TCP may send now; small, so that a flow can stop at once
/// and memory stays bounded.
const NOT_SENT_LOWAT_BYTES: u32 = 128 * 1024;

/// Formats the failure of an option or call.
fn failed<E: Display>(what: impl Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

fn tcp_socket(address: SocketAddr) -> Result<Socket, String> {
    let kind = Type::STREAM.nonblocking().cloexec();
    Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP)).map_err(failed("socket"))
}

/// Returns a non-blocking socket whose connect has been started.
pub(crate) fn connecting(flow: &Flow) -> Result<Socket, String> {
    let destination = flow.destination;
    let socket = tcp_socket(destination)?;
    set_congestion_control(&socket, flow.congestion_control.as_deref())?;
    if let Some(priority) = flow.priority {
        (socket.set_priority(priority))
            .map_err(failed(format_args!("SO_PRIORITY {priority:#x}")))?;
    }
    (socket.set_tcp_notsent_lowat(NOT_SENT_LOWAT_BYTES)).map_err(failed("TCP_NOTSENT_LOWAT"))?;
    socket
        .set_tcp_nodelay(true)
        .map_err(failed("TCP_NODELAY"))?;
    if let Some(source) = flow.source {
        (socket.bind(&source.into())).map_err(failed(format_args!("bind {source}")))?;
    }
    match socket.connect(&destination.into()) {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => {
            Err(format!("connect {destination}: {e}"))
        }
        _ => Ok(socket),
    }
}

/// Returns a non-blocking UDP socket, bound and connected if addresses are given.
pub(crate) fn datagrams(
    bound: Option<SocketAddr>,
    connected: Option<SocketAddr>,
) -> Result<Socket, String> {
    let either = bound.or(connected).ok_or("a socket without an address")?;
    let kind = Type::DGRAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(either), kind, Some(Protocol::UDP))
        .map_err(failed("socket"))?;
    if let Some(address) = bound {
        (socket.bind(&address.into())).map_err(failed(format_args!("bind {address}")))?;
    }
    if let Some(address) = connected {
        (socket.connect(&address.into())).map_err(failed(format_args!("connect {address}")))?;
    }
    Ok(socket)
}

fn set_congestion_control(socket: &Socket, name: Option<&str>) -> Result<(), String> {
    let Some(name) = name else { return Ok(()) };
    socket.set_tcp_congestion(name.as_bytes()).map_err(|e| {
        format!(
            "congestion control {name} cannot be used: {e}; available: {} (load its module, e.g. modprobe tcp_{name})",
            available_congestion_controls()
        )
    })
}

/// Returns a listening socket. Accepted connections inherit `receive_buffer_bytes`: a small one
/// keeps the advertised window small (the kernel doubles the value for its own overhead and
/// advertises about half of the result).
pub(crate) fn listening(listener: &Listener) -> Result<Socket, String> {
    let address = listener.address;
    let socket = tcp_socket(address)?;
    set_congestion_control(&socket, listener.congestion_control.as_deref())?;
    socket
        .set_reuse_address(true)
        .map_err(failed("SO_REUSEADDR"))?;
    if let Some(bytes) = listener.receive_buffer_bytes {
        // Before listen: the window scale is negotiated in the handshake.
        (socket.set_recv_buffer_size(bytes as usize))
            .map_err(failed(format_args!("SO_RCVBUF {bytes}")))?;
    }
    (socket.bind(&address.into())).map_err(failed(format_args!("listen on {address}")))?;
    socket.listen(1024).map_err(failed("listen"))?;
    Ok(socket)
}

/// Returns the kernel's list, separated by spaces.
pub fn available_congestion_controls() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .map(|list| list.trim().to_owned())
        .unwrap_or_else(|_| "unknown".to_owned())
}

/// Makes closing the socket send a reset: nothing lingers in the namespace.
pub fn reset_on_close(socket: &impl AsFd) -> io::Result<()> {
    socket2::SockRef::from(socket).set_linger(Some(Duration::ZERO))
}

/// The sender's state as reported by the kernel (TCP_INFO).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpState {
    /// Payload bytes acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// Payload bytes retransmitted.
    pub bytes_retransmitted: u64,
    /// Segments retransmitted.
    pub retransmitted_segments: u32,
    /// Segments with payload sent, including retransmissions.
    pub data_segments_out: u32,
    /// Largest payload of a segment.
    pub mss_bytes: u32,
    /// Congestion window.
    pub cwnd_segments: u32,
    /// Slow-start threshold.
    pub ssthresh_segments: u32,
    /// Receive window advertised by the receiver.
    pub snd_wnd_bytes: u32,
    /// Smoothed round-trip time.
    pub srtt_us: u32,
    /// Minimum round-trip time; 0 if none was measured.
    pub min_rtt_us: u32,
    /// Time limited by the receiver's window, µs.
    pub rwnd_limited_us: u64,
    /// Time with data to send, µs.
    pub busy_us: u64,
}

/// Reads TCP_INFO. Fields that an older kernel lacks are 0.
pub fn tcp_state(socket: &impl AsRawFd) -> io::Result<TcpState> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the buffer is valid for `length` bytes and the kernel writes no more.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zero-initialised plain integers, of which the kernel wrote a prefix.
    let info = unsafe { info.assume_init() };
    Ok(TcpState {
        // The SYN counts as one acknowledged byte.
        bytes_acked: info.tcpi_bytes_acked.saturating_sub(1),
        bytes_sent: info.tcpi_bytes_sent,
        bytes_retransmitted: info.tcpi_bytes_retrans,
        retransmitted_segments: info.tcpi_total_retrans,
        data_segments_out: info.tcpi_data_segs_out,
        mss_bytes: info.tcpi_snd_mss,
        cwnd_segments: info.tcpi_snd_cwnd,
        ssthresh_segments: info.tcpi_snd_ssthresh,
        snd_wnd_bytes: info.tcpi_snd_wnd,
        srtt_us: info.tcpi_rtt,
        // The kernel's value for "none yet" is the largest.
        min_rtt_us: if info.tcpi_min_rtt == u32::MAX {
            0
        } else {
            info.tcpi_min_rtt
        },
        rwnd_limited_us: info.tcpi_rwnd_limited,
        busy_us: info.tcpi_busy_time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_congestion_control_names_the_available_ones() {
        let text = r#"{"name": "a", "kind": "lbp", "destination": "127.0.0.1:9",
                       "congestion_control": "nosuchcc"}"#;
        let error = connecting(&serde_json::from_str(text).unwrap()).unwrap_err();
        assert!(error.contains("nosuchcc"), "{error}");
        assert!(error.contains("reno"), "{error}");
    }

    #[test]
    fn a_small_receive_buffer_is_inherited_and_limits_the_window() {
        let text = r#"{"name": "a", "address": "127.0.0.1:0", "receive_buffer_bytes": 8192}"#;
        let listener = listening(&serde_json::from_str(text).unwrap()).unwrap();
        listener.set_nonblocking(false).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let client = std::net::TcpStream::connect(address).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert_eq!(accepted.recv_buffer_size().unwrap(), 2 * 8192);
        let state = tcp_state(&client).unwrap();
        assert!(state.snd_wnd_bytes <= 2 * 8192, "{state:?}");
        assert!(state.snd_wnd_bytes > 0, "{state:?}");
    }
}
