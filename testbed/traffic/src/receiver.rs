// SPDX-License-Identifier: Apache-2.0
//! The receiving side: accepts connections, counts and discards their data.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use nix::sys::socket::{MsgFlags, recv};
use quinn::Endpoint;
use std::os::fd::AsRawFd;
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::counters::Counters;
use crate::netns;
use crate::quic;
use crate::socket;
use crate::spec::{Listener, Transport};

/// Largest number of bytes discarded by one call.
const DISCARD_BYTES: usize = 256 * 1024;

#[derive(Debug)]
enum Listening {
    Tcp(TcpListener),
    Quic(Endpoint),
    Udp(UdpSocket),
}

/// A bound listener; [`Bound::serve`] accepts connections.
#[derive(Debug)]
pub(crate) struct Bound {
    listener: Listening,
    /// Counters, read at the end.
    pub counters: Arc<Counters>,
    /// Its name in the spec.
    pub name: String,
    pub address: SocketAddr,
}

/// Binds in the listener's namespace.
pub(crate) fn bind(listener: &Listener) -> Result<Bound, String> {
    let named = |e: String| format!("listener {}: {e}", listener.name);
    let netns = listener.netns.as_deref();
    let (listening, bound) = match listener.transport {
        Transport::Tcp => {
            let socket = netns::within(netns, || socket::listening(listener));
            let socket = socket.map_err(named)?.map_err(named)?;
            let bound = TcpListener::from_std(socket.into()).map_err(|e| named(e.to_string()))?;
            let address = bound.local_addr();
            (Listening::Tcp(bound), address)
        }
        Transport::Quic => {
            let endpoint = netns::within(netns, || quic::listening(listener.address));
            let endpoint = endpoint.map_err(named)?.map_err(named)?;
            let address = endpoint.local_addr();
            (Listening::Quic(endpoint), address)
        }
        Transport::Udp => {
            let socket = netns::within(netns, || socket::datagrams(Some(listener.address), None));
            let socket = socket.map_err(named)?.map_err(named)?;
            let bound = UdpSocket::from_std(socket.into()).map_err(|e| named(e.to_string()))?;
            let address = bound.local_addr();
            (Listening::Udp(bound), address)
        }
    };
    Ok(Bound {
        // Contains the port even if 0 was requested.
        address: bound.unwrap_or(listener.address),
        listener: listening,
        counters: Arc::default(),
        name: listener.name.clone(),
    })
}

impl Bound {
    /// Accepts connections forever; serves each until its peer ends it.
    pub(crate) async fn serve(self) {
        let listener = match self.listener {
            Listening::Tcp(listener) => listener,
            Listening::Quic(endpoint) => return quic::serve(endpoint, self.counters).await,
            Listening::Udp(socket) => return count(&socket, &self.counters).await,
        };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    self.counters.connected();
                    let counters = Arc::clone(&self.counters);
                    tokio::spawn(async move {
                        if discard(&stream, &counters).await.is_err() {
                            counters.failed();
                        }
                    });
                }
                Err(error) => {
                    // Out of descriptors, or the connection ended before the accept.
                    self.counters.failed();
                    tracing::debug!(listener = %self.name, %error, "accept");
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            }
        }
    }
}

/// Counts datagrams forever.
async fn count(socket: &UdpSocket, counters: &Counters) {
    let mut buffer = vec![0_u8; usize::from(u16::MAX)];
    loop {
        match socket.recv(&mut buffer).await {
            Ok(bytes) => counters.received(bytes),
            Err(_) => counters.failed(),
        }
    }
}

/// Reads to the end of the stream. MSG_TRUNC makes the kernel drop the bytes instead of copying
/// them.
async fn discard(stream: &TcpStream, counters: &Counters) -> io::Result<()> {
    // Never written to; shared by all calls for this connection.
    let mut buffer = vec![0_u8; DISCARD_BYTES];
    loop {
        stream.readable().await?;
        let result = stream.try_io(Interest::READABLE, || {
            recv(stream.as_raw_fd(), &mut buffer, MsgFlags::MSG_TRUNC).map_err(io::Error::from)
        });
        match result {
            Ok(0) => return Ok(()),
            Ok(bytes) => {
                counters.received(bytes);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            // A sender that stops when its time ends resets the connection.
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}
