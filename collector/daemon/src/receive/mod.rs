// SPDX-License-Identifier: Apache-2.0
//! Receives report datagrams as fast as the kernel delivers them: through packet rings if
//! `receive.path` asks for them and they are available, else through several sockets per address
//! (SO_REUSEPORT) with a thread each, datagrams coalesced by the kernel (UDP_GRO), many per system
//! call (recvmmsg), and large buffers.
//!
//! The sockets of one address share the work by the UDP source port, which a switch varies with the
//! flow. Every datagram that the kernel had no room for is counted ([`Totals::kernel_drops`]).

mod counters;
mod error;
mod filter;
mod messages;
mod options;
mod packet;
mod path;
mod received;
mod ring;
mod socket;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use counters::ShardCounters;
pub use counters::{Counters, Totals};
pub use error::BindError;
use messages::Messages;
pub use options::{ReceiveConfig, ReceivePath};
pub use path::Path;
pub use received::{Message, Received};
pub use ring::NoRing;
use socket::ReportSocket;

/// Longest time between two calls after which datagrams are left to gather.
const DENSE: Duration = Duration::from_millis(1);
/// How long datagrams gather in the kernel before the next call: a call and the waking of two
/// threads for each datagram would cost more than all else. This is no more than the slack of the
/// kernel's timers, so that it takes twice as long at most.
const GATHER: Duration = Duration::from_micros(50);
/// How long, at most, datagrams in the sockets are delivered after a request to stop: senders may
/// go on.
const STOP_WITHIN: Duration = Duration::from_millis(500);
/// How often the kernel's drop counter is read while datagrams flow.
const DROP_CHECK: Duration = Duration::from_millis(20);

/// Bound sockets, not yet read.
#[derive(Debug)]
pub struct ReportReceiver {
    sockets: Vec<ReportSocket>,
    counters: Arc<Counters>,
}

impl ReportReceiver {
    /// Opens `shards` sockets on every address. For port 0 the kernel chooses a port, which all
    /// shards of that address share.
    ///
    /// # Errors
    /// Names the address and what to do.
    pub fn bind(listen: &[SocketAddr], options: &ReceiveConfig) -> Result<Self, BindError> {
        if options.shards == 0 {
            return Err(BindError::NoShards);
        }
        let mut sockets = Vec::new();
        let mut paths = Vec::new();
        for &address in listen {
            let mut group = socket::bind_group(address, options)?;
            let no_ring = socket::open_rings(&mut group, options).err();
            let address = group.first().map_or(address, |s| s.address);
            paths.push(Path::new(address, no_ring));
            sockets.extend(group);
        }
        if sockets.is_empty() {
            return Err(BindError::NoAddress);
        }
        let counters = Arc::new(Counters::new(sockets.len(), paths));
        Ok(Self { sockets, counters })
    }

    /// Returns the address of each socket, in the order of the shards' numbers.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().map(|socket| socket.address).collect()
    }

    /// Returns the counters, which outlive this value.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Starts one thread per socket. `handler` takes the number of a thread and returns the
    /// function that the thread calls with every batch.
    ///
    /// # Errors
    /// If a thread cannot be started; threads started before are stopped.
    pub fn start<H>(self, mut handler: impl FnMut(usize) -> H) -> io::Result<Running>
    where
        H: FnMut(&Received<'_>) + Send + 'static,
    {
        let mut running = Running {
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
        };
        let counted = self.sockets.into_iter().zip(&self.counters.shards);
        for (shard, (socket, count)) in counted.enumerate() {
            let stop = Arc::clone(&running.stop);
            let count = Arc::clone(count);
            let handler = handler(shard);
            let thread = std::thread::Builder::new()
                .name(format!("reports-{shard}"))
                .spawn(move || run(socket, &count, &stop, handler))?;
            running.threads.push(thread);
        }
        Ok(running)
    }
}

/// Threads that receive until stopped or dropped.
#[derive(Debug)]
pub struct Running {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    /// Stops the threads after they have delivered what the sockets still hold.
    pub fn stop(self) {}
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that receives reports has panicked");
            }
        }
    }
}

fn run(
    mut socket: ReportSocket,
    count: &ShardCounters,
    stop: &AtomicBool,
    mut handler: impl FnMut(&Received<'_>),
) {
    let mut messages = Messages::new();
    let mut checked = Instant::now();
    // Whether the last call filled all buffers, so that more is probably there.
    let mut more = false;
    let mut last = Instant::now();
    let mut stopping_since = None;
    loop {
        // Read before the call, so that all datagrams that have arrived by now are delivered.
        let stopping = stop.load(Ordering::Relaxed);
        if stopping {
            let since = *stopping_since.get_or_insert_with(Instant::now);
            if since.elapsed() > STOP_WITHIN {
                count.set_kernel_drops(socket.kernel_drops());
                tracing::warn!(
                    address = %socket.address,
                    "reports still came in at the end; those in the socket's buffer are left"
                );
                handler(&Received::nothing());
                return;
            }
        }
        let received = socket.receive(&mut messages, !stopping && !more, |batch| {
            count.add(batch);
            handler(batch);
        });
        match received {
            Ok(full) => {
                more = full;
                if !more && !stopping && socket.ring.is_none() {
                    let now = Instant::now();
                    if now.duration_since(last) < DENSE {
                        std::thread::sleep(GATHER);
                    }
                    last = now;
                }
                if checked.elapsed() < DROP_CHECK {
                    continue;
                }
            }
            Err(_) if more => {
                more = false;
                handler(&Received::nothing());
                continue;
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    if stopping {
                        count.set_kernel_drops(socket.kernel_drops());
                        return;
                    }
                }
                io::ErrorKind::Interrupted => continue,
                _ => {
                    count.add_error();
                    tracing::warn!(%error, address = %socket.address, "receiving reports");
                    // Do not spin if the error persists.
                    std::thread::sleep(Duration::from_millis(10));
                    if stopping {
                        return;
                    }
                }
            },
        }
        checked = Instant::now();
        count.set_kernel_drops(socket.kernel_drops());
    }
}

#[cfg(test)]
mod tests;
