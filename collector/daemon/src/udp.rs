// SPDX-License-Identifier: Apache-2.0
//! Receives reports: a thread per socket, batches to the engine.

use crate::engine::Input;
use crate::source::Batch;
use crate::time::unix_ns;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// Datagrams handed on at once.
const BATCH: usize = 512;

/// # Errors
/// When the address is in use or not of this machine.
pub fn bind(address: SocketAddr, buffer_bytes: usize) -> std::io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    // The kernel's limit may give less; the counter of drops tells.
    socket.set_recv_buffer_size(buffer_bytes)?;
    socket.bind(&address.into())?;
    let socket: UdpSocket = socket.into();
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    Ok(socket)
}

/// Receives until `stop`, then what is left in the socket.
pub fn receive(socket: &UdpSocket, sender: &SyncSender<Input>, stop: &Arc<AtomicBool>) {
    let mut buffer = vec![0u8; 65_536];
    let mut nonblocking = false;
    let mut batch = Batch::default();
    loop {
        match socket.recv_from(&mut buffer) {
            Ok((n, from)) => {
                let payload = buffer.get(..n).unwrap_or_default();
                batch.push(from.ip().to_canonical(), unix_ns() as u64, payload);
                if batch.len() < BATCH {
                    if !nonblocking {
                        nonblocking = socket.set_nonblocking(true).is_ok();
                    }
                    continue;
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => tracing::warn!("receiving reports: {e}"),
        }
        let was_empty = batch.is_empty();
        if !was_empty
            && sender
                .send(Input::Reports(std::mem::take(&mut batch)))
                .is_err()
        {
            return;
        }
        if was_empty && stop.load(Ordering::Relaxed) {
            return;
        }
        if nonblocking {
            nonblocking = socket.set_nonblocking(false).is_err();
        }
    }
}
